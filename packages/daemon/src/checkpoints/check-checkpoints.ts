import { createHash } from "node:crypto";
import {
  type CheckpointCheck,
  type CheckpointFlaw,
  CheckpointHead,
  canonicalJson,
  type EpochMs,
  toIso,
} from "@rouse/contract";
import type { CheckpointLink } from "@rouse/core";
import type { States } from "../ports/states.ts";
import type { SavedCheckpoint, SavedHead, Store } from "../ports/store.ts";

interface CheckParts {
  readonly store: Pick<Store, "findCheckpoint">;
  readonly states: Pick<States, "get">;
}

/** A checkpoint, what is wrong with it by itself, and its state when nothing is and it is still kept. */
export interface CheckedCheckpoint extends CheckpointLink {
  readonly state: string | null;
}

/** Checks one by itself: its head and its state, not the ones before it. One state at a time is in memory. */
export async function checkAlone({ store, states }: CheckParts, head: SavedHead): Promise<CheckedCheckpoint> {
  const { checkpoint, flaws } = readHead(head);
  const withoutState = (flaws: readonly CheckpointFlaw[]): CheckedCheckpoint => ({ checkpoint, flaws, state: null });
  if (checkpoint === null || flaws.length > 0) return withoutState(flaws);
  const { id, stateHash } = checkpoint;
  const saved = await store.findCheckpoint(id);
  if (saved === null) return withoutState(["state-missing"]);
  if (saved.stateForgotten) return withoutState([]);
  try {
    const state = saved.state ?? (await states.get(stateHash));
    if (state !== null)
      return sha256(state) === stateHash ? { checkpoint, flaws, state } : withoutState(["state-changed"]);
    // The state may have been forgotten just now.
    const isForgotten = (await store.findCheckpoint(id))?.stateForgotten ?? false;
    return withoutState(isForgotten ? [] : ["state-missing"]);
  } catch {
    // A file that the disk refuses may still be there, but nobody can use it.
    return withoutState(["unreadable"]);
  }
}

/** A checkpoint without a flaw whose state was forgotten. */
export const isForgotten = ({ checkpoint, flaws, state }: CheckedCheckpoint): boolean =>
  checkpoint !== null && flaws.length === 0 && state === null;

/** Counts a forgotten state as missing, where one should be. */
export const missForgotten = (checked: CheckedCheckpoint): CheckedCheckpoint =>
  isForgotten(checked) ? { ...checked, flaws: ["state-missing"] } : checked;

/** What is wrong with the parent of a checkpoint. `known`: the flaws of those that were checked already. */
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

/**
 * Checks a whole chain, given and returned newest first. A flaw is passed on to every checkpoint that goes on from it.
 * Only the oldest states are ever forgotten, so a missing state that is newer than a kept one was taken away.
 */
export async function checkChain(parts: CheckParts, chain: readonly SavedHead[]): Promise<CheckpointCheck[]> {
  const known = new Map<string, readonly CheckpointFlaw[]>();
  const checks: CheckpointCheck[] = [];
  let areKept = false;
  for (const saved of chain.toReversed()) {
    const found = await checkAlone(parts, saved);
    const alone: CheckedCheckpoint = areKept || saved === chain[0] ? missForgotten(found) : found;
    const flaws = [...alone.flaws, ...(await checkParent(parts, alone, known))];
    known.set(saved.id, flaws);
    areKept ||= alone.state !== null;
    const { step = null, stepName = null } = alone.checkpoint ?? {};
    const check = { id: saved.id, number: saved.number, step, stepName, time: toIso(saved.time), flaws };
    checks.push(isForgotten(alone) ? { ...check, stateForgotten: true } : check);
  }
  return checks.reverse();
}

const headLimits = { values: 100, depth: 5 };

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** The id is the hash of the head, and the head holds the hashes of state and parent: every change shows. */
export function sealHead(head: CheckpointHead, time: EpochMs, state: string | null): SavedCheckpoint {
  const text = canonicalJson(head, headLimits);
  return { id: sha256(text), taskId: head.taskId, number: head.number, time, head: text, state };
}

/** The head of a checkpoint, where it can be read, and whether it is the one that was sealed. */
export function readHead(saved: SavedHead): CheckpointLink {
  const parsed = CheckpointHead.safeParse(parse(saved.head));
  if (!parsed.success) return { checkpoint: null, flaws: ["unreadable"] };
  const head = parsed.data;
  const isSealed = sha256(saved.head) === saved.id && head.taskId === saved.taskId && head.number === saved.number;
  return { checkpoint: { ...head, id: saved.id }, flaws: isSealed ? [] : ["head-changed"] };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
