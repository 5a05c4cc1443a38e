import { agentOf, isCriticalBlocked, type TaskRecord } from "@rouse/core";
import type { Engine } from "../engine/engine.ts";
import type { SelfDoubt } from "../engine/self-doubt.ts";

/** Critical tasks that wait for a person, and who had each of them last. */
export function countBlocked(doubt: Pick<SelfDoubt, "noteCriticalBlocked">, post: Engine["post"]) {
  const blocked = new Map<string, string | null>();
  let anew = false;
  doubt.noteCriticalBlocked(blocked);

  return {
    /** `before`: `null` for one that was so when we came. */
    note(before: TaskRecord | null, task: TaskRecord): void {
      if (!isCriticalBlocked(task)) return void blocked.delete(task.taskId);
      blocked.set(task.taskId, task.alert?.agentId ?? agentOf(task));
      if (before !== null && !isCriticalBlocked(before)) anew = true;
    },
    othersThan: (taskId: string): number => blocked.size - Number(blocked.has(taskId)),
    /** What is asked about them may be graver now. Once for however many came to it at the same time. */
    wakeConcerned(): void {
      if (!anew) return;
      anew = false;
      for (const agentId of new Set(blocked.values())) if (agentId !== null) post("agent", agentId, { kind: "wake" });
    },
  };
}
