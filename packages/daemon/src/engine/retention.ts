import type { DurationMs } from "@rouse/contract";
import { removeOldAudit } from "../audit/remove-old-audit.ts";
import type { Help } from "../build-services.ts";
import type { MonitorServices } from "../shared-services.ts";

export const retentionEvery: DurationMs = 60_000;
/** The pause while more is left to tidy than one step takes: short, but long enough that beats do not wait. */
const tidyAgain: DurationMs = 100;

interface RetentionParts
  extends Pick<MonitorServices, "store" | "audit" | "engine" | "commits" | "log" | "config" | "readClock"> {
  readonly help: Pick<Help, "tasks" | "checkpoints">;
}

/** Forgets what is older than it has to be kept, a step at a time. Returns how long to wait before the next step. */
export function applyRetention(parts: RetentionParts): () => Promise<DurationMs> {
  const { store, help, log, config, readClock } = parts;
  const oldAudit = removeOldAudit(parts);
  return async () => {
    // The monitor that took over applies retention now.
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
