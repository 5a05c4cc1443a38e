import { appendFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

const longest = 64 * 1024;

export type HolderLog = (fault: string, error?: unknown) => void;

/**
 * A file for serious faults of a holder itself: nobody reads a holder's output, and in the foreground its output is the
 * agent's. What the agent wrote is never logged. There are two files at most. A disk too full for a line is ignored.
 */
export function openHolderLog(folder: string): HolderLog {
  const file = join(folder, "holder.log");
  return (fault, error) => {
    const reason =
      error === undefined ? "" : `: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    try {
      if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > longest) renameSync(file, `${file}.1`);
      appendFileSync(file, `${new Date().toISOString()} ${fault}${reason}\n`.slice(0, 4000), { mode: 0o600 });
    } catch {
      // There is nowhere else to report it.
    }
  };
}
