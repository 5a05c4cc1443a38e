import type { AuditRecord, CheckpointHead } from "@rouse/contract";
import type { AuditQuery, SavedHead } from "../../ports/store.ts";
import type { MemoryDisk } from "./memory-disk.ts";

export function findAudit(disk: MemoryDisk, { after = 0, subject, limit, newestFirst }: AuditQuery): AuditRecord[] {
  const found = disk.audit.filter((line) => line.number > after && (subject === undefined || line.subject === subject));
  return (newestFirst ? found.reverse() : found).slice(0, limit);
}

export function findCheckpoints(disk: MemoryDisk, taskId: string, limit: number): SavedHead[] {
  const chain = disk.checkpointsOf.get(taskId) ?? [];
  const newest = chain.toSorted((a, b) => b.number - a.number).slice(0, limit);
  return newest.map(({ state: _, stateForgotten: __, ...head }) => head);
}

export function isStateNeeded(disk: MemoryDisk, stateHash: string): boolean {
  for (const { head, state, stateForgotten = false } of disk.checkpoints.values()) {
    if (state === null && !stateForgotten && (JSON.parse(head) as CheckpointHead).stateHash === stateHash) return true;
  }
  return false;
}
