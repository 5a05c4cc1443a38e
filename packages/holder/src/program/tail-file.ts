import { readSync } from "node:fs";
import { readPlainFile } from "../read-plain-file.ts";
import { type LineSplitter, splitLines } from "../watch/split-lines.ts";

/** A file that another process writes line by line. */
export interface FileTail {
  /** Whole lines since the last look. A line without an end waits for its end. */
  look(): string[];
}

/** In bytes. A resumed conversation may be long; what was said before this life is not looked at anyway. */
const furthestBack = 8 * 1024 * 1024;
const pieceBytes = 256 * 1024;
/** The rest waits for the next look: this process does nothing else while it reads. */
const piecesPerLook = 8;
const longestLine = 1024 * 1024;

/**
 * The file is opened anew for each look: one that was replaced or shortened is read from its beginning. One that cannot
 * be read gives no lines for now.
 */
export function tailFile(file: string): FileTail {
  let lines: LineSplitter = splitLines(longestLine);
  let at: number | null = null;
  let inode = 0;

  /** Where to go on reading. */
  function place(size: number, found: number): number {
    if (at !== null && inode === found && size >= at) return at;
    inode = found;
    lines = splitLines(longestLine);
    return at === null ? Math.max(0, size - furthestBack) : 0;
  }

  return {
    look() {
      const read: string[] = [];
      readPlainFile(file, ({ handle, size, inode: found }) => {
        at = place(size, found);
        const piece = Buffer.alloc(Math.min(pieceBytes, Math.max(1, size - at)));
        for (let pieces = 0; pieces < piecesPerLook; pieces++) {
          const count = readSync(handle, piece, 0, piece.length, at);
          if (count === 0) break;
          at += count;
          lines.feed(piece.subarray(0, count));
          read.push(...lines.take());
        }
      });
      return read;
    },
  };
}
