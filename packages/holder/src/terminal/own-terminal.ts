import { spawnSync } from "node:child_process";
import { write } from "node:fs";

interface SinkEars {
  /** Too much waits: the caller should stop until there is room. */
  full(): void;
  roomy(): void;
  /** The reader is gone. What is poured from now on is lost. */
  gone(): void;
}

const full = 1024 * 1024;
const roomy = 256 * 1024;
const atOnce = 256 * 1024;
const againMs = 5;

/** Not through `process.stdout`, which blocks the event loop until a terminal has taken the bytes. */
export function pourInto(descriptor: number, ears: SinkEars) {
  let waiting: Buffer[] = [];
  let held = 0;
  let busy = false;
  let isFull = false;
  let closed = false;
  let whenEmpty: (() => void)[] = [];

  function settle(): void {
    if (isFull && held <= roomy) {
      isFull = false;
      ears.roomy();
    }
    if (held > 0 || busy) return;
    for (const tell of whenEmpty) tell();
    whenEmpty = [];
  }

  function giveUp(code: string | undefined): void {
    closed = true;
    busy = false;
    waiting = [];
    held = 0;
    settle();
    // A full disk behind `> file` is not a reader who left: the agent goes on, and the holder keeps its output.
    if (code === "EPIPE" || code === "EIO" || code === "EBADF") ears.gone();
  }

  function push(bytes: Buffer): void {
    busy = true;
    write(descriptor, bytes, 0, bytes.length, null, (error, count) => {
      if (error !== null && error.code !== "EAGAIN" && error.code !== "EINTR") return giveUp(error.code);
      const done = error === null ? count : 0;
      held -= done;
      const rest = bytes.subarray(done);
      if (error !== null) setTimeout(() => push(rest), againMs);
      else if (rest.length > 0) push(rest);
      else next();
    });
  }

  function next(): void {
    busy = false;
    const bytes = takeSome();
    if (bytes !== null) push(bytes);
    settle();
  }

  function takeSome(): Buffer | null {
    if (waiting.length === 0) return null;
    let count = 0;
    let size = 0;
    while (count < waiting.length && size < atOnce) size += (waiting[count++] as Buffer).length;
    const taken = waiting.slice(0, count);
    waiting = waiting.slice(count);
    return taken.length === 1 ? (taken[0] as Buffer) : Buffer.concat(taken);
  }

  return {
    pour(bytes: Buffer): void {
      if (closed || bytes.length === 0) return;
      waiting.push(bytes);
      held += bytes.length;
      if (!busy) next();
      if (!isFull && held > full) {
        isFull = true;
        ears.full();
      }
    },
    /** Resolves when everything poured so far is written, or cannot be. */
    emptied: () =>
      new Promise<void>((resolve) => {
        whenEmpty.push(resolve);
        settle();
      }),
  };
}

/** Undoes what a program may have left changed: hidden cursor, colours, mouse and paste modes. */
export const calmDown = "\x1b[?25h\x1b[0m\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l";

/** Only where the full screen was entered: elsewhere this moves the cursor into what is on the screen. */
export const leaveFullScreen = "\x1b[?1049l";

/**
 * Passes every key and byte as it is, until the returned function, or the end of this process, restores the terminal.
 */
export function enterRawMode(): () => void {
  const { stdin } = process;
  const restore = (): void => {
    process.off("exit", restore);
    if (stdin.isRaw) stdin.setRawMode(false);
  };
  stdin.setRawMode(true);
  // Node's raw mode still turns every line feed into two characters, which breaks full-screen programs. Where there is
  // no stty, it stays so. Leaving raw mode undoes both.
  spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
  process.once("exit", restore); // every other way out
  return restore;
}
