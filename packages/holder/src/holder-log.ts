import { appendFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";

const longest = 64 * 1024;

export type HolderLog = (fault: string, error?: unknown) => void;

/**
 * Serious faults of a holder itself: nobody reads its output, and in the foreground that is the agent's. Never what the agent wrote. Two
 * files at most, and a disk too full to take a line is not a reason to fall.
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
      // Nowhere left to say it.
    }
  };
}
