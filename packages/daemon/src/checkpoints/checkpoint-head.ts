import { createHash } from "node:crypto";
import { type Checkpoint, type CheckpointFlaw, CheckpointHead, canonicalJson, type EpochMs } from "@rouse/contract";
import type { SavedCheckpoint, SavedHead } from "../ports/store.ts";

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
