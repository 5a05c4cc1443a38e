import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { printable } from "@rouse/contract";
import type { LeftOut } from "../../ports/workspaces.ts";
import { joinWithNuls } from "./nul-records.ts";
import { failed } from "./run-git.ts";
import type { ScratchRepository } from "./scratch-repository.ts";
import { sortDifferences } from "./sort-differences.ts";
import { type IndexSurvey, surveyIndex } from "./survey-index.ts";

const mostAttempts = 5;
/** Waiting for the disk costs several times the work itself. Of more files than this it is left to the system, as git does by default. */
const mostSynced = 1000;
const update = ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"];
const updateMany = ["-c", "core.fsync=committed,-loose-object", ...update];

/**
 * Brings the scratch index to what the work tree holds now. Returns what it cannot hold: that stays as it was in the index, or out.
 *
 * Not by `git add -A`: that one looks into submodules with a `git status` that obeys their own configuration, and gives up altogether when a file
 * goes away while it looks.
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
      return [...leftOut, ...refusedNames(answer.stderr)];
    }
    if (attempt === mostAttempts) throw failed(args, answer);
    // One file that is not in the encoding its attributes claim ends the whole run. Anything else may have changed while git read it.
    if (/encod/.test(answer.stderr)) await scratch.convertNothing();
  }
}

/** Git keeps no names that could be taken for its own folder, on whichever system. */
function refusedNames(stderr: string): LeftOut[] {
  const found = stderr.matchAll(/^Ignoring path (.*)$/gm);
  return [...found].map(([, path = ""]) => ({ path: printable(path, 200), because: "name-refused" as const }));
}

/** The index is missing or damaged: the last commit says what is tracked. */
async function startAfresh(scratch: ScratchRepository, top: string, head: string | null): Promise<IndexSurvey> {
  await rm(scratch.index, { force: true });
  if (head !== null) await scratch.git(["read-tree", head]);
  return (await surveyIndex(scratch, top)) ?? { trusted: [], unlooked: [] };
}

async function unmark(scratch: ScratchRepository, mark: string, paths: readonly Buffer[]): Promise<void> {
  if (paths.length > 0) await scratch.git(["update-index", mark, "-z", "--stdin"], { input: joinWithNuls(paths) });
}

/** By their commits. One that has none cannot be noted, which is no reason to fail. */
async function noteRepositories(scratch: ScratchRepository, paths: readonly Buffer[]): Promise<void> {
  if (paths.length === 0) return;
  const args = ["add", "--ignore-errors", "--no-warn-embedded-repo", "--pathspec-from-file=-", "--pathspec-file-nul"];
  await scratch.tryGit(args, { input: joinWithNuls(paths, ":(top,literal)") });
}
