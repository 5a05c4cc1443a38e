import type { TaskReason } from "@rouse/contract";
import { type TaskRecord, workerOf } from "./task-record.ts";

const takingReasons = ["timed-out", "cancelled-by-person", "reassigned-by-person", "marked-by-person"] as const;

export interface TakenTask {
  readonly taskId: string;
  readonly because: (typeof takingReasons)[number];
}

/**
 * Who held a task before a turn, or was being brought back for it, and does not any more, without having let go of it: they are to be told, or two
 * would do the same work.
 */
export function takenFrom(
  before: TaskRecord,
  after: TaskRecord,
): { readonly agentId: string; readonly task: TakenTask } | null {
  const agentId = workerOf(before);
  const because = reasonOf(after);
  // A task that was taken for one of these reasons has no claim; the next one has its own reason.
  if (agentId === null || because === null) return null;
  return { agentId, task: { taskId: after.taskId, because } };
}

/** What one that comes back for a task has to know of it, when it was taken while nobody could be told. */
export function takenMeanwhile(task: TaskRecord, agentId: string): TakenTask | null {
  const worker = workerOf(task);
  const because = reasonOf(task) ?? (worker === null ? null : "reassigned-by-person");
  return because === null || worker === agentId ? null : { taskId: task.taskId, because };
}

const reasonOf = ({ because }: TaskRecord): TakenTask["because"] | null =>
  takingReasons.find((reason: TaskReason) => reason === because) ?? null;
