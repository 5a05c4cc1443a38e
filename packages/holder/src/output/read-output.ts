import { Fault } from "@rouse/contract";
import { readTimes, type Times } from "./marks.ts";
import type { OutputFiles } from "./output-ring.ts";
import { type Range, type RingPiece, readRing } from "./read-ring.ts";

export type OutputPiece = RingPiece;

/** What an agent wrote, from its files: also beside a living holder, and when nobody lives any more. `null` when nothing was ever kept. */
export const readOutput = ({ output }: Pick<OutputFiles, "output">, range: Range): OutputPiece | null =>
  nameFault(output, () => readRing(output, range));

/** When it wrote what. Good for what had been written when it was read. */
export function readOutputTimes({ marks }: Pick<OutputFiles, "marks">): Times {
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
