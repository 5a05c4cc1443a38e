import { readSync } from "node:fs";
import { readPlainFile } from "../read-plain-file.ts";
import { type LineSplitter, splitLines } from "../watch/split-lines.ts";

/** A file that somebody else writes line by line. */
export interface FileTail {
  /** Whole lines that came since the last look. A line without an end waits for it. */
  look(): string[];
}

/** A conversation that goes on may be long already; what was said before this life is not looked at anyway. */
const furthestBack = 8 * 1024 * 1024;
const pieceBytes = 256 * 1024;
/** The rest waits for the next look: nobody else is heard while this reads. */
const piecesPerLook = 8;
const longestLine = 1024 * 1024;

/**
 * Opened anew for each look: a file that was replaced or shortened is read from its beginning. One that cannot be read
 * says nothing, which may change.
 */
export function tailFile(file: string): FileTail {
  let lines: LineSplitter = splitLines(longestLine);
  let at: number | null = null;
  let inode = 0;

  /** Where to go on: the beginning of what is not known yet. */
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
