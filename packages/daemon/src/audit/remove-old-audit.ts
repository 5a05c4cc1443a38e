import { type AuditRecord, type DurationMs, days, type EpochMs } from "@rouse/contract";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Store } from "../ports/store.ts";
import { type AuditTrail, removedAction } from "./audit-trail.ts";

interface RemovingParts {
  readonly store: Store;
  readonly audit: AuditTrail;
  readonly engine: Pick<Engine, "addToTrail">;
  readonly commits: GroupCommit;
}

const linesPerStep = 500;
/** Old lines are removed a day's worth at a time, because each removal writes a line itself. */
const patience: DurationMs = days(1);

/**
 * Writes into the trail, signed and saved, which lines will be removed, before they are: nobody else can write such a
 * line. Resolves to the number of the last line that may go.
 */
export function removeOldAudit({ store, audit, engine, commits }: RemovingParts) {
  let said = 0;
  return async (now: EpochMs, history: DurationMs): Promise<number> => {
    const oldest = await store.readAudit({ limit: linesPerStep });
    if ((oldest[0]?.number ?? 0) <= said) return said;
    if (endOfOld(oldest, now, history + patience) === null) return said;
    const end = endOfOld(oldest, now, history);
    if (end === null) return said;
    const { number, hash } = end;
    engine.addToTrail({
      time: now,
      actor: "rouse",
      action: removedAction,
      subject: null,
      reason: "older-than-the-history",
      evidence: { store: audit.store, removed: { number, hash } },
      policy: null,
    });
    await commits.saved();
    said = number;
    return said;
  };
}

/**
 * The last old line, or `null`. Only lines before the first one within the history go, so that a clock that jumped
 * makes no hole: a line that a wrong clock dated long ago stays with its neighbours, and one dated into the future goes
 * with them.
 */
function endOfOld(lines: readonly AuditRecord[], now: EpochMs, history: DurationMs): AuditRecord | null {
  let end: AuditRecord | null = null;
  for (const line of lines) {
    const time = Date.parse(line.time);
    if (time >= now - history && time <= now) break;
    if (time < now - history) end = line;
  }
  return end;
}
