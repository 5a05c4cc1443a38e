import type { TaskReason } from "@rouse/contract";
import { claimOf, type TaskRecord } from "./task-record.ts";

const takingReasons = ["timed-out", "cancelled-by-person", "reassigned-by-person", "marked-by-person"] as const;

export interface TakenTask {
  readonly taskId: string;
  readonly because: (typeof takingReasons)[number];
}

/** Who held a task before a turn and does not any more, without having let go of it: they are to be told, or two would do the same work. */
export function takenFrom(
  before: TaskRecord,
  after: TaskRecord,
): { readonly agentId: string; readonly task: TakenTask } | null {
  const had = claimOf(before);
  const because = takingReasons.find((reason: TaskReason) => reason === after.because);
  if (had === null || because === undefined || claimOf(after)?.number === had.number) return null;
  return { agentId: had.agentId, task: { taskId: after.taskId, because } };
}
