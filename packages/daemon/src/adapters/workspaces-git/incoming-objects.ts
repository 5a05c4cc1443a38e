import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sweepAbandoned } from "./sweep-abandoned.ts";

/** Where git writes new objects until all of them are there: one that is ended in the middle leaves its half-written files here, and not in the repository. */
export interface IncomingObjects {
  readonly folder: string;
  /** Into the repository, for good. */
  moveIn(): Promise<void>;
  remove(): Promise<void>;
}

/** Begins as git's own do, so that its housekeeping removes what a killed monitor left, should we not come back. */
const prefix = "tmp_objdir-rouse-";

/** On the disk of the repository, so that nothing is copied. */
export async function makeIncoming(objects: string): Promise<IncomingObjects> {
  await sweepAbandoned(objects, prefix);
  const folder = await mkdtemp(join(objects, prefix));
  const remove = () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
  try {
    await mkdir(join(folder, "info"));
    // Relative, because no name of a folder can be mistaken for anything else then.
    await writeFile(join(folder, "info", "alternates"), "..\n");
  } catch (error) {
    await remove();
    throw error;
  }
  return { folder, moveIn: () => moveIn(folder, objects), remove };
}

async function moveIn(from: string, objects: string): Promise<void> {
  const shelves = (await readdir(from)).filter((name) => /^(?:[0-9a-f]{2}|pack)$/.test(name));
  for (const shelf of shelves) {
    const files = await readdir(join(from, shelf));
    await makeShelf(join(objects, shelf), join(from, shelf));
    const move = (name: string) => rename(join(from, shelf, name), join(objects, shelf, name));
    // A pack is looked for by its index, which therefore comes last.
    await Promise.all(files.filter((name) => !isIndex(name)).map(move));
    await Promise.all(files.filter(isIndex).map(move));
  }
}

/** For whom git made its own: in a repository that is shared, others write there as well. */
async function makeShelf(shelf: string, like: string): Promise<void> {
  const made = await mkdir(shelf, { recursive: true });
  if (made !== undefined) await chmod(shelf, (await stat(like)).mode & 0o7777);
}

const isIndex = (name: string): boolean => name.endsWith(".idx");
