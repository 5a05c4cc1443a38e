import type { CheckpointHead } from "@rouse/contract";
import type { SavedCheckpoint, StatesToKeep } from "../../ports/store.ts";
import { surplusStates } from "../../ports/surplus-states.ts";
import type { MemoryDisk } from "./memory-disk.ts";

export function forgetOldStates(disk: MemoryDisk, taskId: string, keep: StatesToKeep): string[] {
  const chain = disk.checkpointsOf.get(taskId) ?? [];
  const newestFirst = chain
    .toSorted((a, b) => b.number - a.number)
    .map((one) => ({ ...one, isForgotten: one.stateForgotten ?? false }));
  const surplus = surplusStates(newestFirst, keep);
  if (surplus.length === 0) return [];
  const forgotten = new Map<string, SavedCheckpoint>();
  for (const { isForgotten: _, ...one } of surplus)
    forgotten.set(one.id, { ...one, state: null, stateForgotten: true });
  for (const [id, one] of forgotten) disk.checkpoints.set(id, one);
  disk.checkpointsOf.set(
    taskId,
    chain.map((one) => forgotten.get(one.id) ?? one),
  );
  return surplus.flatMap(({ state, head }) => (state === null ? (JSON.parse(head) as CheckpointHead).stateHash : []));
}
