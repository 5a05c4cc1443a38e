import { closeSync, fstatSync, ftruncateSync, openSync, renameSync, statSync, writeSync } from "node:fs";

export interface RotatingFileOptions {
  readonly path: string;
  /** A line that would make the file larger begins a new one. */
  readonly maxBytes: number;
  /** How many older files stay: `path.1` is the youngest of them. */
  readonly keep: number;
  /** The line that is written in place of those that were lost. */
  wordLoss(lines: number, reason: string): string;
}

interface OpenFile {
  readonly handle: number;
  readonly inode: number;
  size: number;
}

/**
 * A log that renames itself when it is full, which takes no room on the disk and replaces the oldest file. When
 * somebody moves or removes the file, a new one is begun.
 */
export function openRotatingFile({ path, maxBytes, keep, wordLoss }: RotatingFileOptions) {
  let file: OpenFile | null = null;
  let lost = { lines: 0, reason: "" };

  function close(): void {
    if (file !== null) closeSync(file.handle);
    file = null;
  }

  function fileFor(bytes: number): OpenFile {
    if (file !== null && statSync(path, { throwIfNoEntry: false })?.ino !== file.inode) close();
    file ??= openToAppend(path);
    if (file.size === 0 || file.size + bytes <= maxBytes) return file;
    close();
    moveAside(path, keep);
    file = openToAppend(path);
    return file;
  }

  return {
    /** Writes a line, or loses it and says so with the next that can be written. Never throws. */
    write(line: string): void {
      try {
        const notice = lost.lines === 0 ? "" : wordLoss(lost.lines, lost.reason);
        const bytes = Buffer.from(notice + line);
        append(fileFor(bytes.length), bytes);
        lost = { lines: 0, reason: "" };
      } catch (error) {
        lost = { lines: lost.lines + 1, reason: (error as NodeJS.ErrnoException).code ?? String(error) };
      }
    },
  };
}

function openToAppend(path: string): OpenFile {
  const handle = openSync(path, "a", 0o600);
  const { ino: inode, size } = fstatSync(handle);
  return { handle, inode, size };
}

function moveAside(path: string, keep: number): void {
  for (let age = keep - 1; age >= 1; age--) renameIfThere(`${path}.${age}`, `${path}.${age + 1}`);
  renameIfThere(path, `${path}.1`);
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/** A line is whole or not there: a disk that fills up in the middle of one takes its beginning. */
function append(file: OpenFile, bytes: Uint8Array): void {
  try {
    for (let done = 0; done < bytes.length; ) done += writeSync(file.handle, bytes, done);
  } catch (error) {
    ftruncateSync(file.handle, file.size);
    throw error;
  }
  file.size += bytes.length;
}
