import { closeSync, openSync, readSync } from "node:fs";
import { oldestOf, pageBytes, type RingHeader, readHeader } from "./ring-header.ts";

export interface RingPiece {
  /** Offset of the first byte: later than asked for when that is no longer, or was never, there. */
  readonly from: number;
  /** Without a gap, so fewer than asked for where one begins. */
  readonly bytes: Buffer;
  readonly end: number;
  readonly oldest: number;
  /** Where the present life of the agent begins. */
  readonly lifeStart: number;
}

export interface Range {
  /** `null`: the oldest there is. */
  readonly from: number | null;
  readonly limit: number;
}

/** A writer that wins this often leaves nothing of so short a ring to read. */
const attempts = 10;

/** Works beside a living writer, in another process or not, and when there is none. `null` when there is no ring. */
export function readRing(path: string, range: Range): RingPiece | null {
  const file = openIfThere(path);
  if (file === null) return null;
  try {
    for (let attempt = 0; ; attempt++) {
      const before = readHeader(file);
      if (before === null) return null;
      const { from, to } = findRange(before, range);
      const bytes = readBytes(file, before, from, to);
      const after = readHeader(file) ?? before;
      // What the writer reached meanwhile may hold newer bytes; what was behind its reach is as it was.
      const intact = Math.max(from, oldestOf(after));
      if (intact >= to && to > from && attempt < attempts) continue;
      const start = to > from ? intact : from;
      const { end, lifeStart } = before;
      return { from: start, bytes: bytes.subarray(start - from), end, oldest: oldestOf(after), lifeStart };
    }
  } finally {
    closeSync(file);
  }
}

function findRange(header: RingHeader, { from, limit }: Range): { from: number; to: number } {
  let start = Math.max(from ?? 0, oldestOf(header));
  for (const gap of header.gaps) if (gap.from <= start && start < gap.to) start = gap.to;
  const nextGap = header.gaps.find((gap) => gap.from > start)?.from ?? header.end;
  return { from: start, to: Math.max(start, Math.min(start + limit, nextGap, header.end)) };
}

function readBytes(file: number, { keep, slack }: RingHeader, from: number, to: number): Buffer {
  const size = keep + slack;
  const bytes = Buffer.allocUnsafe(to - from);
  const place = from % size;
  const first = Math.min(bytes.length, size - place);
  readFully(file, bytes.subarray(0, first), pageBytes + place);
  readFully(file, bytes.subarray(first), pageBytes);
  return bytes;
}

function readFully(file: number, bytes: Buffer, place: number): void {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(file, bytes, done, bytes.length - done, place + done);
    // A file shorter than its header says was cut by somebody: what is missing reads as zeros.
    if (count === 0) return void bytes.fill(0, done);
    done += count;
  }
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, "r");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}
