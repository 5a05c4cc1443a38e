import { closeSync, constants, existsSync, lstatSync, openSync, type Stats } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setImmediate as breathe } from "node:timers/promises";
import { printable } from "@rouse/contract";
import type { LeftOut } from "../../ports/workspaces.ts";
import { atEachNul, failed, joinWithNuls, pathIn } from "./run-git.ts";
import type { ScratchRepository } from "./scratch-repository.ts";

const mostAttempts = 5;
/** Up to so many files are synced to disk, which costs several times the work itself; more are left to the system. */
const mostSynced = 1000;
const update = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
const updateMany = ["-c", "core.fsync=committed,-loose-object", ...update];

/**
 * Brings the scratch index to what the work tree holds now. Returns what the index cannot hold: that stays as it was in
 * the index, or out of it.
 *
 * `git add -A` is not used: it looks into submodules with a `git status` that obeys their own configuration, and gives
 * up altogether when a file goes away while it looks.
 */
export async function stageWorkTree(scratch: ScratchRepository, top: string, head: string | null): Promise<LeftOut[]> {
  const known = existsSync(scratch.index) ? await surveyIndex(scratch, top) : null;
  const survey = known ?? (await startAfresh(scratch, top, head));
  await unmark(scratch, "--no-assume-unchanged", survey.trusted);
  await unmark(scratch, "--no-skip-worktree", survey.unlooked);

  for (let attempt = 1; ; attempt++) {
    const { takeable, repositories, leftOut } = await sortDifferences(scratch, top);
    const args = takeable.length > mostSynced ? updateMany : update;
    const answer = await scratch.tryGit(args, { input: joinWithNuls(takeable) });
    if (answer.status === 0) {
      await noteRepositories(scratch, repositories);
      return [...leftOut, ...namesIn(answer.stderr, /^Ignoring path (.*)$/gm, "name-refused")];
    }
    if (attempt === mostAttempts) throw failed(args, answer);
    // One file that is not in the encoding its attributes claim ends the whole run. Other failures are tried again: the
    // file may have changed while git read it.
    if (/encod/.test(answer.stderr)) await scratch.convertNothing();
  }
}

const leaveOut = (path: string, because: LeftOut["because"]): LeftOut => ({ path: printable(path, 200), because });

const namesIn = (stderr: string, pattern: RegExp, because: LeftOut["because"]): LeftOut[] =>
  [...stderr.matchAll(pattern)].map(([, path = ""]) => leaveOut(path, because));

/** The index is missing or damaged: the last commit says what is tracked. */
async function startAfresh(scratch: ScratchRepository, top: string, head: string | null): Promise<IndexSurvey> {
  await rm(scratch.index, { force: true });
  if (head !== null) await scratch.git(["read-tree", head]);
  return (await surveyIndex(scratch, top)) ?? { trusted: [], unlooked: [] };
}

async function unmark(scratch: ScratchRepository, mark: string, paths: readonly Buffer[]): Promise<void> {
  if (paths.length > 0) await scratch.git(["update-index", mark, "-z", "--stdin"], { input: joinWithNuls(paths) });
}

/** Notes each repository by its commit. One without a commit cannot be noted, which is no reason to fail. */
async function noteRepositories(scratch: ScratchRepository, paths: readonly Buffer[]): Promise<void> {
  if (paths.length === 0) return;
  const args = ["add", "--ignore-errors", "--no-warn-embedded-repo", "--pathspec-from-file=-", "--pathspec-file-nul"];
  await scratch.tryGit(args, { input: joinWithNuls(paths, ":(top,literal)") });
}

/** Entries of the index that git was told not to look at. */
interface IndexSurvey {
  /** Marked `assume-unchanged`. */
  readonly trusted: readonly Buffer[];
  /** Marked `skip-worktree`, though the file is there. */
  readonly unlooked: readonly Buffer[];
}

const ordinary = "H".charCodeAt(0);

/** `null` when the index cannot be read. */
async function surveyIndex(scratch: ScratchRepository, top: string): Promise<IndexSurvey | null> {
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

/** A sparse checkout lacks whole folders: one look at a folder answers for all its files. */
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

/** Looking at files blocks the event loop; after so many it gets a turn. */
const atOnce = 500;
const slash = "/".charCodeAt(0);

/**
 * Where work tree and index differ, and what can be done about it. One file that cannot be read would make git refuse
 * all of them. `repositories` lie inside the work tree, and nobody made them submodules.
 */
async function sortDifferences(scratch: ScratchRepository, top: string) {
  const found = new Map<string, Buffer>();
  const take = (record: Buffer): void => void found.set(record.toString("latin1"), Buffer.from(record));
  const args = ["ls-files", "-z", "--modified", "--others", "--exclude-standard"];
  const { stderr } = await scratch.git(args, { onOutput: atEachNul(take) });

  const folders: Buffer[] = [];
  const files: Buffer[] = [];
  const repositories: Buffer[] = [];
  const leftOut = namesIn(stderr, /^warning: could not open directory '(.*)'/gm, "unreadable");
  let looked = 0;
  for (const path of found.values()) {
    const kind = path.at(-1) === slash ? "own-repository" : lookAt(pathIn(top, path));
    if (kind === "folder") folders.push(path);
    else if (kind === "file") files.push(path);
    else leftOut.push(leaveOut(path.toString("utf8"), kind));
    if (kind === "own-repository") repositories.push(path);
    if (++looked % atOnce === 0) await breathe();
  }
  // A folder where a file was: the file has to go before what is inside can come.
  return { takeable: [...folders, ...files], repositories, leftOut };
}

/**
 * A file is opened, because its mode alone does not tell whether it can be read. Pipes and the like are not opened. A
 * file that is gone counts as one: git then takes it out of the index.
 */
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

/** `null` when it is not there, or cannot be because a file is where its folder was. */
function statPath(path: Buffer): Stats | null {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw error;
  }
}
