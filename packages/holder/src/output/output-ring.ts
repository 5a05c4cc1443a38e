import type { EpochMs } from "@rouse/contract";
import type { HolderFiles } from "../protocol/holder-files.ts";
import { markBytes, markEveryMs, packMark } from "./read-output.ts";
import type { RingPiece } from "./ring-file.ts";
import { openRing } from "./ring-writer.ts";

/** At one mark in 100 ms these reach back almost two hours of unbroken output, and much longer in practice. */
const keptMarks = 64 * 1024;

interface OutputOptions {
  readonly keepBytes: number;
  /** Whether what earlier lives wrote can still be read. */
  readonly keepHistory: boolean;
  /** Called with the error when output can no longer be kept, with `null` when it can again. */
  readonly onFault?: (fault: Error | null) => void;
}

export type OutputRing = ReturnType<typeof openOutputRing>;

/** An agent's last output, with offsets and times, on disk and bounded. */
export function openOutputRing(
  files: Pick<HolderFiles, "output" | "marks">,
  { keepBytes, keepHistory, onFault = () => undefined }: OutputOptions,
) {
  const output = openRing(files.output, { keep: keepBytes, keepHistory, onFault });
  // Times are of no use without the output, so a fault of theirs alone is not reported.
  const marks = openRing(files.marks, { keep: keptMarks * markBytes, keepHistory, onFault: () => undefined });
  let markedAt: EpochMs | null = null;

  return {
    /** Returns at once; the chunk must not be changed afterwards. */
    write(chunk: Buffer, at: EpochMs): void {
      if (chunk.length === 0) return;
      // A clock that was set back makes a mark as well.
      if (markedAt === null || Math.abs(at - markedAt) >= markEveryMs) {
        marks.write(packMark({ offset: output.tail.end(), at }));
        markedAt = at;
      }
      output.write(chunk);
    },
    /** Bytes ever written, over all lives. */
    end: output.tail.end,
    lifeStart: output.lifeStart,
    /** Whether the disk takes what is written. */
    kept: output.kept,
    /** From memory, the last 256 KiB at most, also when the disk takes nothing; perhaps later than `from`. */
    tail(from: number): Omit<RingPiece, "lifeStart"> {
      const bytes = output.tail.from(from);
      const end = output.tail.end();
      return { from: Math.max(from, end - bytes.length), bytes, end, oldest: output.tail.start() };
    },
    /** Resolves when everything written until now is in the file, or cannot be. */
    flushed: async (): Promise<void> => void (await Promise.all([output.flushed(), marks.flushed()])),
    close: async (): Promise<void> => void (await Promise.all([output.close(), marks.close()])),
  };
}
