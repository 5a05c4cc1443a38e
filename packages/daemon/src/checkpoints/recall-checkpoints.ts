import {
  type Checkpoint,
  type CheckpointList,
  type CheckpointVerdict,
  Fault,
  Id,
  type RecoveryContext,
} from "@rouse/contract";
import { type CheckpointLink, chooseCheckpoint, isUsable } from "@rouse/core";
import { serializeByKey } from "../engine/serialize-by-key.ts";
import type { States } from "../ports/states.ts";
import type { Store } from "../ports/store.ts";
import {
  type CheckedCheckpoint,
  checkAlone,
  checkChain,
  checkParent,
  isForgotten,
  missForgotten,
  readHead,
} from "./check-checkpoints.ts";
import { statesKept } from "./forget-states.ts";

const mostVerified = 1000;
/** Nearly always the newest is right: only when it is not, further ones are read, and not without end. */
const looks = [1, 10, 50, 200];

export interface RecallParts {
  readonly store: Pick<Store, "readCheckpoints" | "findCheckpoint">;
  readonly states: Pick<States, "get">;
  /** The newest checkpoint of a task that is certainly on the disk, by what else is known of the task. `null`: none is known. */
  readonly newestOf: (taskId: string) => string | null;
}

/** What a replacement goes on with; where its state is written down is decided by whoever starts it. */
export interface WayBack {
  readonly context: Omit<RecoveryContext, "stateFile">;
  /** Canonical JSON; `null` when the task starts over. */
  readonly state: string | null;
}

export function recallCheckpoints(parts: RecallParts) {
  const { store, newestOf } = parts;
  const inTurn = serializeByKey();
  /** Verdicts that were asked for and are not begun: whoever asks meanwhile gets the same. */
  const asked = new Map<string, Promise<CheckpointVerdict>>();

  /** Newest first; one whose head cannot be read is found by `verify` only. */
  async function list(taskId: string, limit: number, before?: number): Promise<CheckpointList> {
    refuseName(taskId);
    const saved = await store.readCheckpoints(taskId, limit + 1, before);
    const page = saved.slice(0, limit);
    const next = saved.length > limit ? String(page.at(-1)?.number) : null;
    return { taskId, checkpoints: page.flatMap((one) => readHead(one).checkpoint ?? []), next };
  }

  /** One checkpoint and its state as canonical JSON. One that is not what was saved is not given out. */
  async function show(id: string): Promise<{ readonly checkpoint: Checkpoint; readonly state: string }> {
    const saved = await store.findCheckpoint(id);
    if (saved === null) throw new Fault("checkpoint-unknown", "there is no checkpoint of that id");
    const checked = await checkAlone(parts, saved);
    const { checkpoint, flaws, state } = checked;
    if (checkpoint !== null && state !== null) return { checkpoint, state };
    if (isForgotten(checked)) throw new Fault("checkpoint-unknown", stateIsForgotten);
    throw new Fault(
      "database-damaged",
      `checkpoint ${id} is not as it was saved (${flaws.join(", ")}); \`rouse checkpoints verify ${saved.taskId}\` shows which are`,
    );
  }

  /** One at a time: each reads up to a thousand states. */
  async function verify(taskId: string): Promise<CheckpointVerdict> {
    refuseName(taskId);
    const verdict = asked.get(taskId) ?? inTurn("verdict", () => judge(taskId));
    asked.set(taskId, verdict);
    return verdict;
  }

  async function judge(taskId: string): Promise<CheckpointVerdict> {
    asked.delete(taskId);
    const newest = newestOf(taskId);
    const saved = await store.readCheckpoints(taskId, mostVerified + 1);
    const more = saved.length > mostVerified;
    const missing = await findMissing(newest, saved[0]);
    const unknown = { number: null, step: null, stepName: null, time: null };
    const checks = [
      ...missing.map(({ id, flaws }) => ({ id, ...unknown, flaws: [...flaws] })),
      ...(await checkChain(parts, saved.slice(0, mostVerified))),
    ];
    return { taskId, sound: checks.every(({ flaws }) => flaws.length === 0), checks, more };
  }

  /** The newest is the only one that no other goes on from: that it is gone shows by what else knows of it. */
  async function findMissing(
    newest: string | null,
    found: { readonly id: string } | undefined,
  ): Promise<(CheckpointLink & { readonly id: string })[]> {
    if (newest === null || newest === found?.id || (await store.findCheckpoint(newest)) !== null) return [];
    return [{ id: newest, checkpoint: null, flaws: ["missing"] }];
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
    const newest = newestOf(taskId);
    const links: CheckedCheckpoint[] = [];
    let looked = 0;
    for (const limit of looks) {
      const saved = await store.readCheckpoints(taskId, limit);
      if (looked === 0) for (const one of await findMissing(newest, saved[0])) links.push({ ...one, state: null });
      for (const one of saved.slice(looked)) {
        looked += 1;
        const link = missForgotten(await checkAlone(parts, one));
        const flaws = [...link.flaws, ...(await checkParent(parts, link))];
        links.push({ ...link, flaws });
        if (isUsable(flaws)) return { links, olderUnread: false };
      }
      if (saved.length < limit) return { links, olderUnread: false };
    }
    const olderUnread = (await store.readCheckpoints(taskId, looked + 1)).length > looked;
    return { links, olderUnread };
  }

  return { list, show, verify, contextFor };
}

const stateIsForgotten = `its state is not kept any more: of a task, the newest ${statesKept.states} states are, and no more than ${statesKept.bytes / 1024 / 1024} MiB of them`;

export function refuseName(taskId: string): void {
  if (Id.safeParse(taskId).success) return;
  throw new Fault("bad-request", "a task's id takes 1 to 128 letters, digits or . _ : @ + -");
}
