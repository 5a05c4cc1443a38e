import type { AuditRecord, CheckpointHead } from "@rouse/contract";
import type { AuditQuery, SavedCheckpoint } from "../../ports/store.ts";
import type { MemoryDisk } from "./memory-disk.ts";

export function findAudit(disk: MemoryDisk, { after = 0, subject, limit, newestFirst }: AuditQuery): AuditRecord[] {
  const found = disk.audit.filter((line) => line.number > after && (subject === undefined || line.subject === subject));
  return (newestFirst ? found.reverse() : found).slice(0, limit);
}

export function findCheckpoints(disk: MemoryDisk, taskId: string, limit: number): SavedCheckpoint[] {
  const chain = disk.checkpointsOf.get(taskId) ?? [];
  return chain.toSorted((a, b) => b.number - a.number).slice(0, limit);
}

export function isStateNeeded(disk: MemoryDisk, stateHash: string): boolean {
  for (const { head, state } of disk.checkpoints.values()) {
    if (state === null && (JSON.parse(head) as CheckpointHead).stateHash === stateHash) return true;
  }
  return false;
}
