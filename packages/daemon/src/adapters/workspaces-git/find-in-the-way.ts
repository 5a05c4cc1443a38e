import { lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { printable } from "@rouse/contract";
import { atEachNul } from "./nul-records.ts";
import type { ScratchRepository } from "./scratch-repository.ts";
import { pathIn } from "./stat-path.ts";

/**
 * The first thing in the work tree that would be overwritten though neither snapshot holds it: an ignored file, usually. Git itself thinks nothing of
 * overwriting those. `null`: the way is free.
 */
export async function findInTheWay(
  scratch: ScratchRepository,
  top: string,
  from: string,
  to: string,
): Promise<string | null> {
  const { added, removed } = await compareNames(scratch, from, to);
  for (const path of added) {
    const blocking = await whatBlocks(top, path, removed);
    if (blocking !== null) return printable(Buffer.from(blocking, "latin1").toString("utf8"), 200);
  }
  return null;
}

/** Names as latin1: each byte one character, so that none is lost. */
async function compareNames(scratch: ScratchRepository, from: string, to: string) {
  const added: string[] = [];
  const removed = new Set<string>();
  let status: string | null = null;
  const take = (record: Buffer): void => {
    const text = record.toString("latin1");
    if (status === null) {
      status = text;
      return;
    }
    if (status === "A") added.push(text);
    if (status === "D") removed.add(text);
    status = null;
  };
  await scratch.git(["diff-tree", "-r", "-z", "--name-status", "--no-renames", from, to], {
    onOutput: atEachNul(take),
  });
  return { added, removed };
}

async function whatBlocks(top: string, path: string, removed: ReadonlySet<string>): Promise<string | null> {
  // Upwards to what is there: a folder that leads to the file does not block it.
  for (let at = path; at !== "."; at = dirname(at)) {
    const found = await lstat(bytes(top, at)).catch(() => null);
    if (found === null) continue;
    if (!found.isDirectory()) return removed.has(at) ? null : at;
    return at === path ? firstUnsaved(top, at, removed) : null;
  }
  return null;
}

/** A folder goes only when every file in it is one that goes. */
async function firstUnsaved(top: string, folder: string, removed: ReadonlySet<string>): Promise<string | null> {
  if (removed.has(folder)) return folder;
  for (const entry of await readdir(bytes(top, folder), { withFileTypes: true, encoding: "latin1" })) {
    const path = join(folder, entry.name);
    if (!entry.isDirectory() && !removed.has(path)) return path;
    const inside = entry.isDirectory() ? await firstUnsaved(top, path, removed) : null;
    if (inside !== null) return inside;
  }
  return null;
}

const bytes = (top: string, path: string): Buffer => pathIn(top, Buffer.from(path, "latin1"));
