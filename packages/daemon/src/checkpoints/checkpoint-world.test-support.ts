import {
  type Checkpoint,
  type EpochMs,
  Fault,
  hours,
  type MonoMs,
  type RouseEvent,
  type WorkspaceSnapshot,
} from "@rouse/contract";
import { systemTimers } from "../adapters/clock-system/system-clock.ts";
import { openMemoryStates } from "../adapters/states-memory/open-memory-states.ts";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { groupCommits } from "../engine/group-commit.ts";
import type { States } from "../ports/states.ts";
import type { SavedCheckpoint, Store } from "../ports/store.ts";
import { type CheckpointSpeaker, keepCheckpoints } from "./keep-checkpoints.ts";

export const somebody: CheckpointSpeaker = { agentId: "worker-1", incarnation: 1 };
export const task = "fix-42";

/** Too large for a row. */
export const largeState = (mark: string) => ({ mark, filling: "x".repeat(100_000) });

interface WorldOptions {
  readonly store?: Store;
  readonly states?: States;
}

/** Checkpoints on a store whose disk can be full or slow, with everything the monitor would give them. */
export async function openCheckpointWorld(options: WorldOptions = {}) {
  const disk = createMemoryDisk();
  const inner = options.store ?? (await openMemoryStore(disk));
  const folder = new Map<string, string>();
  const states = options.states ?? openMemoryStates(folder);
  let isFull = false;
  let gate: Promise<void> = Promise.resolve();
  let now: MonoMs = 0;
  let lastEventId = 0;
  const told: { checkpoint: Checkpoint; inDraft: boolean }[] = [];
  const refuse = { because: null as Fault | null };
  const workspace = { outcome: null as WorkspaceSnapshot | Fault | null, keys: [] as string[] };
  const store: Store = {
    ...inner,
    async commit(commit) {
      await gate;
      if (isFull) throw new Fault("store-unavailable", "disk full", { retryable: true });
      await inner.commit(commit);
    },
  };
  const none = () => undefined;
  let isBack: () => void = none;
  const commits = groupCommits(store, 0, systemTimers, { committed: none, wentDown: none, cameBack: () => isBack() });
  const readClock = () => ({ now, time: Date.UTC(2026, 1, 5, 12) + now });
  const checkpoints = keepCheckpoints({
    store,
    states,
    commits,
    readClock,
    saveEvents(events: readonly RouseEvent[], time: EpochMs, agentId: string | null) {
      for (const event of events) commits.draft().events.push({ id: ++lastEventId, time, agentId, event });
    },
    admit() {
      if (refuse.because !== null) throw refuse.because;
    },
    async takeSnapshot(_agentId, _incarnation, key) {
      workspace.keys.push(key);
      if (workspace.outcome instanceof Fault) throw workspace.outcome;
      return workspace.outcome;
    },
    newestOf: (taskId) => told.findLast(({ checkpoint }) => checkpoint.taskId === taskId)?.checkpoint.id ?? null,
    alsoInCommit(checkpoint) {
      told.push({ checkpoint, inDraft: commits.draft().checkpoints.some(({ id }) => id === checkpoint.id) });
    },
  });
  return {
    disk,
    store,
    states,
    /** The files, when they are in memory. */
    folder,
    commits,
    checkpoints,
    told,
    refuse,
    workspace,
    passes: (duration: number = hours(1)) => {
      now += duration;
    },
    now: () => now,
    fills: () => {
      isFull = true;
    },
    /** There is room again; resolves at the first moment at which commits are taken. */
    clears(): Promise<void> {
      isFull = false;
      return new Promise((resolve) => {
        isBack = resolve;
      });
    },
    /** Commits wait until the returned function is called. */
    stalls(): () => void {
      let open: () => void = none;
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
    save: async (step: number, more: object = {}, taskId = task) =>
      (await checkpoints.save(taskId, { step, state: { step }, ...more }, somebody)).checkpoint,
    events: async () => (await inner.readEvents({ limit: 1000 })).map(({ type, payload }) => ({ type, payload })),
    /** What somebody with a hand in the database could do. */
    replaceRow(id: string, change: Partial<SavedCheckpoint> | null) {
      const row = disk.checkpoints.get(id);
      if (row === undefined) throw new Error("no such row");
      const chain = disk.checkpointsOf.get(row.taskId) ?? [];
      disk.checkpoints.delete(id);
      const replaced = change === null ? [] : [{ ...row, ...change }];
      for (const one of replaced) disk.checkpoints.set(one.id, one);
      disk.checkpointsOf.set(
        row.taskId,
        chain.flatMap((one) => (one.id === id ? replaced : [one])),
      );
    },
  };
}

export type CheckpointWorld = Awaited<ReturnType<typeof openCheckpointWorld>>;

/** One turn of the event loop. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A commit is under way, and fails; the checkpoint waits for the next one and is refused with it. */
export async function refuseBehindCommit(world: CheckpointWorld, more: object = {}): Promise<void> {
  const release = world.stalls();
  world.fills();
  world.commits.draft().marks["busy"] = "1";
  const busy = faultOf(world.commits.saved());
  while (Object.keys(world.commits.draft().marks).length > 0) await turn();
  const refused = faultOf(world.save(1, more));
  while (world.told.length === 0) await turn();
  release();
  await Promise.all([busy, refused]);
}

/** The Fault a call ends in; a call that succeeds is a failure. */
export async function faultOf(call: Promise<unknown>): Promise<Fault> {
  const outcome = await call.then(
    () => "it succeeded",
    (error: unknown) => error,
  );
  if (outcome instanceof Fault) return outcome;
  throw outcome instanceof Error ? outcome : new Error(String(outcome));
}
