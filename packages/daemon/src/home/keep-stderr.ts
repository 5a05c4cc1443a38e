import { fstatSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../ports/log.ts";

/** What a daemon without a terminal writes to its stderr: nothing, unless it crashes. Its log is a file of its own, which is renamed when it is full. */
export const stderrFileIn = (home: string): string => join(home, "rouse.stderr");

/** Each start has one of its own, until it has the data folder to itself. */
export const stderrFileOf = (home: string, starterPid: number): string => `${stderrFileIn(home)}.${starterPid}`;

const longest = 16_000;

/**
 * For a daemon that has the data folder to itself: what the one before left is put into the log, and its own file takes that name. Files of other starts
 * go: those failed, or are about to, and whoever waits for one has it open.
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

/** What a start that failed has said is told by whoever started it; it is not kept as the last word of a daemon. */
export function forgetStderr(home: string, starterPid: number, inode: number): void {
  for (const file of [stderrFileOf(home, starterPid), stderrFileIn(home)]) {
    if (statSync(file, { throwIfNoEntry: false })?.ino === inode) rmSync(file, { force: true });
  }
}

/** The last words of a daemon that is gone, or "" when it had none. */
export const readLastWords = (home: string): string => readIfThere(stderrFileIn(home)).slice(-longest).trim();

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
