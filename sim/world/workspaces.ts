import { noWorkspaces, type SnapshotOutcome, type Workspaces } from "../../packages/daemon/src/ports/workspaces.ts";
import type { HeldActor } from "../actors/held-actor.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

const second = 1000;

/** Folders that can mostly be saved: some are under no version control, and now and then git fails for a while. */
export function createFolders(timeline: Timeline, random: Random, actors: ReadonlyMap<string, HeldActor>) {
  let failsUntil = 0;
  let taken = 0;
  const known = new Map<string, SnapshotOutcome>();

  function save(agentId: string, key: string): SnapshotOutcome {
    const before = known.get(key);
    if (before !== undefined) return before;
    if (actors.get(agentId)?.traits.repository !== true) return { kind: "nothing-to-save", because: "no-repository" };
    if (timeline.now() < failsUntil || random.chance(0.01))
      return { kind: "failed", because: "git-failed", problem: "the object store is read-only" };
    const commit = (++taken).toString(16).padStart(40, "0");
    const ref = `refs/rouse/${agentId}/${taken}`;
    const snapshot = { commit, ref, folder: `/work/${agentId}`, changed: 3, leftOut: [], leftOutCount: 0 };
    const outcome: SnapshotOutcome = { kind: "taken", snapshot };
    known.set(key, outcome);
    return outcome;
  }

  return {
    /** Whether everything that could be saved under this key is. */
    isSafe: (agentId: string, key: string): boolean =>
      actors.get(agentId)?.traits.repository !== true || known.get(key)?.kind === "taken",
    fail(lasts: number): void {
      failsUntil = timeline.now() + lasts;
    },
    portFor: (toMonitor: (callback: () => void) => void, isDead: () => boolean): Workspaces => ({
      ...noWorkspaces,
      snapshot: ({ agentId, key }) =>
        new Promise((resolve) => {
          if (isDead()) return;
          const takes = random.chance(0.05) ? random.between(5 * second, 25 * second) : random.between(50, 2 * second);
          timeline.after(takes, () => {
            const outcome = save(agentId, key);
            toMonitor(() => resolve(outcome));
          });
        }),
    }),
  };
}

export type Folders = ReturnType<typeof createFolders>;
