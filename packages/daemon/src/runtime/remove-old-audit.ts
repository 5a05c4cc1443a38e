import { type DurationMs, days, type EpochMs } from "@rouse/contract";
import type { Store } from "../ports/store.ts";
import { type AuditTrail, removedAction } from "./audit-trail.ts";
import { endOfOldAudit } from "./end-of-old-audit.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Turns } from "./turns.ts";

interface RemovingParts {
  readonly store: Store;
  readonly audit: AuditTrail;
  readonly turns: Pick<Turns, "addToTrail">;
  readonly commits: GroupCommit;
}

const linesPerStep = 500;
/** Each removal leaves a line of its own, so old lines go a day's worth at a time: one by one, each would leave one in its place. */
const patience: DurationMs = days(1);

/**
 * Says in the trail, signed and saved, which lines will be gone, before they are: whoever removes others cannot say so. Resolves to the number of
 * the last that may go.
 */
export function removeOldAudit({ store, audit, turns, commits }: RemovingParts) {
  let said = 0;
  return async (now: EpochMs, history: DurationMs): Promise<number> => {
    const oldest = await store.readAudit({ limit: linesPerStep });
    if ((oldest[0]?.number ?? 0) <= said) return said;
    const [last] = await store.readAudit({ limit: 1, newestFirst: true });
    const candidates = oldest.filter(({ number }) => number !== last?.number);
    if (endOfOldAudit(candidates, { now, history: history + patience }) === null) return said;
    const end = endOfOldAudit(candidates, { now, history });
    if (end === null) return said;
    const { number, hash } = end;
    turns.addToTrail({
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
