import { printable } from "@rouse/contract";
import type { LeftOut, Snapshot, SnapshotRequest } from "../../ports/workspaces.ts";
import type { Repository } from "./find-repository.ts";
import { atEachGroup, atEachNul, commitAs, failed, GitFault, joinWithNuls } from "./run-git.ts";
import type { ScratchRepository } from "./scratch-repository.ts";
import { type KeptSnapshot, keepUnder, makeNote, nameRef, readSnapshots, thinOut, writeNote } from "./snapshot-refs.ts";
import { stageWorkTree } from "./stage-work-tree.ts";

const emptyTree = {
  sha1: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  sha256: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
} as const;

/** The snapshot that was taken under this key. */
export async function findTaken(repository: Repository, request: SnapshotRequest): Promise<Snapshot | null> {
  const ref = nameRef(request.agentId, request.incarnation, request.key);
  const [kept] = await readSnapshots(repository, ref);
  return kept === undefined ? null : describe(repository, kept);
}

/** Saves the work tree. `spare`: commits of this agent that must stay, however old they are. */
export async function takeSnapshot(
  repository: Repository,
  scratch: ScratchRepository,
  request: SnapshotRequest,
  spare: readonly string[] = [],
): Promise<Snapshot> {
  const head = await readHead(repository);
  const leftOut = await stageWorkTree(scratch, repository.top, head);
  const tree = await writeTree(scratch);
  const { changed, repositories } = await compare(scratch, head ?? emptyTree[repository.objectFormat], tree);
  const note = makeNote(request, changed, joinLists(leftOut, repositories));
  const commit = await writeCommit(scratch, tree, head, writeNote(note), note.time);
  await scratch.keepObjects();
  const ref = nameRef(request.agentId, request.incarnation, request.key);
  if ((await keepUnder(repository, ref, commit)) === "taken") {
    const earlier = await findTaken(repository, request);
    if (earlier !== null) return earlier;
    throw new GitFault("git-failed", `${ref} is there already, and is no snapshot`);
  }
  await thinOut(repository, request.agentId, [commit, ...spare]).catch(leaveForLater);
  return describe(repository, { ref, commit, note });
}

/** The snapshot counts even when older ones could not be removed; the next snapshot tries again. */
function leaveForLater(error: unknown): void {
  if (!(error instanceof GitFault)) throw error;
}

/** An untracked repository is in both lists. */
const joinLists = (...lists: readonly LeftOut[][]): LeftOut[] => [
  ...new Map(lists.flat().map((one) => [one.path, one])).values(),
];

const describe = ({ top }: Repository, { ref, commit, note }: KeptSnapshot): Snapshot => ({
  commit,
  ref,
  folder: top,
  changed: note.changed,
  leftOut: note.leftOut,
  leftOutCount: note.leftOutCount,
});

/** `null` before the first commit and when HEAD leads nowhere: then the files are all the more worth saving. */
async function readHead(repository: Repository): Promise<string | null> {
  const { status, output } = await repository.ask(["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]);
  return status === 0 ? output.toString("latin1").trim() : null;
}

async function writeTree(scratch: ScratchRepository): Promise<string> {
  // A partial clone lacks objects, which is no reason to save nothing.
  const args = ["write-tree", "--missing-ok"];
  const first = await scratch.tryGit(args);
  if (first.status === 0) return first.output.toString("latin1").trim();
  if (!(await settleConflicts(scratch))) throw failed(args, first);
  return (await scratch.git(args)).output.toString("latin1").trim();
}

/** A conflict whose file could not be read cannot be part of a tree: our side is taken. */
async function settleConflicts(scratch: ScratchRepository): Promise<boolean> {
  const sides = new Map<string, { readonly rank: number; readonly entry: Buffer }>();
  const take = (record: Buffer): void => {
    const [, mode = "", object = "", stage = "", path = ""] =
      /^(\d+) ([0-9a-f]+) (\d)\t(.*)$/s.exec(record.toString("latin1")) ?? [];
    const rank = "132".indexOf(stage);
    const known = sides.get(path);
    if (known !== undefined && known.rank > rank) return;
    sides.set(path, { rank, entry: Buffer.from(`${mode} ${object}\t${path}`, "latin1") });
  };
  await scratch.git(["ls-files", "-z", "--unmerged"], { onOutput: atEachNul(take) });
  const input = joinWithNuls([...sides.values()].map(({ entry }) => entry));
  if (sides.size > 0) await scratch.git(["update-index", "-z", "--index-info"], { input });
  return sides.size > 0;
}

/** How many files differ, and which repositories inside the work tree are new: only their commit is noted. */
async function compare(scratch: ScratchRepository, from: string, to: string) {
  const repositories: LeftOut[] = [];
  let changed = 0;
  const take = (change: Buffer, path: Buffer): void => {
    changed += 1;
    if (change.toString().startsWith(":000000 160000"))
      repositories.push({ path: printable(`${path.toString()}/`, 200), because: "own-repository" });
  };
  const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", from, to];
  await scratch.git(args, { onOutput: atEachGroup(2, take) });
  return { changed, repositories };
}

async function writeCommit(
  scratch: ScratchRepository,
  tree: string,
  head: string | null,
  message: string,
  time: number,
): Promise<string> {
  const environment = commitAs(`${Math.floor(time / 1000)} +0000`);
  const args = ["commit-tree", tree, ...(head === null ? [] : ["-p", head]), "-F", "-"];
  const { output } = await scratch.git(args, { input: message, environment });
  return output.toString("latin1").trim();
}
