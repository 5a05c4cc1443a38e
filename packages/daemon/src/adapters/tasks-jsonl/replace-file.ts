import { renameSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { openPlainFile, readPlainBytes } from "@rouse/holder";

/**
 * Replaces a file that holds `expected` by `next`. Returns the old file, still open; `null`: it held something else.
 */
export async function replaceFile(target: string, expected: Buffer, next: Buffer): Promise<FileHandle | null> {
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.rouse`);
  const old = await openIfThere(target);
  if (old === null) return null;
  let replaced = false;
  try {
    await rm(temporary, { force: true });
    await writeLike(old, temporary, next);
    replaced = putInPlace(temporary, target, expected);
    return replaced ? old : null;
  } finally {
    if (!replaced) {
      await old.close();
      await rm(temporary, { force: true });
    }
  }
}

/** Synchronous, so that nothing of this process and hardly anybody else comes between looking and replacing. */
function putInPlace(temporary: string, target: string, expected: Buffer): boolean {
  if (readPlainBytes(target, expected.length)?.equals(expected) !== true) return false;
  renameSync(temporary, target);
  return true;
}

async function openIfThere(target: string): Promise<FileHandle | null> {
  return openPlainFile(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
}

/** Writes the new file with the mode and owner of the old one, and syncs it before it gets its name. */
async function writeLike(old: FileHandle, file: string, bytes: Buffer): Promise<void> {
  const { mode, uid, gid } = await old.stat();
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(bytes);
    const made = await handle.stat();
    if (made.uid !== uid || made.gid !== gid) await handle.chown(uid, gid);
    await handle.chmod(mode & 0o7777);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
