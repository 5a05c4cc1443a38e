import { readSync } from "node:fs";
import { crc32 } from "node:zlib";

/**
 * The first page of a ring file: what is in the ring. Two slots, written in turn and each with its checksum, so that one torn by a crash or
 * read in the middle of being written leaves the other to go by.
 */
export interface RingHeader {
  /** Grows by one with every header written. */
  readonly seq: number;
  /** The last so many bytes can be read. */
  readonly keep: number;
  /** The ring is longer than `keep` by this: a write in flight, never longer, overwrites only what nobody may read any more. */
  readonly slack: number;
  /** Bytes ever written. The next one gets this offset. */
  readonly end: number;
  /** Nothing before this offset is here, however short the ring is filled. */
  readonly floor: number;
  /** Where the present life of the agent begins. */
  readonly lifeStart: number;
  /** Offsets that were counted but could not be written, oldest first. */
  readonly gaps: readonly Gap[];
}

export interface Gap {
  readonly from: number;
  readonly to: number;
}

export const pageBytes = 4096;
export const slotBytes = 256;
const slotPlaces = [0, 2048] as const;
const magic = "ROUSERNG";
const version = 1;
const gapsAt = 72;
const mostGaps = 8;

export const slotOf = (seq: number): number => slotPlaces[seq % 2] as number;

/** The oldest offset that can be read. */
export const oldestOf = ({ floor, end, keep }: RingHeader): number => Math.max(floor, end - keep);

/** Goes on at `to` without the bytes between. Gaps that aged out are forgotten; when there are too many, so is what lies before the first. */
export function leap(header: RingHeader, to: number): RingHeader {
  const last = header.gaps.at(-1);
  // One that just ended here goes on: a disk that stays full is one gap, however often it was tried.
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
export function readHeader(file: number): RingHeader | null {
  const page = Buffer.alloc(pageBytes);
  // Both slots are torn only when the writer came round twice while we read: it is not as quick a second time.
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
  return {
    seq: number(0),
    keep: number(1),
    slack: number(2),
    end: number(3),
    floor: number(4),
    lifeStart: number(5),
    gaps,
  };
}
