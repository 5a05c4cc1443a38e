import { createHash } from "node:crypto";
import {
  type Checkpoint,
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

export interface CheckParts {
  readonly store: Pick<Store, "findCheckpoint">;
  readonly states: Pick<States, "get">;
}

/** A checkpoint, what is wrong with it by itself, and its state when nothing is and it is still kept. */
export interface CheckedCheckpoint extends CheckpointLink {
  readonly state: string | null;
}

type FoundState =
  | { readonly kind: "found"; readonly state: string }
  | { readonly kind: "forgotten" }
  | { readonly kind: "flawed"; readonly flaw: CheckpointFlaw };

/** By itself: its head and its state, not the ones before it. States are read one by one, so that many never lie in memory at once. */
export async function checkAlone(parts: CheckParts, saved: SavedHead): Promise<CheckedCheckpoint> {
  const { checkpoint, flaws } = readHead(saved);
  if (checkpoint === null || flaws.length > 0) return { checkpoint, flaws, state: null };
  const found = await findState(parts, checkpoint);
  if (found.kind === "forgotten") return { checkpoint, flaws: [], state: null };
  if (found.kind === "flawed") return { checkpoint, flaws: [found.flaw], state: null };
  const isRight = sha256(found.state) === checkpoint.stateHash;
  return isRight
    ? { checkpoint, flaws: [], state: found.state }
    : { checkpoint, flaws: ["state-changed"], state: null };
}

/** Right by itself, but nobody can go on with it. */
export const isForgotten = ({ checkpoint, flaws, state }: CheckedCheckpoint): boolean =>
  checkpoint !== null && flaws.length === 0 && state === null;

/** Where a state should be, one that was forgotten is missing. */
export const missForgotten = (checked: CheckedCheckpoint): CheckedCheckpoint =>
  isForgotten(checked) ? { ...checked, flaws: ["state-missing"] } : checked;

/** A file that the disk does not give out is not known to be gone, but it is of no use either. */
async function findState({ store, states }: CheckParts, { id, stateHash }: Checkpoint): Promise<FoundState> {
  const saved = await store.findCheckpoint(id);
  if (saved === null) return { kind: "flawed", flaw: "state-missing" };
  if (saved.stateForgotten) return { kind: "forgotten" };
  try {
    const state = saved.state ?? (await states.get(stateHash));
    if (state !== null) return { kind: "found", state };
    // It may have been forgotten just now.
    const isForgotten = (await store.findCheckpoint(id))?.stateForgotten ?? false;
    return isForgotten ? { kind: "forgotten" } : { kind: "flawed", flaw: "state-missing" };
  } catch {
    return { kind: "flawed", flaw: "unreadable" };
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

/**
 * All of a chain, newest first as it is given. A flaw is passed on to every one that goes on from it. Only the oldest states are ever forgotten: one
 * that is newer than a state that is there was taken away.
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

/** The id of a checkpoint is the hash of its head, and the head has the hash of its state and the id of the one before: whatever is changed shows. */
export function sealHead(head: CheckpointHead, time: EpochMs, state: string | null): SavedCheckpoint {
  const text = canonicalJson(head, headLimits);
  return { id: sha256(text), taskId: head.taskId, number: head.number, time, head: text, state };
}

/** A checkpoint as far as its row goes: its head, where it can be read, and whether it is the head that was sealed. */
export interface ReadHead {
  readonly checkpoint: Checkpoint | null;
  readonly flaws: readonly CheckpointFlaw[];
}

export function readHead(saved: SavedHead): ReadHead {
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
