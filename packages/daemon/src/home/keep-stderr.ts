import { fstatSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../ports/log.ts";

/** The stderr of a daemon without a terminal: empty unless it crashes. Its log is another file. */
const stderrFileIn = (home: string): string => join(home, "rouse.stderr");

/** Each start has a file of its own until it has the data folder to itself. */
export const stderrFileOf = (home: string, starterPid: number): string => `${stderrFileIn(home)}.${starterPid}`;

const longest = 16_000;

/**
 * Call it when the daemon has the data folder to itself: the last words of the daemon before go into the log, and this
 * one's file takes their name. Files of other starts are removed: those starts failed or will, and who waits for one
 * has its file open.
 */
export function keepStderr(home: string, log: Log): void {
  const place = stderrFileIn(home);
  const before = readLastWords(home);
  if (before !== "") log.error({ stderr: before }, "the Rouse before this one wrote this before it ended");
  rmSync(place, { force: true });
  const own = fstatSync(2);
  for (const name of readdirSync(home).filter((one) => /^rouse\.stderr\.\d+$/.test(one))) {
    const file = join(home, name);
    const { ino, dev } = statSync(file, { throwIfNoEntry: false }) ?? {};
    if (ino === own.ino && dev === own.dev) renameSync(file, place);
    else rmSync(file, { force: true });
  }
}

/** The stderr of a failed start is shown by the command that started it, and is not kept as a daemon's last words. */
export function forgetStderr(home: string, starterPid: number, inode: number): void {
  for (const file of [stderrFileOf(home, starterPid), stderrFileIn(home)]) {
    if (statSync(file, { throwIfNoEntry: false })?.ino === inode) rmSync(file, { force: true });
  }
}

/** The last words of a daemon that is gone; "" when it had none. */
export const readLastWords = (home: string): string => readIfThere(stderrFileIn(home)).slice(-longest).trim();

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
