import { agentOf } from "@rouse/core";
import type { TaskDesk } from "../ports/task-source.ts";
import type { Tasks } from "./host-tasks.ts";
import type { TaskService } from "./serve-tasks.ts";

/** What a source of tasks is given to work with. */
export function openDesk(tasks: Pick<Tasks, "find">, service: TaskService, onSaved: TaskDesk["onSaved"]): TaskDesk {
  return {
    find(taskId) {
      const record = tasks.find(taskId);
      return record === undefined ? null : { task: service.show(taskId), agentId: agentOf(record) };
    },
    create: service.create,
    order: (order, taskId, actor, reason) => service[order](taskId, { actor, reason }),
    onSaved,
  };
}
