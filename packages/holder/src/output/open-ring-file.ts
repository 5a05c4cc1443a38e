import { closeSync, openSync, renameSync, writeSync } from "node:fs";
import { type RingPiece, readRing } from "./read-ring.ts";
import { oldestOf, packHeader, pageBytes, type RingHeader, readHeader, slotOf } from "./ring-header.ts";

interface Ring {
  readonly file: number;
  readonly header: RingHeader;
}

interface Wanted {
  readonly keep: number;
  /** Whether what earlier lives wrote can still be read. */
  readonly keepHistory: boolean;
  /** Offsets must go on here; `null`: where the ring that is there ends. */
  readonly at: number | null;
}

/** Room for one write beside what may be read. */
const mostSlack = 1024 * 1024;

/** Begins a new life in the ring at `path`. One of another size, with other offsets or damaged is replaced by a new file. */
export function openRingFile(path: string, { keep, keepHistory, at }: Wanted): Ring {
  const file = openForWriting(path);
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

export function newHeader(keep: number, end: number, floor = end): RingHeader {
  return { seq: 0, keep, slack: Math.min(keep, mostSlack), end, floor, lifeStart: end, gaps: [] };
}

/** Under another name first: whoever reads sees the old ring or the new one. */
function createRing(path: string, header: RingHeader, past: RingPiece | null): Ring {
  const unfinished = `${path}.new`;
  const file = openSync(unfinished, "w+", 0o600);
  try {
    // The whole page, so that headers can be written later when there is no room for anything.
    const page = Buffer.alloc(pageBytes);
    packHeader(header).copy(page, slotOf(header.seq));
    writeFully(file, page, 0);
    if (past !== null) {
      const size = header.keep + header.slack;
      const place = past.from % size;
      const first = Math.min(past.bytes.length, size - place);
      writeFully(file, past.bytes.subarray(0, first), pageBytes + place);
      writeFully(file, past.bytes.subarray(first), pageBytes);
    }
    renameSync(unfinished, path);
    return { file, header };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** As much of the end as fits and has no gap. */
function readPast(path: string, header: RingHeader, keep: number): RingPiece | null {
  const from = Math.max(oldestOf(header), header.end - keep, header.gaps.at(-1)?.to ?? 0);
  return readRing(path, { from, limit: keep });
}

function writeFully(file: number, bytes: Buffer, place: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done, place + done);
  }
}

function openForWriting(path: string): number | null {
  try {
    return openSync(path, "r+");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
