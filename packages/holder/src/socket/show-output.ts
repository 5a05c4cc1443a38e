import type { Socket } from "node:net";
import type { OutputRing } from "../output/output-ring.ts";
import { readOutput } from "../output/read-output.ts";
import { outputHeader } from "../protocol/frames.ts";
import type { HolderFiles } from "../protocol/holder-files.ts";

/** A peer that is shown output as it comes. */
export interface Viewer {
  wrote(offset: number, bytes: Buffer): void;
  /** The agent has ended: no more output will come. Resolves when everything was handed to the socket. */
  ended(): Promise<void>;
}

/** Where output can be read again. */
export interface OutputSource {
  end(): number;
  /** Output from `from` on, or later when that is no longer kept; `null` when there is nothing more. */
  read(from: number): Promise<{ readonly from: number; readonly bytes: Buffer } | null>;
}

/** At most this many bytes wait for a peer that does not read; the agent never waits for a peer. */
const mostWaiting = 4 * 1024 * 1024;

/** Sends every byte from `from` on, once and in order. A slow peer is served from what is kept. */
export function showFrom(
  socket: Socket,
  source: OutputSource,
  from: number,
  follow: boolean,
  done: (at: number) => void,
): Viewer {
  const until = follow ? Number.POSITIVE_INFINITY : source.end();
  let next = from;
  let over = !follow;
  let told = false;
  let work: Promise<void> | null = null;

  async function catchUp(): Promise<void> {
    while (!socket.destroyed && next < Math.min(until, source.end())) {
      if (socket.writableNeedDrain) {
        await drained(socket);
        continue;
      }
      const piece = await source.read(next);
      if (piece === null) break;
      const bytes = piece.bytes.subarray(0, Math.max(0, until - piece.from));
      if (bytes.length > 0) send(socket, piece.from, bytes);
      next = piece.from + piece.bytes.length;
    }
    if (over && !told) {
      told = true;
      done(Math.min(next, until));
    }
  }

  const goOn = (): Promise<void> => {
    work ??= catchUp().finally(() => {
      work = null;
      // Output may have come since the last look.
      if (!socket.destroyed && !told && (over || next < source.end())) void goOn();
    });
    return work;
  };
  // Not at once: when there is nothing to show, `done` would be called before the caller has this viewer.
  queueMicrotask(() => void goOn());

  return {
    wrote(offset, bytes) {
      if (told || !follow) return;
      if (work !== null || next !== offset || socket.writableLength > mostWaiting) return void goOn();
      send(socket, offset, bytes);
      next += bytes.length;
    },
    async ended() {
      over = true;
      while (!told && !socket.destroyed) await goOn();
    },
  };
}

/** Resets a terminal that missed output, and may have half an escape sequence and any screen. */
const wipe = "\x18\x1b[!p\x1b[?1049l\x1b[H\x1b[2J";

/** Shows the screen, then new output. A peer that is too slow misses some, and then gets the screen again. */
export function showScreen(socket: Socket, end: () => number, paint: () => Promise<string>): Viewer {
  let painting: { readonly offset: number; readonly bytes: Buffer }[] | null = null;
  let behind = false;
  let work = tryTo(() => repaint(""));

  async function repaint(first: string): Promise<void> {
    const meanwhile: { readonly offset: number; readonly bytes: Buffer }[] = [];
    painting = meanwhile;
    const at = end();
    const picture = await paint();
    painting = null;
    if (socket.destroyed) return;
    send(socket, at, Buffer.from(`${first}${picture}`, "utf8"));
    for (const { offset, bytes } of meanwhile) show(offset, bytes);
  }

  async function repaintWhenDrained(): Promise<void> {
    await drained(socket);
    behind = false;
    if (!socket.destroyed) await repaint(wipe);
  }

  function show(offset: number, bytes: Buffer): void {
    if (behind) return;
    if (socket.writableLength <= mostWaiting) return send(socket, offset, bytes);
    behind = true;
    work = tryTo(repaintWhenDrained);
  }

  /** A screen that cannot be drawn is our bug: the peer is disconnected, the agent goes on. */
  async function tryTo(draw: () => Promise<void>): Promise<void> {
    try {
      await draw();
    } catch {
      socket.destroy();
    }
  }

  return {
    wrote(offset, bytes) {
      if (painting === null) show(offset, bytes);
      else painting.push({ offset, bytes });
    },
    ended: () => work,
  };
}

function send(socket: Socket, offset: number, bytes: Buffer): void {
  socket.cork();
  socket.write(outputHeader(offset, bytes.length));
  socket.write(bytes);
  socket.uncork();
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed || !socket.writableNeedDrain) return resolve();
    const settle = () => {
      socket.off("drain", settle);
      socket.off("close", settle);
      resolve();
    };
    socket.on("drain", settle);
    socket.on("close", settle);
  });
}

const atOnce = 256 * 1024;

/** Reads output again: the newest from memory, older from the file, which may be a little behind. */
export function readAgain(files: HolderFiles, ring: OutputRing): OutputSource {
  const fromFile = (from: number) => {
    const piece = readOutput(files, { from, limit: atOnce });
    return piece !== null && piece.bytes.length > 0 ? piece : null;
  };
  return {
    end: ring.end,
    async read(from) {
      if (from >= ring.end()) return null;
      const recent = ring.tail(from);
      if (recent.oldest <= from) return recent;
      const kept = fromFile(from);
      if (kept !== null) return kept;
      await ring.flushed();
      // What neither of them has could not be kept: the rest is shown.
      return fromFile(from) ?? ring.tail(from);
    },
  };
}
