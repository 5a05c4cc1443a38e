import { close, write } from "node:fs";
import { promisify } from "node:util";
import { attempt } from "../attempt.ts";
import { leap, newHeader, openRingFile, packHeader, piecesAt, type RingHeader, readRing, slotOf } from "./ring-file.ts";

const writeTo = promisify(write);
const closeFile = promisify(close);

/** How long a failing disk is left alone. */
const tryAgainMs = 3000;
const tailBytes = 256 * 1024;
/** A write costs two trips to the disk whatever its size, so output is gathered for this long or up to this size. */
const gatherMs = 50;
const goodPiece = 256 * 1024;

interface RingOptions {
  readonly keep: number;
  readonly keepHistory: boolean;
  /** Called with the error when writing begins to fail, with `null` when it works again. */
  readonly onFault: (fault: Error | null) => void;
}

/** Never throws or blocks: what the disk does not take stays in memory while there is room, then becomes a gap. */
export function openRing(path: string, { keep, keepHistory, onFault }: RingOptions) {
  let file: number | null = null;
  let header: RingHeader;
  let fault: Error | null = null;
  let waiting = createWaitingBytes();
  let working: Promise<void> | null = null;
  let retry: NodeJS.Timeout | undefined;
  let gathering: NodeJS.Timeout | undefined;
  let closed = false;
  let whenFlushed: { readonly end: number; done(): void }[] = [];
  try {
    ({ file, header } = openRingFile(path, { keep, keepHistory, at: null }));
  } catch (error) {
    header = newHeader(keep, endOf(path));
    fail(error as Error);
  }
  const tail = createLastBytes(tailBytes, header.end);

  return {
    /** Returns at once. The chunk must not be changed afterwards. */
    write(chunk: Buffer): void {
      if (closed || chunk.length === 0) return;
      tail.push(chunk);
      if (fault !== null) return;
      waiting.push(chunk);
      writeSoon();
    },
    lifeStart: () => header.lifeStart,
    kept: () => fault === null,
    tail,
    /** Resolves when everything written until now is in the file, or cannot be. */
    flushed: () =>
      new Promise<void>((done) => {
        whenFlushed.push({ end: tail.end(), done });
        tellFlushed();
        if (whenFlushed.length > 0 && fault === null) work(writeWaiting);
      }),
    /** Writes what still waits, trying once more if the disk failed. */
    async close(): Promise<void> {
      if (closed) return;
      closed = true;
      clearTimeout(retry);
      clearTimeout(gathering);
      work(writeWaiting);
      while (working !== null) await working;
      if (fault !== null) await tryAgain().catch(fail);
      if (file !== null) await closeFile(file).catch(() => undefined);
      file = null;
    },
  };

  function writeSoon(): void {
    if (working !== null) return;
    if (waiting.length() >= goodPiece || whenFlushed.length > 0 || closed) return work(writeWaiting);
    gathering ??= setTimeout(() => {
      gathering = undefined;
      work(writeWaiting);
    }, gatherMs).unref();
  }

  /** One at a time. */
  function work(task: () => Promise<void>): void {
    working ??= task()
      .catch(fail)
      .finally(() => {
        working = null;
        if (waiting.length() > 0) writeSoon();
      });
  }

  async function writeWaiting(): Promise<void> {
    do {
      if (waiting.length() > 0) await writeSome(waiting);
    } while (waiting.length() >= goodPiece);
  }

  /** Writes what the tail still has. Until that is done, new output goes to the tail only. */
  async function tryAgain(): Promise<void> {
    if (file === null) ({ file, header } = openRingFile(path, { keep, keepHistory, at: header.end }));
    while (header.end < tail.end()) {
      if (tail.start() > header.end) await writeHeader(leap(header, tail.start()));
      const rest = createWaitingBytes();
      rest.push(tail.from(header.end));
      while (rest.length() > 0) await writeSome(rest);
    }
    fault = null;
    onFault(null);
  }

  /** Writes the data first, then the header that covers it; between two headers never more data than the slack. */
  async function writeSome(from: ReturnType<typeof createWaitingBytes>): Promise<void> {
    const surplus = from.length() - keep;
    if (surplus > 0) {
      await writeHeader(leap(header, header.end + surplus));
      from.drop(surplus);
    }
    const bytes = from.peek(header.slack);
    for (const [piece, place] of piecesAt(header, header.end, bytes)) await writeFully(piece, place);
    await writeHeader({ ...header, end: header.end + bytes.length });
    from.drop(bytes.length);
    tellFlushed();
  }

  async function writeHeader(next: RingHeader): Promise<void> {
    const numbered = { ...next, seq: header.seq + 1 };
    await writeFully(packHeader(numbered), slotOf(numbered.seq));
    header = numbered;
  }

  async function writeFully(bytes: Buffer, place: number): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      done += (await writeTo(file as number, bytes, done, bytes.length - done, place + done)).bytesWritten;
    }
  }

  function fail(error: Error): void {
    const first = fault === null;
    fault = error;
    // The end of what was waiting is in the tail as well.
    waiting = createWaitingBytes();
    if (!closed) retry = setTimeout(() => work(tryAgain), tryAgainMs).unref();
    if (first) onFault(error);
    tellFlushed();
  }

  function tellFlushed(): void {
    if (whenFlushed.length === 0) return;
    const isOver = (end: number) => fault !== null || end <= header.end;
    const waiters = whenFlushed;
    whenFlushed = waiters.filter(({ end }) => !isOver(end));
    for (const { end, done } of waiters) if (isOver(end)) done();
  }
}

/** A ring that cannot be written may still say where it ends. */
const endOf = (path: string): number => attempt(() => readRing(path, { from: null, limit: 0 }))?.end ?? 0;

/** The end of what was written, in memory: available also when the disk is full. */
function createLastBytes(size: number, beginsAt: number) {
  let ring: Buffer | null = null;
  let end = beginsAt;
  /** Offset of the first byte still here. */
  const start = () => Math.max(beginsAt, end - size);

  return {
    push(chunk: Buffer): void {
      ring ??= Buffer.allocUnsafeSlow(size);
      const kept = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk;
      end += chunk.length;
      const place = (end - kept.length) % size;
      const first = kept.copy(ring, place, 0, Math.min(kept.length, size - place));
      kept.copy(ring, 0, first);
    },
    start,
    end: () => end,
    /** A copy of everything from `asked` on that is still here. */
    from(asked: number): Buffer {
      const begin = Math.min(end, Math.max(asked, start()));
      if (ring === null || begin === end) return Buffer.alloc(0);
      const [place, stop] = [begin % size, end % size];
      if (place < stop) return Buffer.from(ring.subarray(place, stop));
      return Buffer.concat([ring.subarray(place), ring.subarray(0, stop)]);
    },
  };
}

/** Small chunks share blocks of this size: a program that writes letter by letter would cost an object for each. */
const blockBytes = 64 * 1024;
const smallBytes = 16 * 1024;

/** Bytes on their way to the disk, in order. Large chunks are kept as they are, without being copied. */
function createWaitingBytes() {
  let chunks: Buffer[] = [];
  let length = 0;
  /** The block that small chunks go to, and how much of it is taken. Its taken part is the last of `chunks`. */
  let block: { readonly bytes: Buffer; taken: number } | null = null;
  /** This many bytes of the first chunk were dropped. */
  let gone = 0;

  return {
    length: () => length,
    push(chunk: Buffer): void {
      length += chunk.length;
      if (chunk.length >= smallBytes) {
        chunks.push(chunk);
        block = null;
      } else if (chunk.length > 0) addSmall(chunk);
    },
    /** The first bytes, at most `most` of them. They stay until they are dropped. */
    peek(most: number): Buffer {
      const picked: Buffer[] = [];
      let count = -gone;
      for (const chunk of chunks) {
        if (count >= most) break;
        picked.push(chunk);
        count += chunk.length;
      }
      const whole = picked.length === 1 ? (picked[0] as Buffer) : Buffer.concat(picked);
      return whole.subarray(gone, gone + most);
    },
    drop(count: number): void {
      length -= count;
      gone += count;
      let passed = 0;
      while (passed < chunks.length && gone >= (chunks[passed] as Buffer).length) {
        gone -= (chunks[passed] as Buffer).length;
        passed += 1;
      }
      chunks = chunks.slice(passed);
      if (chunks.length === 0) block = null;
    },
  };

  function addSmall(chunk: Buffer): void {
    if (block === null || block.taken + chunk.length > blockBytes) {
      block = { bytes: Buffer.allocUnsafeSlow(blockBytes), taken: 0 };
      chunks.push(block.bytes.subarray(0, 0));
    }
    chunk.copy(block.bytes, block.taken);
    block.taken += chunk.length;
    chunks[chunks.length - 1] = block.bytes.subarray(0, block.taken);
  }
}
