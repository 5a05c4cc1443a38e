import type { DurationMs, EpochMs } from "@rouse/contract";

export interface SnapshotRequest {
  readonly agentId: string;
  readonly incarnation: number;
  /** Same key: the same snapshot again, nothing taken twice. */
  readonly key: string;
  readonly folder: string;
  readonly reason: string;
  /** How long it may take. */
  readonly within?: DurationMs;
}

/**
 * A file of the work tree that a snapshot does not hold. For an unreadable tracked file it holds the last known
 * content; for a repository inside the work tree the commit it is at, if it has one.
 */
export interface LeftOut {
  readonly path: string;
  readonly because: "unreadable" | "own-repository" | "name-refused";
}

export interface Snapshot {
  readonly commit: string;
  readonly ref: string;
  /** Top of the work tree. */
  readonly folder: string;
  /** Differs from HEAD in this many files. */
  readonly changed: number;
  /** The first few of what it could not hold; `leftOutCount` counts them all. */
  readonly leftOut: readonly LeftOut[];
  readonly leftOutCount: number;
}

export type WorkspaceFault = "git-missing" | "git-failed" | "folder-gone" | "took-too-long";

export type SnapshotOutcome =
  | { readonly kind: "taken"; readonly snapshot: Snapshot }
  /** A folder without a work tree of git: there is nothing a snapshot could hold. */
  | { readonly kind: "nothing-to-save"; readonly because: "no-repository" }
  | { readonly kind: "failed"; readonly because: WorkspaceFault; readonly problem: string };

export interface SnapshotListing {
  readonly commit: string;
  readonly ref: string;
  readonly agentId: string;
  readonly incarnation: number;
  readonly reason: string;
  readonly time: EpochMs;
}

export type RestoreRefusal =
  | "no-repository"
  | "unknown-snapshot"
  | "target-not-empty"
  | "target-in-work-tree"
  | "would-lose-work";

/** `before`: what was there when it was restored in place. */
export type RestoreOutcome =
  | { readonly kind: "restored"; readonly folder: string; readonly before: Snapshot | null }
  | { readonly kind: "refused"; readonly because: RestoreRefusal; readonly problem: string }
  | {
      readonly kind: "failed";
      readonly because: WorkspaceFault;
      readonly problem: string;
      readonly before: Snapshot | null;
    };

/**
 * Keeps what an agent has not committed. The promises:
 * - A snapshot holds every file of the work tree that is not ignored, untracked ones included, on a ref of its own, so
 *   that git does not remove it as unused. It names the files it could not read.
 * - Taking one changes nothing a person works with: index, HEAD, branches, stash, reflogs and files stay as they are,
 *   and nothing that the repository configures is run: no hook, no filter, no program of any kind.
 * - It works in the middle of a merge or rebase, on no branch, before the first commit, and while somebody else's git
 *   holds the index.
 * - The same key for the same life gives the same snapshot. The newest 20 of an agent are kept.
 * - It ends within its deadline, whatever git does. What cannot be saved is an outcome, never a rejection.
 * - `list` rejects with a `Fault` when it could not look; a folder without a repository has an empty list.
 * - `restore` goes into a new folder, or `"in-place"`: then what is there is saved first, and ignored files, HEAD,
 *   branch and index stay. It is refused whenever it would overwrite what no snapshot holds.
 */
export interface Workspaces {
  snapshot(request: SnapshotRequest): Promise<SnapshotOutcome>;
  /** Newest first. */
  list(folder: string, agentId?: string): Promise<readonly SnapshotListing[]>;
  restore(commit: string, folder: string, to: string | "in-place"): Promise<RestoreOutcome>;
}

/** For a monitor that is simulated. */
export const noWorkspaces: Workspaces = {
  snapshot: async () => ({ kind: "nothing-to-save", because: "no-repository" }),
  list: async () => [],
  restore: async () => ({
    kind: "refused",
    because: "no-repository",
    problem: "this monitor keeps no snapshots of folders",
  }),
};
