import { type DurationMs, type EpochMs, Fault } from "@rouse/contract";
import type { HolderFiles } from "../protocol/holder-files.ts";
import { type Range, type RingPiece, readRing } from "./ring-file.ts";

/** Reads an agent's output from its files, with or without a living holder. `null`: nothing was ever kept. */
export const readOutput = ({ output }: Pick<HolderFiles, "output">, range: Range): RingPiece | null =>
  nameFault(output, () => readRing(output, range));

/** When output was written. Covers what had been written when the marks were read; exact to `markEveryMs`. */
export interface Times {
  /** `null` when the byte was written before the oldest mark. */
  timeAt(offset: number): EpochMs | null;
  /** Where output since `time` begins: perhaps a little early, never late. `null` when there is none. */
  offsetAt(time: EpochMs): number | null;
}

export function readOutputTimes({ marks }: Pick<HolderFiles, "marks">): Times {
  const read = (from: number | null) =>
    nameFault(marks, () => readRing(marks, { from, limit: Number.POSITIVE_INFINITY }));
  const pieces: Buffer[] = [];
  for (let piece = read(null); piece !== null && piece.bytes.length > 0; ) {
    pieces.push(piece.bytes);
    piece = read(piece.from + piece.bytes.length);
  }
  return readTimes(Buffer.concat(pieces));
}

function nameFault<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new Fault("data-folder-unusable", `cannot read ${path} (${reason})`, { cause: error });
  }
}

/** The byte at `offset` was written at `at`; the bytes up to the next mark were written within `markEveryMs` of it. */
interface Mark {
  readonly offset: number;
  readonly at: EpochMs;
}

export const markBytes = 16;
export const markEveryMs: DurationMs = 100;

export function packMark({ offset, at }: Mark): Buffer {
  const bytes = Buffer.allocUnsafe(markBytes);
  bytes.writeDoubleBE(offset, 0);
  bytes.writeDoubleBE(at, 8);
  return bytes;
}

export function readTimes(bytes: Buffer): Times {
  const marks = unpackMarks(bytes);
  return {
    timeAt(offset) {
      let [low, high] = [0, marks.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((marks[middle] as Mark).offset <= offset) low = middle + 1;
        else high = middle;
      }
      return marks[low - 1]?.at ?? null;
    },
    offsetAt(time) {
      // Searched from the end: offsets are in order, times are not when the clock was set back.
      const before = marks.findLastIndex(({ at }) => at + markEveryMs <= time);
      return marks[before + 1]?.offset ?? null;
    },
  };
}

/** After a crash a life may write offsets again that never reached the disk. The earlier marks of those are dropped. */
function unpackMarks(bytes: Buffer): Mark[] {
  const marks: Mark[] = [];
  for (let place = 0; place + markBytes <= bytes.length; place += markBytes) {
    const mark = { offset: bytes.readDoubleBE(place), at: bytes.readDoubleBE(place + 8) };
    while (marks.length > 0 && (marks.at(-1) as Mark).offset >= mark.offset) marks.pop();
    marks.push(mark);
  }
  return marks;
}
