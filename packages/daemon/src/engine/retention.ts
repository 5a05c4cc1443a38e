import type { DurationMs } from "@rouse/contract";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { removeOldAudit } from "../audit/remove-old-audit.ts";
import type { Help } from "../build-services.ts";
import type { Config } from "../config/read-config.ts";
import type { Log } from "../ports/log.ts";
import type { Store } from "../ports/store.ts";
import type { Engine } from "./engine.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { Moment } from "./steady-clock.ts";

export const retentionEvery: DurationMs = 60_000;
/** With more to tidy than one step: soon again, but never so soon that beats would notice. */
const tidyAgain: DurationMs = 100;

interface TidyingParts {
  readonly store: Store;
  readonly audit: AuditTrail;
  readonly engine: Pick<Engine, "addToTrail">;
  readonly commits: GroupCommit;
  readonly help: Pick<Help, "tasks" | "checkpoints">;
  readonly log: Log;
  readonly config: () => Config;
  readonly readClock: () => Moment;
}

/** Forgets what is older than it has to be kept, a step at a time; says how long to wait before the next. */
export function applyRetention(parts: TidyingParts): () => Promise<DurationMs> {
  const { store, help, log, config, readClock } = parts;
  const oldAudit = removeOldAudit(parts);
  return async () => {
    // What is old is now for the monitor that took over to say.
    if (parts.commits.isReplaced()) return retentionEvery;
    const { beats, history } = config().retention;
    const { now, time } = readClock();
    try {
      // A wall clock that was set forward by mistake must not make everything look old.
      const today = Math.min(now, time);
      const auditThrough = await oldAudit(today, history);
      const more = await store.tidy({ now: today, beats, history, auditThrough });
      help.tasks.forgetOld(readClock(), history);
      const moreStates = await help.checkpoints.forget(now);
      return more || moreStates ? tidyAgain : retentionEvery;
    } catch (error) {
      log.warn({ error: String(error) }, "old data could not be tidied away; will try again");
      return retentionEvery;
    }
  };
}
