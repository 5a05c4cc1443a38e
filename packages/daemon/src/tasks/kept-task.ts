import type { MonoMs, RouseEvent } from "@rouse/contract";
import { agentOf, isCriticalBlocked, type TaskRecord, type TaskRules, taskMachine } from "@rouse/core";
import { policySubject } from "../config/choose-policy.ts";
import type { Engine, Kept } from "../engine/engine.ts";
import type { SelfDoubt } from "../engine/self-doubt.ts";
import type { SharedServices } from "../shared-services.ts";

/** One task in memory. */
export class KeptTask implements Kept<TaskRecord> {
  readonly machine = taskMachine.name;
  readonly id: string;
  record: TaskRecord;
  /** Whether the store has its end, and so removes it when it is old. */
  ages: boolean;
  slot: number | null = null;
  constructor(task: TaskRecord, ages: boolean) {
    this.id = task.taskId;
    this.record = task;
    this.ages = ages;
  }
  wakeAt(): MonoMs | null {
    return taskMachine.wakeAt(this.record);
  }
}

/**
 * The task as it begins anew by a person's order, or `null` if it has neither failed nor been cancelled. The numbers of
 * claims and alerts go on, so that words under an earlier claim are refused.
 */
export function retryTask(
  task: TaskRecord,
  actor: string,
  now: MonoMs,
): { readonly task: TaskRecord; readonly event: RouseEvent } | null {
  const { taskId, state } = task;
  if (state.status !== "failed" && state.status !== "cancelled") return null;
  const because = "reassigned-by-person";
  const fresh = {
    note: null,
    recoveries: 0,
    reservedFor: null,
    createdAt: now,
    updatedAt: now,
    changedAt: now,
    wakeAt: null,
  };
  const payload = { agentId: agentOf(task), taskId, from: state.status, to: "pending", because, actor } as const;
  return {
    task: { ...task, ...fresh, state: { status: "pending" }, because },
    event: { type: "TASK_CHANGED", payload },
  };
}

/** Counts the critical tasks that wait for a person, with the agent that had each last. */
export function countBlocked(doubt: Pick<SelfDoubt, "noteCriticalBlocked">, post: Engine["post"]) {
  const blocked = new Map<string, string | null>();
  let isNew = false;
  doubt.noteCriticalBlocked(blocked);

  return {
    /** `before`: `null` at the start of the monitor. */
    note(before: TaskRecord | null, task: TaskRecord): void {
      if (!isCriticalBlocked(task)) return void blocked.delete(task.taskId);
      blocked.set(task.taskId, task.alert?.agentId ?? agentOf(task));
      if (before !== null && !isCriticalBlocked(before)) isNew = true;
    },
    othersThan: (taskId: string): number => blocked.size - Number(blocked.has(taskId)),
    /** Wakes the agents of these tasks once after any is new: the escalation about them may be more severe now. */
    wakeConcerned(): void {
      if (!isNew) return;
      isNew = false;
      for (const agentId of new Set(blocked.values())) if (agentId !== null) post("agent", agentId, { kind: "wake" });
    },
  };
}

/** Finds the rules of a task by its own settings and those of the agent that has it or asks for it. */
export function chooseTaskRules({ roster, config }: Pick<SharedServices, "roster" | "config">) {
  return function rulesFor(task: TaskRecord, agentId: string | null = agentOf(task)): TaskRules {
    const record = agentId === null ? undefined : roster.find(agentId)?.record;
    const known = record === undefined ? { agentId: agentId ?? "", agentType: null } : policySubject(record);
    // This task counts, whichever one the agent names in its heartbeats.
    const { mode, tasks, recovery } = config().policyFor({ ...known, taskId: task.taskId });
    return { ...tasks, mode, maxRecoveries: recovery.maxPerTask };
  };
}
