import type { OutputRing } from "../output/output-ring.ts";
import { readOutput } from "../output/read-output.ts";
import type { HolderFiles } from "../protocol/holder-files.ts";
import type { OutputSource } from "./show-output.ts";

const atOnce = 256 * 1024;

/** Output that has been written: the newest from memory, older from the file, which may be a little behind. */
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
      // What neither of them has could not be kept.
      return fromFile(from) ?? ring.tail(from);
    },
  };
}
