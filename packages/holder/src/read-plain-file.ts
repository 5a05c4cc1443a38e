import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { attempt } from "./attempt.ts";

interface PlainFile {
  readonly handle: number;
  readonly size: number;
  readonly inode: number;
}

/** Opening a pipe would wait for a writer, and block this process or one of the few threads that do all reading. */
const withoutWaiting = constants.O_RDONLY | constants.O_NONBLOCK;

/** Reads a file that somebody else chose or can replace. `null`: it is no plain file, or cannot be opened. */
export function readPlainFile<T>(file: string, read: (found: PlainFile) => T): T | null {
  try {
    const handle = openSync(file, withoutWaiting);
    try {
      const stat = fstatSync(handle);
      return stat.isFile() ? read({ handle, size: stat.size, inode: stat.ino }) : null;
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return null;
  }
}

/** The whole file; `null` also when it has more than `longest` bytes, or grows while it is read. */
export function readPlainBytes(file: string, longest: number): Buffer | null {
  return readPlainFile(file, ({ handle, size }) => {
    const bytes = Buffer.alloc(Math.min(size, longest) + 1);
    let length = 0;
    while (length < bytes.length) {
      const count = readSync(handle, bytes, length, bytes.length - length, null);
      if (count === 0) return bytes.subarray(0, length);
      length += count;
    }
    return null;
  });
}

/** In bytes; more than any settings a person writes. */
const longestText = 4 * 1024 * 1024;

export const readPlainText = (file: string, longest = longestText): string | null =>
  readPlainBytes(file, longest)?.toString("utf8") ?? null;

/** For callers that must not wait for a slow disk. Throws as opening does; `null`: it is no plain file. */
export async function openPlainFile(file: string): Promise<FileHandle | null> {
  const handle = await open(file, withoutWaiting);
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  return null;
}

/** The rest of the file; `null`: that is more than `longest` bytes. */
export async function readBounded(handle: FileHandle, longest: number): Promise<Buffer | null> {
  const bytes = Buffer.alloc(longest + 1);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, null);
    if (bytesRead === 0) return bytes.subarray(0, length);
    length += bytesRead;
  }
  return null;
}

/** For callers that let somebody else open the file. */
export const isPlainFile = (file: string): boolean => attempt(() => statSync(file).isFile()) ?? false;
