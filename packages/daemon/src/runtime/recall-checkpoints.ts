import {
  type Checkpoint,
  type CheckpointList,
  type CheckpointVerdict,
  Fault,
  Id,
  type RecoveryContext,
} from "@rouse/contract";
import { chooseCheckpoint, isUsable } from "@rouse/core";
import type { States } from "../ports/states.ts";
import type { Store } from "../ports/store.ts";
import { type CheckedCheckpoint, checkAlone, checkChain, checkParent } from "./check-checkpoints.ts";
import { readHead } from "./checkpoint-head.ts";

/** One look at a chain holds its small states, 64 kB each, in memory. */
const mostVerified = 1000;
/** Nearly always the newest is right: only when it is not, further ones are read, and not without end. */
const looks = [1, 10, 50, 200];

export interface RecallParts {
  readonly store: Pick<Store, "readCheckpoints" | "findCheckpoint">;
  readonly states: Pick<States, "get">;
}

/** What a replacement goes on with; where its state is written down is decided by whoever starts it. */
export interface WayBack {
  readonly context: Omit<RecoveryContext, "stateFile">;
  /** Canonical JSON; `null` when the task starts over. */
  readonly state: string | null;
}

export function recallCheckpoints(parts: RecallParts) {
  const { store } = parts;

  /** Newest first; one whose head cannot be read is found by `verify` only. */
  async function list(taskId: string, limit: number): Promise<CheckpointList> {
    refuseName(taskId);
    const saved = await store.readCheckpoints(taskId, limit);
    return { taskId, checkpoints: saved.flatMap((one) => readHead(one).checkpoint ?? []) };
  }

  /** One checkpoint and its state as canonical JSON. One that is not what was saved is not given out. */
  async function show(id: string): Promise<{ readonly checkpoint: Checkpoint; readonly state: string }> {
    const saved = await store.findCheckpoint(id);
    if (saved === null) throw new Fault("checkpoint-unknown", "there is no checkpoint of that id");
    const { checkpoint, flaws, state } = await checkAlone(parts, saved);
    if (checkpoint !== null && state !== null) return { checkpoint, state };
    throw new Fault(
      "database-damaged",
      `checkpoint ${id} is not as it was saved (${flaws.join(", ")}); \`rouse checkpoints verify ${saved.taskId}\` shows which are`,
    );
  }

  async function verify(taskId: string): Promise<CheckpointVerdict> {
    refuseName(taskId);
    const saved = await store.readCheckpoints(taskId, mostVerified + 1);
    const more = saved.length > mostVerified;
    const checks = await checkChain(parts, saved.slice(0, mostVerified));
    return { taskId, sound: checks.every(({ flaws }) => flaws.length === 0), checks, more };
  }

  /** From where a task goes on. */
  async function contextFor(
    taskId: string | null,
    why: { readonly reason: string; readonly attempt: number },
  ): Promise<WayBack> {
    const { links, olderUnread } = taskId === null ? { links: [], olderUnread: false } : await lookBack(taskId);
    const { checkpoint, lost } = chooseCheckpoint(links, olderUnread);
    const { id = null, step = null, stepName = null, workspace = null } = checkpoint ?? {};
    const state = links.find((link) => link.checkpoint === checkpoint)?.state ?? null;
    return { context: { taskId, checkpoint: id, step, stepName, ...why, lost, workspace }, state };
  }

  /** From the newest on until one is right. */
  async function lookBack(taskId: string): Promise<{ links: CheckedCheckpoint[]; olderUnread: boolean }> {
    const links: CheckedCheckpoint[] = [];
    for (const limit of looks) {
      const saved = await store.readCheckpoints(taskId, limit);
      for (const one of saved.slice(links.length)) {
        const link = await checkAlone(parts, one);
        const flaws = [...link.flaws, ...(await checkParent(parts, link))];
        links.push({ ...link, flaws });
        if (isUsable(flaws)) return { links, olderUnread: false };
      }
      if (saved.length < limit) return { links, olderUnread: false };
    }
    const olderUnread = (await store.readCheckpoints(taskId, links.length + 1)).length > links.length;
    return { links, olderUnread };
  }

  return { list, show, verify, contextFor };
}

export function refuseName(taskId: string): void {
  if (Id.safeParse(taskId).success) return;
  throw new Fault("bad-request", "a task's id takes 1 to 128 letters, digits or . _ : @ + -");
}
