import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";

/** What lies where the task file should be. */
type FoundFile =
  | { readonly kind: "missing" }
  | { readonly kind: "unusable"; readonly problem: string }
  /** Nothing has changed since the last look. */
  | { readonly kind: "same" }
  | FileContent;

export interface FileContent {
  readonly kind: "read";
  /** The file itself, behind any links. */
  readonly target: string;
  readonly bytes: Buffer;
  /** Differs whenever the file was written to or replaced. `null`: too fresh to tell. */
  readonly stamp: string | null;
}

export const longestFile = 10 * 1024 * 1024;
export const tooLong = "it is longer than 10 MB; cut out what is over";

/** `known`: the stamp of the last look. */
export async function readFileAt(path: string, known: string | null): Promise<FoundFile> {
  try {
    const target = await realpath(path);
    // Opening a pipe must not wait for its writer.
    const handle = await open(target, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return await readHandle(handle, target, known);
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return { kind: "missing" };
    if (code === undefined) throw error;
    return { kind: "unusable", problem: `it cannot be read (${code})` };
  }
}

async function readHandle(handle: FileHandle, target: string, known: string | null): Promise<FoundFile> {
  const before = await stampOf(handle);
  if (!before.isFile) return { kind: "unusable", problem: "it is not a file" };
  const stamp = `${target} ${before.stamp}`;
  if (stamp === known) return { kind: "same" };
  if (before.size > longestFile) return { kind: "unusable", problem: tooLong };
  const bytes = await handle.readFile();
  if (bytes.length > longestFile) return { kind: "unusable", problem: tooLong };
  return { kind: "read", target, bytes, stamp: before.isFresh ? null : stamp };
}

/** Within this time a file system may give two changes the same date. */
const freshMs = 1000;

async function stampOf(handle: FileHandle) {
  const found = await handle.stat({ bigint: true });
  const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs } = found;
  return {
    stamp: [dev, ino, size, mtimeNs, ctimeNs].join(":"),
    size: Number(size),
    isFile: found.isFile(),
    isFresh: Date.now() - Number(mtimeMs) < freshMs,
  };
}
