import type { CheckpointCheck, CheckpointFlaw } from "@rouse/contract";
import { toIso } from "@rouse/contract";
import type { CheckpointLink } from "@rouse/core";
import type { States } from "../ports/states.ts";
import type { SavedCheckpoint, Store } from "../ports/store.ts";
import { readHead, sha256 } from "./checkpoint-head.ts";

export interface CheckParts {
  readonly store: Pick<Store, "findCheckpoint">;
  readonly states: Pick<States, "get">;
}

/** A checkpoint, what is wrong with it by itself, and its state when nothing is. */
export interface CheckedCheckpoint extends CheckpointLink {
  readonly saved: SavedCheckpoint;
  readonly state: string | null;
}

/** By itself: its head and its state, not the ones before it. */
export async function checkAlone({ states }: CheckParts, saved: SavedCheckpoint): Promise<CheckedCheckpoint> {
  const { checkpoint, flaws } = readHead(saved);
  if (checkpoint === null || flaws.length > 0) return { saved, checkpoint, flaws, state: null };
  const state = saved.state ?? (await readState(states, checkpoint.stateHash));
  if (typeof state !== "string") return { saved, checkpoint, flaws: [state.flaw], state: null };
  const isRight = sha256(state) === checkpoint.stateHash;
  return isRight
    ? { saved, checkpoint, flaws: [], state }
    : { saved, checkpoint, flaws: ["state-changed"], state: null };
}

/** A file that the disk does not give out is not known to be gone, but it is of no use either. */
async function readState(states: Pick<States, "get">, stateHash: string): Promise<string | { flaw: CheckpointFlaw }> {
  try {
    return (await states.get(stateHash)) ?? { flaw: "state-missing" };
  } catch {
    return { flaw: "unreadable" };
  }
}

/** What is wrong with the one it goes on from. `known`: the flaws of those that were looked at already. */
export async function checkParent(
  parts: CheckParts,
  { checkpoint }: CheckpointLink,
  known: ReadonlyMap<string, readonly CheckpointFlaw[]> = new Map(),
): Promise<CheckpointFlaw[]> {
  if (checkpoint === null || checkpoint.parent === null) return [];
  const flaws = known.get(checkpoint.parent) ?? (await flawsOf(parts, checkpoint.parent, checkpoint.taskId));
  if (flaws === null) return ["parent-missing"];
  return flaws.length > 0 ? ["parent-flawed"] : [];
}

async function flawsOf(parts: CheckParts, id: string, taskId: string): Promise<readonly CheckpointFlaw[] | null> {
  const saved = await parts.store.findCheckpoint(id);
  if (saved === null || saved.taskId !== taskId) return null;
  return (await checkAlone(parts, saved)).flaws;
}

/** All of a chain, newest first as it is given. A flaw is passed on to every one that goes on from it. */
export async function checkChain(parts: CheckParts, chain: readonly SavedCheckpoint[]): Promise<CheckpointCheck[]> {
  const known = new Map<string, readonly CheckpointFlaw[]>();
  const checks: CheckpointCheck[] = [];
  for (const saved of chain.toReversed()) {
    const alone = await checkAlone(parts, saved);
    const flaws = [...alone.flaws, ...(await checkParent(parts, alone, known))];
    known.set(saved.id, flaws);
    const { step = null, stepName = null } = alone.checkpoint ?? {};
    checks.push({ id: saved.id, number: saved.number, step, stepName, time: toIso(saved.time), flaws });
  }
  return checks.reverse();
}
