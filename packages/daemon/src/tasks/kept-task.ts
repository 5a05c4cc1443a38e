import type { MonoMs, RouseEvent } from "@rouse/contract";
import { agentOf, type TaskRecord, taskMachine } from "@rouse/core";
import type { Kept } from "../engine/engine.ts";

/** One task in memory. */
export class KeptTask implements Kept<TaskRecord> {
  readonly machine = taskMachine.name;
  readonly id: string;
  record: TaskRecord;
  /** Since when it has its status. After a restart nobody knows better than that it was worked on before. */
  since: MonoMs;
  /** The store forgets it by itself in time. */
  ages: boolean;
  slot: number | null = null;
  constructor(task: TaskRecord, ages: boolean) {
    this.id = task.taskId;
    this.record = task;
    this.since = task.updatedAt;
    this.ages = ages;
  }
  wakeAt(): MonoMs | null {
    return taskMachine.wakeAt(this.record);
  }
}

export interface Retried {
  readonly task: TaskRecord;
  readonly event: RouseEvent;
}

/**
 * Once more from the start, by a person's word. Numbers of claims and alerts go on, so that whoever held it before has no say in it any more. `null`:
 * it has not failed.
 */
export function retryTask(task: TaskRecord, actor: string, now: MonoMs): Retried | null {
  const { taskId, state } = task;
  if (state.status !== "failed" && state.status !== "cancelled") return null;
  const because = "reassigned-by-person";
  const fresh = { note: null, recoveries: 0, reservedFor: null, createdAt: now, updatedAt: now, wakeAt: null };
  const payload = { agentId: agentOf(task), taskId, from: state.status, to: "pending", because, actor } as const;
  return {
    task: { ...task, ...fresh, state: { status: "pending" }, because },
    event: { type: "TASK_CHANGED", payload },
  };
}
