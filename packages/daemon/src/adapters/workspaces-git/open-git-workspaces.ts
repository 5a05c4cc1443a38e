import { tmpdir } from "node:os";
import { type DurationMs, Fault, type FaultCode, printable, seconds } from "@rouse/contract";
import type {
  RestoreOutcome,
  SnapshotListing,
  SnapshotOutcome,
  SnapshotRequest,
  WorkspaceFault,
  Workspaces,
} from "../../ports/workspaces.ts";
import { findRepository, type Repository } from "./find-repository.ts";
import { readSnapshotNote, refuse, restoreBeside, restoreInPlace } from "./restore-snapshot.ts";
import { type Git, GitFault } from "./run-git.ts";
import { makeScratch, type ScratchRepository } from "./scratch-repository.ts";
import { allRefs, nameRef, readSnapshots, refsOf } from "./snapshot-refs.ts";
import { findTaken, takeSnapshot } from "./take-snapshot.ts";

export interface GitWorkspacesOptions {
  /** Where an index is copied to while it is worked on: a disk with room, in a place that agents do not use. */
  readonly scratch?: string;
  /** How long a snapshot may take by default. Restoring writes every file and may take ten times as long. */
  readonly deadline?: DurationMs;
  readonly program?: string;
}

/** Node's longest timer; one that is asked for more fires at once. */
const longest: DurationMs = 2 ** 31 - 1;

/** Snapshots as commits on references below refs/rouse/, made by the git that is installed. */
export function openGitWorkspaces(options: GitWorkspacesOptions = {}): Workspaces {
  const { scratch: place = tmpdir(), deadline = seconds(30), program = "git" } = options;
  const begin = (within: DurationMs): Git => ({
    program,
    deadline: AbortSignal.timeout(Math.min(Math.ceil(within), longest)),
  });
  /** Snapshots being taken, by folder and ref: two requests at once share one snapshot. */
  const underWay = new Map<string, Promise<SnapshotOutcome>>();

  async function withScratch<T>(
    repository: Repository,
    git: Git,
    use: (scratch: ScratchRepository) => Promise<T>,
  ): Promise<T> {
    const scratch = await makeScratch(place, repository, git);
    try {
      return await use(scratch);
    } finally {
      // What cannot be removed now is swept later; the snapshot has not failed.
      await scratch.remove().catch(() => {});
    }
  }

  async function take(request: SnapshotRequest): Promise<SnapshotOutcome> {
    const git = begin(request.within ?? deadline);
    const repository = await findRepository(request.folder, git);
    if (repository === null) return { kind: "nothing-to-save", because: "no-repository" };
    const snapshot =
      (await findTaken(repository, request)) ??
      (await withScratch(repository, git, (scratch) => takeSnapshot(repository, scratch, request)));
    return { kind: "taken", snapshot };
  }

  async function restore(commit: string, folder: string, to: string): Promise<RestoreOutcome> {
    const git = begin(deadline * 10);
    const repository = await findRepository(folder, git);
    if (repository === null) return refuse("no-repository", `${printable(folder)} is not under git`);
    const note = await readSnapshotNote(repository, commit);
    if (note === null)
      return refuse(
        "unknown-snapshot",
        `there is no snapshot ${printable(commit, 100)} in ${printable(repository.top)}`,
      );
    return withScratch(repository, git, (scratch) =>
      to === "in-place"
        ? restoreInPlace(repository, scratch, commit, note)
        : restoreBeside(repository, scratch, commit, to),
    );
  }

  return {
    snapshot(request) {
      const name = `${request.folder}\0${nameRef(request.agentId, request.incarnation, request.key)}`;
      const known = underWay.get(name);
      if (known !== undefined) return known;
      const taking = take(request)
        .catch((error: unknown) => ({ kind: "failed" as const, ...describeFault(error) }))
        .finally(() => underWay.delete(name));
      underWay.set(name, taking);
      return taking;
    },
    async list(folder, agentId) {
      try {
        return await listIn(await findRepository(folder, begin(deadline)), agentId);
      } catch (error) {
        const { because, problem } = describeFault(error);
        throw new Fault(faultOf[because], problem, { retryable: because === "took-too-long", cause: error });
      }
    },
    restore: (commit, folder, to) =>
      restore(commit, folder, to).catch((error: unknown) => ({
        kind: "failed",
        ...describeFault(error),
        before: null,
      })),
  };
}

async function listIn(repository: Repository | null, agentId: string | undefined): Promise<SnapshotListing[]> {
  if (repository === null) return [];
  const kept = await readSnapshots(repository, agentId === undefined ? allRefs : refsOf(agentId));
  return kept
    .filter(({ note }) => agentId === undefined || note.agentId === agentId)
    .map(({ commit, ref, note }) => ({
      commit,
      ref,
      agentId: note.agentId,
      incarnation: note.incarnation,
      reason: note.reason,
      time: note.time,
    }));
}

const faultOf: Record<WorkspaceFault, FaultCode> = {
  "git-missing": "command-not-found",
  "git-failed": "internal",
  "folder-gone": "folder-gone",
  "took-too-long": "internal",
};

/** A system error, such as a full disk or a folder removed meanwhile, counts as a failure of git. */
function describeFault(error: unknown): { because: WorkspaceFault; problem: string } {
  if (error instanceof GitFault) return { because: error.because, problem: error.message };
  if (error instanceof Error && "syscall" in error) return { because: "git-failed", problem: error.message };
  throw error;
}
