import {
  type Checkpoint,
  type CheckpointList,
  type CheckpointVerdict,
  Fault,
  Id,
  type RecoveryContext,
} from "@rouse/contract";
import { chooseCheckpoint, isUsable } from "@rouse/core";
import { serializeByKey } from "../engine/serialize-by-key.ts";
import type { States } from "../ports/states.ts";
import type { SavedHead, Store } from "../ports/store.ts";
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
/** The newest is nearly always right: only when it is not, more are read, up to 200. */
const looks = [1, 10, 50, 200];

interface RecallParts {
  readonly store: Pick<Store, "readCheckpoints" | "findCheckpoint">;
  readonly states: Pick<States, "get">;
  /** The newest checkpoint that the task's record names. `null`: none, or one that is not committed yet. */
  readonly newestOf: (taskId: string) => string | null;
}

/** What a replacement goes on with. The holders decide where its state is written. */
export interface WayBack {
  readonly context: Omit<RecoveryContext, "stateFile">;
  /** Canonical JSON; `null` when the task starts over. */
  readonly state: string | null;
}

export function recallCheckpoints(parts: RecallParts) {
  const { store, newestOf } = parts;
  const inTurn = serializeByKey();
  /** Verdicts that wait for their turn, by task: a second caller gets the same. */
  const asked = new Map<string, Promise<CheckpointVerdict>>();

  /** Newest first. A checkpoint whose head cannot be read is shown by `verify` only. */
  async function list(taskId: string, limit: number, before?: number): Promise<CheckpointList> {
    refuseName(taskId);
    const saved = await store.readCheckpoints(taskId, limit + 1, before);
    const page = saved.slice(0, limit);
    const next = saved.length > limit ? String(page.at(-1)?.number) : null;
    return { taskId, checkpoints: page.flatMap((one) => readHead(one).checkpoint ?? []), next };
  }

  /** One checkpoint and its state as canonical JSON. A damaged one is refused. */
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

  /** One verdict at a time, because each reads up to a thousand states. */
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
    const id = await findMissing(newest, saved[0]);
    const checks = await checkChain(parts, saved.slice(0, mostVerified));
    if (id !== null) checks.unshift({ id, number: null, step: null, stepName: null, time: null, flaws: ["missing"] });
    return { taskId, sound: checks.every(({ flaws }) => flaws.length === 0), checks, more };
  }

  /**
   * The id of the newest checkpoint if it is gone. No other checkpoint names it, so only the task's record shows that.
   */
  async function findMissing(newest: string | null, found: SavedHead | undefined): Promise<string | null> {
    return newest === found?.id || newest === null || (await store.findCheckpoint(newest)) !== null ? null : newest;
  }

  /** What a recovery of the task begins with. */
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

  /** Reads from the newest on until one is usable. */
  async function lookBack(taskId: string): Promise<{ links: CheckedCheckpoint[]; olderUnread: boolean }> {
    const newest = newestOf(taskId);
    const links: CheckedCheckpoint[] = [];
    let looked = 0;
    for (const limit of looks) {
      const saved = await store.readCheckpoints(taskId, limit);
      if (looked === 0 && (await findMissing(newest, saved[0])) !== null)
        links.push({ checkpoint: null, flaws: ["missing"], state: null });
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
