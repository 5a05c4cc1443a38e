import type { AuditRecord, CheckpointHead } from "@rouse/contract";
import type { AuditQuery, SavedHead } from "../../ports/store.ts";
import type { MemoryDisk } from "./memory-disk.ts";

export function findAudit(disk: MemoryDisk, query: AuditQuery): AuditRecord[] {
  const { after = 0, before = Number.POSITIVE_INFINITY, subject, limit, newestFirst } = query;
  const found = disk.audit.filter(
    (line) => line.number > after && line.number < before && (subject === undefined || line.subject === subject),
  );
  return (newestFirst ? found.reverse() : found).slice(0, limit);
}

export function findCheckpoints(
  disk: MemoryDisk,
  taskId: string,
  limit: number,
  before = Number.POSITIVE_INFINITY,
): SavedHead[] {
  const chain = (disk.checkpointsOf.get(taskId) ?? []).filter(({ number }) => number < before);
  const newest = chain.toSorted((a, b) => b.number - a.number).slice(0, limit);
  return newest.map(({ state: _, stateForgotten: __, ...head }) => head);
}

export function isStateNeeded(disk: MemoryDisk, stateHash: string): boolean {
  for (const { head, state, stateForgotten = false } of disk.checkpoints.values()) {
    if (state === null && !stateForgotten && (JSON.parse(head) as CheckpointHead).stateHash === stateHash) return true;
  }
  return false;
}
