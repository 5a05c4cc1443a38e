import { close, write } from "node:fs";
import { promisify } from "node:util";
import { newHeader, openRingFile } from "./open-ring-file.ts";
import { readRing } from "./read-ring.ts";
import { leap, packHeader, pageBytes, type RingHeader, slotOf } from "./ring-header.ts";
import { createWaitingBytes, type WaitingBytes } from "./waiting-bytes.ts";

const writeTo = promisify(write);
const closeFile = promisify(close);

/** How long a failing disk is left alone. */
const tryAgainMs = 3000;
const tailBytes = 256 * 1024;
/** Each write costs two trips to the disk whatever its size, so output is gathered for a moment or until there is a good piece of it. */
const gatherMs = 50;
const goodPiece = 256 * 1024;

export interface RingOptions {
  readonly keep: number;
  readonly keepHistory: boolean;
  /** Called with the error when writing begins to fail, with `null` when it works again. */
  readonly onFault: (fault: Error | null) => void;
}

export interface RingWriter {
  /** Returns at once. The chunk must not be changed afterwards. */
  write(chunk: Buffer): void;
  lifeStart(): number;
  kept(): boolean;
  /** The end of what was written, in memory. */
  readonly tail: LastBytes;
  /** Everything written until now is in the file, or cannot be. */
  flushed(): Promise<void>;
  /** Writes what still waits, trying once more if the disk failed. */
  close(): Promise<void>;
}

/** Never throws and never blocks: what the disk does not take stays in memory as far as there is room, the rest becomes a gap. */
export function openRing(path: string, { keep, keepHistory, onFault }: RingOptions): RingWriter {
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
    write(chunk) {
      if (closed || chunk.length === 0) return;
      tail.push(chunk);
      if (fault !== null) return;
      waiting.push(chunk);
      writeSoon();
    },
    lifeStart: () => header.lifeStart,
    kept: () => fault === null,
    tail,
    flushed: () =>
      new Promise((done) => {
        whenFlushed.push({ end: tail.end(), done });
        tellFlushed();
        if (whenFlushed.length > 0 && fault === null) work(writeWaiting);
      }),
    async close() {
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

  /** Goes on with what the tail still has. Until it is through, all that comes goes to the tail only. */
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

  /** Data first, then the header that tells of it; between two headers never more than the slack. */
  async function writeSome(from: WaitingBytes): Promise<void> {
    const surplus = from.length() - keep;
    if (surplus > 0) {
      await writeHeader(leap(header, header.end + surplus));
      from.drop(surplus);
    }
    const bytes = from.peek(header.slack);
    const size = header.keep + header.slack;
    const place = header.end % size;
    const first = Math.min(bytes.length, size - place);
    await writeFully(bytes.subarray(0, first), pageBytes + place);
    await writeFully(bytes.subarray(first), pageBytes);
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
    // The end of what waits is in the tail as well.
    waiting = createWaitingBytes();
    if (!closed) retry = setTimeout(() => work(tryAgain), tryAgainMs).unref();
    if (first) onFault(error);
    tellFlushed();
  }

  function tellFlushed(): void {
    if (whenFlushed.length === 0) return;
    const over = ({ end }: { end: number }) => fault !== null || end <= header.end;
    const done = whenFlushed.filter(over);
    whenFlushed = whenFlushed.filter((one) => !over(one));
    for (const one of done) one.done();
  }
}

/** Of a ring that cannot be written it may still be possible to read where it ends. */
function endOf(path: string): number {
  try {
    return readRing(path, { from: null, limit: 0 })?.end ?? 0;
  } catch {
    return 0;
  }
}

/** The end of what was written, in memory: there also when the disk is full. */
interface LastBytes {
  push(chunk: Buffer): void;
  /** Offset of the first byte still here. */
  start(): number;
  end(): number;
  /** A copy of everything from `from` on that is still here. */
  from(from: number): Buffer;
}

function createLastBytes(size: number, beginsAt: number): LastBytes {
  let ring: Buffer | null = null;
  let end = beginsAt;
  const start = () => Math.max(beginsAt, end - size);

  return {
    push(chunk) {
      ring ??= Buffer.allocUnsafeSlow(size);
      const kept = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk;
      end += chunk.length;
      const place = (end - kept.length) % size;
      const first = kept.copy(ring, place, 0, Math.min(kept.length, size - place));
      kept.copy(ring, 0, first);
    },
    start,
    end: () => end,
    from(asked) {
      const begin = Math.min(end, Math.max(asked, start()));
      if (ring === null || begin === end) return Buffer.alloc(0);
      const [place, stop] = [begin % size, end % size];
      if (place < stop) return Buffer.from(ring.subarray(place, stop));
      return Buffer.concat([ring.subarray(place), ring.subarray(0, stop)]);
    },
  };
}
