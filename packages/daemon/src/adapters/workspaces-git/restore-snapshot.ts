import { randomUUID } from "node:crypto";
import { lstat, readdir, realpath, rm } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { printable } from "@rouse/contract";
import type { RestoreOutcome, RestoreRefusal, Snapshot } from "../../ports/workspaces.ts";
import type { Repository } from "./find-repository.ts";
import { atEachGroup, failed, GitFault, pathIn } from "./run-git.ts";
import type { ScratchRepository } from "./scratch-repository.ts";
import { readNote, type SnapshotNote } from "./snapshot-refs.ts";
import { takeSnapshot } from "./take-snapshot.ts";

export function refuse(because: RestoreRefusal, problem: string): RestoreOutcome {
  return { kind: "refused", because, problem };
}

/** The note in a snapshot's commit; `null` when there is no such commit or it is not one of ours. */
export async function readSnapshotNote(repository: Repository, commit: string): Promise<SnapshotNote | null> {
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit)) return null;
  const { status, output } = await repository.ask(["cat-file", "commit", commit]);
  return status === 0 ? readNote(output.toString("utf8")) : null;
}

/** Writes the files of a snapshot into a work tree of their own, on no branch. */
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

  // Git only adds the work tree; the files are written from the scratch repository, where no filter or hook can run.
  const args = ["worktree", "add", "--detach", "--no-checkout", target, commit];
  const made = await repository.ask(args);
  if (made.status !== 0) throw failed(args, made);
  const gitDir = await gitDirOf(repository, target);
  try {
    const environment = { GIT_WORK_TREE: target, GIT_INDEX_FILE: join(gitDir, "index") };
    await scratch.git(["read-tree", "-m", "-u", commit], { cwd: target, environment });
  } catch (error) {
    // Not removed by git: its deadline may have passed.
    for (const half of [target, gitDir]) await rm(half, { recursive: true, force: true });
    throw error;
  }
  return { kind: "restored", folder: target, before: null };
}

/** The path with the links above it resolved, so that a link into the work tree is noticed. */
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

/** Saves what is there, then writes only what differs from it: git refuses when something has changed in between. */
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
  // Without a refresh git takes a file with a new time for changed, even with the same content.
  await scratch.tryGit(["update-index", "-q", "--refresh"]);
  const args = ["read-tree", "-m", "-u", before.commit, commit];
  const answer = await scratch.tryGit(args);
  if (answer.status === 0) return { kind: "restored", folder: top, before };
  if (/would be (?:overwritten|removed)|not uptodate|would lose untracked/i.test(answer.stderr))
    return refuse("would-lose-work", `${failed(args, answer).message}; nothing was changed`);
  throw failed(args, answer);
}

/**
 * The first file in the work tree that would be overwritten though neither snapshot holds it, usually an ignored one.
 * Git overwrites those without asking. `null`: nothing is in the way.
 */
async function findInTheWay(scratch: ScratchRepository, top: string, from: string, to: string): Promise<string | null> {
  const { added, removed } = await compareNames(scratch, from, to);
  for (const path of added) {
    const blocking = await whatBlocks(top, path, removed);
    if (blocking !== null) return printable(Buffer.from(blocking, "latin1").toString("utf8"), 200);
  }
  return null;
}

/** Names as latin1: each byte is one character, so that none is lost. */
async function compareNames(scratch: ScratchRepository, from: string, to: string) {
  const added: string[] = [];
  const removed = new Set<string>();
  const take = (status: Buffer, name: Buffer): void => {
    if (status.toString() === "A") added.push(name.toString("latin1"));
    if (status.toString() === "D") removed.add(name.toString("latin1"));
  };
  const args = ["diff-tree", "-r", "-z", "--name-status", "--no-renames", from, to];
  await scratch.git(args, { onOutput: atEachGroup(2, take) });
  return { added, removed };
}

async function whatBlocks(top: string, path: string, removed: ReadonlySet<string>): Promise<string | null> {
  // Looks upwards to the first thing that is there: a folder above the file does not block it.
  for (let at = path; at !== "."; at = dirname(at)) {
    const found = await lstat(bytes(top, at)).catch(() => null);
    if (found === null) continue;
    if (!found.isDirectory()) return removed.has(at) ? null : at;
    return at === path ? firstUnsaved(top, at, removed) : null;
  }
  return null;
}

/** A folder may be replaced only when every file in it is removed. */
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
