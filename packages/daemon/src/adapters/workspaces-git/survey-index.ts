import { dirname } from "node:path";
import { atEachNul } from "./nul-records.ts";
import type { ScratchRepository } from "./scratch-repository.ts";
import { pathIn, statPath } from "./stat-path.ts";

/** Entries of the index that git was told to look away from. Paths are bytes: nobody promised that they are text. */
export interface IndexSurvey {
  /** Taken for unchanged without a look. */
  readonly trusted: readonly Buffer[];
  /** Taken for absent, and there all the same. */
  readonly unlooked: readonly Buffer[];
}

const ordinary = "H".charCodeAt(0);

/** `null` when the index cannot be read. */
export async function surveyIndex(scratch: ScratchRepository, top: string): Promise<IndexSurvey | null> {
  const trusted: Buffer[] = [];
  const unlooked: Buffer[] = [];
  const isThere = presenceUnder(top);

  // TAG SP PATH
  const take = (record: Buffer): void => {
    if (record[0] === ordinary) return;
    const tag = String.fromCharCode(record[0] ?? 0);
    const path = Buffer.from(record.subarray(2));
    if (tag !== tag.toUpperCase()) trusted.push(path);
    if (tag.toUpperCase() === "S" && isThere(path)) unlooked.push(path);
  };
  const answer = await scratch.tryGit(["ls-files", "-z", "-v"], { onOutput: atEachNul(take) });
  return answer.status === 0 ? { trusted, unlooked } : null;
}

/** Of a sparse checkout whole folders are missing: one look at a folder answers for all its files. */
function presenceUnder(top: string): (path: Buffer) => boolean {
  const folders = new Map<string, boolean>([[".", true]]);
  const isThere = (path: string): boolean => statPath(pathIn(top, Buffer.from(path, "latin1"))) !== null;
  const isFolderThere = (folder: string): boolean => {
    const known = folders.get(folder);
    if (known !== undefined) return known;
    const there = isFolderThere(dirname(folder)) && isThere(folder);
    folders.set(folder, there);
    return there;
  };
  return (bytes) => {
    const path = bytes.toString("latin1");
    return isFolderThere(dirname(path)) && isThere(path);
  };
}
