import { closeSync, constants, openSync } from "node:fs";
import { setImmediate as breathe } from "node:timers/promises";
import { printable } from "@rouse/contract";
import type { LeftOut } from "../../ports/workspaces.ts";
import { atEachNul } from "./nul-records.ts";
import type { ScratchRepository } from "./scratch-repository.ts";
import { pathIn, statPath } from "./stat-path.ts";

export interface Differences {
  /** Files to be taken as they are, or to be taken out because they are gone. */
  readonly takeable: readonly Buffer[];
  /** Repositories inside the work tree that nobody made submodules. */
  readonly repositories: readonly Buffer[];
  readonly leftOut: LeftOut[];
}

/** Looking at files stops everything else for a moment; after this many the others get theirs. */
const atOnce = 500;
const slash = "/".charCodeAt(0);

/** Where work tree and index differ, and what can be done about it. One file that cannot be read would make git refuse all of them. */
export async function sortDifferences(scratch: ScratchRepository, top: string): Promise<Differences> {
  const found = new Map<string, Buffer>();
  const take = (record: Buffer): void => void found.set(record.toString("latin1"), Buffer.from(record));
  const args = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"];
  const { stderr } = await scratch.git(args, { onOutput: atEachNul(take) });

  const folders: Buffer[] = [];
  const files: Buffer[] = [];
  const repositories: Buffer[] = [];
  const leftOut = unreadableFolders(stderr);
  let looked = 0;
  for (const path of found.values()) {
    const name = printable(path.toString("utf8"), 200);
    const kind = path.at(-1) === slash ? "repository" : lookAt(pathIn(top, path));
    switch (kind) {
      case "repository":
        repositories.push(path);
        leftOut.push({ path: name, because: "own-repository" });
        break;
      case "folder":
        folders.push(path);
        break;
      case "file":
        files.push(path);
        break;
      case "unreadable":
        leftOut.push({ path: name, because: "unreadable" });
    }
    if (++looked % atOnce === 0) await breathe();
  }
  // A folder where a file was: the file has to go before what is inside can come.
  return { takeable: [...folders, ...files], repositories, leftOut };
}

/** Opened for a try: permission alone does not tell. Pipes and the like are not even tried; what is gone is taken as gone. */
function lookAt(path: Buffer): "folder" | "file" | "unreadable" {
  try {
    const found = statPath(path);
    if (found === null || found.isSymbolicLink()) return "file";
    if (found.isDirectory()) return "folder";
    if (!found.isFile()) return "unreadable";
    closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW));
    return "file";
  } catch {
    return "unreadable";
  }
}

function unreadableFolders(stderr: string): LeftOut[] {
  const found = stderr.matchAll(/^warning: could not open directory '(.*)'/gm);
  return [...found].map(([, path = ""]) => ({ path: printable(path, 200), because: "unreadable" as const }));
}
