import type { DurationMs, EpochMs } from "@rouse/contract";

/** The byte at `offset` was written at `at`, and those after it within `markEveryMs` unless there is another mark. */
export interface Mark {
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

/** When output was written. Times are exact to `markEveryMs`. */
export interface Times {
  /** `null` when it was written before the oldest mark. */
  timeAt(offset: number): EpochMs | null;
  /** Where output since `time` begins: perhaps a little early, never late. `null` when there is none. */
  offsetAt(time: EpochMs): number | null;
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
      // From the end, one by one: offsets are in order, times are not when the clock was set back.
      let index = marks.length;
      while (index > 0 && (marks[index - 1] as Mark).at + markEveryMs > time) index -= 1;
      return marks[index]?.offset ?? null;
    },
  };
}

/** Marks of output that never reached the disk before a crash give way to those of the life that wrote the same offsets again. */
function unpackMarks(bytes: Buffer): Mark[] {
  const marks: Mark[] = [];
  for (let place = 0; place + markBytes <= bytes.length; place += markBytes) {
    const mark = { offset: bytes.readDoubleBE(place), at: bytes.readDoubleBE(place + 8) };
    while (marks.length > 0 && (marks.at(-1) as Mark).offset >= mark.offset) marks.pop();
    marks.push(mark);
  }
  return marks;
}
