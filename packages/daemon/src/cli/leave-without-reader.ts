import { writeSync } from "node:fs";

/** What a script is told when the output could not be written: nothing it could trust has come out. */
export const notWritten = 8;

/**
 * `rouse ps | head` closes our output early: that is the end of the command, not an error. Where it cannot be written, such as on a full disk, one
 * sentence says so. A daemon goes on either way.
 */
export function leaveWithoutReader(stays: () => boolean): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (stays()) return;
      if (error.code === "EPIPE") process.exit();
      if (stream === process.stdout) say(`rouse: the output could not be written: ${describe(error)}\n`);
      process.exit(notWritten);
    });
  }
}

const describe = ({ code = "unknown" }: NodeJS.ErrnoException): string =>
  code === "ENOSPC" ? "no space left on the device (ENOSPC)" : code;

/** There is nobody left to tell when that fails as well. */
function say(sentence: string): void {
  try {
    writeSync(2, sentence);
  } catch {}
}
