import { writeSync } from "node:fs";

/** The exit code when the output could not be written. */
export const notWritten = 8;

/**
 * Ends the command when its output cannot be written. `rouse ps | head` closes the output early, which is no error; a
 * full disk is, and one sentence says so. A daemon (`stays`) goes on either way.
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

/** When stderr fails as well, nobody is left to tell. */
function say(sentence: string): void {
  try {
    writeSync(2, sentence);
  } catch {}
}
