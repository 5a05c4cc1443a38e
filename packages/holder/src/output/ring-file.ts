import { closeSync, openSync, readSync, renameSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";

/**
 * The first page of a ring file: what is in the ring. The page has two slots, written in turn, each with a checksum. A
 * slot that was torn by a crash, or is read while it is being written, leaves the other one to go by.
 */
export interface RingHeader {
  /** Grows by one with every header written. */
  readonly seq: number;
  /** The last so many bytes can be read. */
  readonly keep: number;
  /**
   * The ring is longer than `keep` by this. A write is never longer, so it overwrites only what may no longer be read.
   */
  readonly slack: number;
  /** Bytes ever written. The next one gets this offset. */
  readonly end: number;
  /** Nothing before this offset is in the ring, even where `keep` would reach further back. */
  readonly floor: number;
  /** Where the present life of the agent begins. */
  readonly lifeStart: number;
  /** Offsets that were counted but could not be written, oldest first. */
  readonly gaps: readonly Gap[];
}

interface Gap {
  readonly from: number;
  readonly to: number;
}

const pageBytes = 4096;
export const slotBytes = 256;
const slotPlaces = [0, 2048] as const;
const magic = "ROUSERNG";
const version = 1;
const gapsAt = 72;
const mostGaps = 8;
/** Room for one write beside what may be read. */
const mostSlack = 1024 * 1024;

export const slotOf = (seq: number): number => slotPlaces[seq % 2] as number;

export function newHeader(keep: number, end: number, floor = end): RingHeader {
  return { seq: 0, keep, slack: Math.min(keep, mostSlack), end, floor, lifeStart: end, gaps: [] };
}

/** The oldest offset that can be read. */
const oldestOf = ({ floor, end, keep }: RingHeader): number => Math.max(floor, end - keep);

/** Cuts bytes that begin at `offset` where the ring begins anew. Each piece comes with its place in the file. */
export function piecesAt({ keep, slack }: RingHeader, offset: number, bytes: Buffer): [piece: Buffer, place: number][] {
  const size = keep + slack;
  const place = offset % size;
  const first = Math.min(bytes.length, size - place);
  return [
    [bytes.subarray(0, first), pageBytes + place],
    [bytes.subarray(first), pageBytes],
  ];
}

/**
 * Goes on at `to` without the bytes between. Gaps that lie before what is kept are dropped. When there are too many
 * gaps, what lies before the first is given up with it.
 */
export function leap(header: RingHeader, to: number): RingHeader {
  const last = header.gaps.at(-1);
  // A gap that ends here goes on: a disk that stays full is one gap, however often writing was tried.
  const before = last?.to === header.end ? header.gaps.slice(0, -1) : header.gaps;
  const gap = { from: last?.to === header.end ? last.from : header.end, to };
  const gaps = [...before, gap].filter((one) => one.to > to - header.keep);
  const given = gaps.length > mostGaps ? gaps.shift() : undefined;
  return { ...header, end: to, gaps, floor: Math.max(header.floor, given?.to ?? 0) };
}

export function packHeader(header: RingHeader): Buffer {
  const slot = Buffer.alloc(slotBytes);
  slot.write(magic, 0, "latin1");
  slot.writeUInt32BE(version, 8);
  const { seq, keep, slack, end, floor, lifeStart, gaps } = header;
  for (const [index, value] of [seq, keep, slack, end, floor, lifeStart].entries()) {
    slot.writeDoubleBE(value, 16 + 8 * index);
  }
  slot.writeUInt32BE(gaps.length, 64);
  for (const [index, gap] of gaps.entries()) {
    slot.writeDoubleBE(gap.from, gapsAt + 16 * index);
    slot.writeDoubleBE(gap.to, gapsAt + 16 * index + 8);
  }
  slot.writeUInt32BE(crc32(slot.subarray(16)), 12);
  return slot;
}

/** `null` when the file is not a ring, or is one of a version we do not know. */
function readHeader(file: number): RingHeader | null {
  const page = Buffer.alloc(pageBytes);
  // Both slots are torn only when the writer wrote twice while we read. It is not that fast several times in a row.
  for (let attempt = 0; attempt < 5; attempt++) {
    readSync(file, page, 0, pageBytes, 0);
    const [one, other] = slotPlaces.map((at) => unpack(page.subarray(at, at + slotBytes)));
    if (one && other) return one.seq > other.seq ? one : other;
    if (one || other) return one ?? other ?? null;
  }
  return null;
}

function unpack(slot: Buffer): RingHeader | null {
  if (slot.toString("latin1", 0, 8) !== magic || slot.readUInt32BE(8) !== version) return null;
  if (slot.readUInt32BE(12) !== crc32(slot.subarray(16))) return null;
  const number = (index: number) => slot.readDoubleBE(16 + 8 * index);
  const gaps = Array.from({ length: slot.readUInt32BE(64) }, (_, index) => ({
    from: slot.readDoubleBE(gapsAt + 16 * index),
    to: slot.readDoubleBE(gapsAt + 16 * index + 8),
  }));
  const [seq, keep, slack] = [number(0), number(1), number(2)];
  return { seq, keep, slack, end: number(3), floor: number(4), lifeStart: number(5), gaps };
}

export interface RingPiece {
  /** Offset of the first byte: later than asked for when that byte is no longer, or was never, in the ring. */
  readonly from: number;
  /** Without a gap, so fewer than asked for where a gap begins. */
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

/** How often a range is read again that the writer overwrote meanwhile. */
const attempts = 10;

/** Works beside a living writer, in another process or not, and when there is none. `null` when there is no ring. */
export function readRing(path: string, range: Range): RingPiece | null {
  const file = openIfThere(path, "r");
  if (file === null) return null;
  try {
    for (let attempt = 0; ; attempt++) {
      const before = readHeader(file);
      if (before === null) return null;
      const { from, to } = findRange(before, range);
      const bytes = Buffer.allocUnsafe(to - from);
      for (const [piece, place] of piecesAt(before, from, bytes)) readFully(file, piece, place);
      const after = readHeader(file) ?? before;
      // The writer may have overwritten what is older than its present oldest offset. The rest is intact.
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

function readFully(file: number, bytes: Buffer, place: number): void {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(file, bytes, done, bytes.length - done, place + done);
    // A file shorter than its header says was cut by somebody: the missing bytes read as zeros.
    if (count === 0) return void bytes.fill(0, done);
    done += count;
  }
}

interface Ring {
  readonly file: number;
  readonly header: RingHeader;
}

interface Wanted {
  readonly keep: number;
  /** Whether what earlier lives wrote can still be read. */
  readonly keepHistory: boolean;
  /** Offsets must go on here; `null`: where the existing ring ends. */
  readonly at: number | null;
}

/** Begins a new life in the ring. One of another size, with other offsets or damaged is replaced by a new file. */
export function openRingFile(path: string, { keep, keepHistory, at }: Wanted): Ring {
  const file = openIfThere(path, "r+");
  const found = file === null ? null : readHeader(file);
  const fits = found !== null && found.keep === keep && (at ?? found.end) === found.end;
  if (file !== null && fits) {
    const floor = keepHistory ? found.floor : found.end;
    const header = { ...found, seq: found.seq + 1, lifeStart: found.end, floor };
    writeSync(file, packHeader(header), 0, undefined, slotOf(header.seq));
    return { file, header };
  }
  if (file !== null) closeSync(file);
  const end = at ?? found?.end ?? 0;
  const past = keepHistory && found?.end === end ? readPast(path, found, keep) : null;
  return createRing(path, newHeader(keep, end, past?.from ?? end), past);
}

/** Creates the ring under another name first: a reader sees the old ring or the new one, never half of one. */
function createRing(path: string, header: RingHeader, past: RingPiece | null): Ring {
  const unfinished = `${path}.new`;
  const file = openSync(unfinished, "w+", 0o600);
  try {
    // The whole page, so that headers can still be written later on a full disk.
    const page = Buffer.alloc(pageBytes);
    packHeader(header).copy(page, slotOf(header.seq));
    writeFully(file, page, 0);
    if (past !== null)
      for (const [piece, place] of piecesAt(header, past.from, past.bytes)) writeFully(file, piece, place);
    renameSync(unfinished, path);
    return { file, header };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** As much of the end of a ring as fits and has no gap. */
function readPast(path: string, header: RingHeader, keep: number): RingPiece | null {
  const from = Math.max(oldestOf(header), header.end - keep, header.gaps.at(-1)?.to ?? 0);
  return readRing(path, { from, limit: keep });
}

function writeFully(file: number, bytes: Buffer, place: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done, place + done);
  }
}

function openIfThere(path: string, flags: "r" | "r+"): number | null {
  try {
    return openSync(path, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || (code === "ENOTDIR" && flags === "r")) return null;
    throw error;
  }
}
