import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "@rouse/contract";
import type { States } from "../../ports/states.ts";

/** Where a state is written before it has its name. */
const halfWritten = "new";
const isShelf = (name: string): boolean => /^[0-9a-f]{2}$/.test(name);
const isHash = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/** One file per state, `states/ab/abcd…` in the data folder, for its owner only. */
export async function openFileStates(home: string): Promise<States> {
  const folder = join(home, "states");
  const inFolder = async <T>(what: string, use: () => Promise<T>): Promise<T> => {
    try {
      return await use();
    } catch (error) {
      throw nameFault(folder, what, error);
    }
  };
  const shelfOf = (stateHash: string): string => join(folder, stateHash.slice(0, 2));
  const fileOf = (stateHash: string): string => {
    if (!isHash(stateHash)) throw new Error("a state is named by its hash");
    return join(shelfOf(stateHash), stateHash);
  };
  // A state that was half-written when the daemon died was never reported as saved.
  await inFolder("used", () => rm(join(folder, halfWritten), { recursive: true, force: true }));

  return {
    put: (stateHash, canonicalJson) =>
      inFolder("written", async () => {
        const file = fileOf(stateHash);
        for (const each of [folder, join(folder, halfWritten), shelfOf(stateHash)]) await makeFolder(each);
        await writeWhole(join(folder, halfWritten, randomUUID()), file, canonicalJson);
        await sync(shelfOf(stateHash));
      }),
    get: (stateHash) => inFolder("read", () => ifThere(readFile(fileOf(stateHash), "utf8"), null)),
    remove: (stateHash) => inFolder("removed", () => rm(fileOf(stateHash), { force: true })),
    list: (after, limit) => inFolder("listed", () => listFrom(folder, after, limit)),
  };
}

async function makeFolder(folder: string): Promise<void> {
  const made = await mkdir(folder, { mode: 0o700 }).then(() => true, ifExists);
  if (made === true) await sync(dirname(folder));
}

/** Syncs a file before it gets its name, so that it is whole whenever it is there, also after a power cut. */
async function writeWhole(temporary: string, file: string, text: string): Promise<void> {
  try {
    await writeFile(temporary, text, { flag: "wx", mode: 0o600, flush: true });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** A new name in a folder is on the disk only after the folder is synced. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function listFrom(folder: string, after: string | null, limit: number): Promise<string[]> {
  const shelves = (await ifThere(readdir(folder), [])).filter(isShelf).sort();
  const found: string[] = [];
  for (const shelf of shelves) {
    if (after !== null && shelf < after.slice(0, 2)) continue;
    const names = (await ifThere(readdir(join(folder, shelf)), [])).filter(isHash).sort();
    for (const name of names) {
      if (after === null || name > after) found.push(name);
      if (found.length === limit) return found;
    }
  }
  return found;
}

async function ifThere<T, U>(reading: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await reading;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return otherwise;
    throw error;
  }
}

function ifExists(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

function nameFault(folder: string, what: string, error: unknown): unknown {
  if (!(error instanceof Error && "syscall" in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  const reason = code === "ENOSPC" ? "the disk is full" : code;
  const message = `states of checkpoints in ${folder} cannot be ${what} for now: ${reason}`;
  return new Fault("store-unavailable", message, { retryable: true, cause: error });
}
