import { randomUUID } from "node:crypto";
import { readdir, realpath, rm } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { printable } from "@rouse/contract";
import type { RestoreOutcome, RestoreRefusal, Snapshot } from "../../ports/workspaces.ts";
import { findInTheWay } from "./find-in-the-way.ts";
import type { Repository } from "./find-repository.ts";
import { failed, GitFault } from "./run-git.ts";
import type { ScratchRepository } from "./scratch-repository.ts";
import { readNote, type SnapshotNote } from "./snapshot-note.ts";
import { takeSnapshot } from "./take-snapshot.ts";

export function refuse(because: RestoreRefusal, problem: string): RestoreOutcome {
  return { kind: "refused", because, problem };
}

/** What is said in the commit itself. `null`: there is none of that name, or it is not one of ours. */
export async function readSnapshotNote(repository: Repository, commit: string): Promise<SnapshotNote | null> {
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) return null;
  const { status, output } = await repository.ask(["cat-file", "commit", commit]);
  return status === 0 ? readNote(output.toString("utf8")) : null;
}

/** A work tree of its own, on no branch, holding the files of the snapshot. */
export async function restoreBeside(
  repository: Repository,
  scratch: ScratchRepository,
  commit: string,
  to: string,
): Promise<RestoreOutcome> {
  const target = await placeOf(to);
  const inside = relative(repository.top, target);
  if (inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside))
    return refuse(
      "target-in-work-tree",
      `${printable(target)} is inside the work tree that the snapshot was taken from`,
    );
  const there = await readdir(target).catch((error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? [] : null));
  if (there === null) return refuse("target-not-empty", `${printable(target)} is there and is not an empty folder`);
  if (there.length > 0) return refuse("target-not-empty", `${printable(target)} is there and is not empty`);

  // Git only makes the place; the files are written from the scratch repository, where no filter and no hook can run.
  const args = ["worktree", "add", "--detach", "--no-checkout", target, commit];
  const made = await repository.ask(args);
  if (made.status !== 0) throw failed(args, made);
  const gitDir = await gitDirOf(repository, target);
  try {
    const environment = { GIT_WORK_TREE: target, GIT_INDEX_FILE: join(gitDir, "index") };
    await scratch.git(["read-tree", "-m", "-u", commit], { cwd: target, environment });
  } catch (error) {
    // Not by git: the time for it may be over.
    for (const half of [target, gitDir]) await rm(half, { recursive: true, force: true });
    throw error;
  }
  return { kind: "restored", folder: target, before: null };
}

/** With the links above it resolved, so that a detour into the work tree is noticed. */
async function placeOf(to: string): Promise<string> {
  const wanted = resolve(to);
  const real = await realpath(wanted).catch(() => null);
  if (real !== null || dirname(wanted) === wanted) return real ?? wanted;
  return join(await placeOf(dirname(wanted)), basename(wanted));
}

async function gitDirOf(repository: Repository, target: string): Promise<string> {
  const args = [`--git-dir=${join(target, ".git")}`, "rev-parse", "--absolute-git-dir"];
  const answer = await repository.ask(args);
  if (answer.status !== 0) throw failed(args, answer);
  return answer.output.toString("utf8").replace(/\n$/, "");
}

/** What is there is saved, and then only what differs from it is written: whatever changed in between makes git refuse. */
export async function restoreInPlace(
  repository: Repository,
  scratch: ScratchRepository,
  commit: string,
  note: SnapshotNote,
): Promise<RestoreOutcome> {
  const reason = `before ${commit.slice(0, 12)} was restored in place`;
  const { agentId, incarnation } = note;
  const request = { agentId, incarnation, key: randomUUID(), folder: repository.top, reason };
  const before = await takeSnapshot(repository, scratch, request, [commit]);
  const inTheWay = await findInTheWay(scratch, repository.top, before.commit, commit);
  if (inTheWay !== null)
    return refuse("would-lose-work", `${inTheWay} is in the way, and no snapshot holds it; nothing was changed`);
  try {
    return await overwrite(repository, scratch, before, commit);
  } catch (error) {
    if (!(error instanceof GitFault)) throw error;
    const problem = `${error.message}; what was there is saved as ${before.commit}`;
    return { kind: "failed", because: error.because, problem, before };
  }
}

async function overwrite(
  { top }: Repository,
  scratch: ScratchRepository,
  before: Snapshot,
  commit: string,
): Promise<RestoreOutcome> {
  // A file that was only touched is not changed, but git looks no further than its time.
  await scratch.tryGit(["update-index", "-q", "--refresh"]);
  const args = ["read-tree", "-m", "-u", before.commit, commit];
  const answer = await scratch.tryGit(args);
  if (answer.status === 0) return { kind: "restored", folder: top, before };
  if (/would be (?:overwritten|removed)|not uptodate|would lose untracked/i.test(answer.stderr))
    return refuse("would-lose-work", `${failed(args, answer).message}; nothing was changed`);
  throw failed(args, answer);
}
