import type { RouseEvent } from "@rouse/contract";
import { inWords } from "./in-words.ts";
import { describeSeconds } from "./tell-time.ts";

type TaskEvent = Extract<RouseEvent, { type: `TASK_${string}` | `CHECKPOINT_${string}` | `ASSIGNMENTS_${string}` }>;

export const isOfTask = (event: RouseEvent): event is TaskEvent => /^(TASK|CHECKPOINT|ASSIGNMENTS)_/.test(event.type);

export function describeTaskEvent(event: TaskEvent): string {
  switch (event.type) {
    case "CHECKPOINT_SAVED": {
      const { taskId, step, stepName, checkpoint } = event.payload;
      return `task ${taskId}: step ${step}${stepName === "" ? "" : ` ${stepName}`} (${checkpoint.slice(0, 12)})`;
    }
    case "CHECKPOINT_REFUSED":
      return `task ${event.payload.taskId}: ${event.payload.problem}`;
    case "TASK_CREATED":
      return `task ${event.payload.taskId}, priority ${event.payload.priority}`;
    case "TASK_CHANGED": {
      const { taskId, from, to, because, actor } = event.payload;
      return `task ${taskId}: ${from} → ${to}, ${inWords(because)}, by ${actor}`;
    }
    case "TASK_CLAIMED":
      return `task ${event.payload.taskId}, claim ${event.payload.claim}`;
    case "TASK_RELEASED":
      return `task ${event.payload.taskId}, claim ${event.payload.claim}: ${inWords(event.payload.because)}`;
    case "TASK_STALLED":
    case "TASK_ESCALATED":
      return `task ${event.payload.taskId}: no update for ${describeSeconds(event.payload.withoutUpdateSeconds)}`;
    case "TASK_LONG_RUNNING":
    case "TASK_TIMED_OUT":
      return `task ${event.payload.taskId}: running for ${describeSeconds(event.payload.runningSeconds)}`;
    case "TASK_BLOCKED":
      return `task ${event.payload.taskId}: ${inWords(event.payload.because)}`;
    case "ASSIGNMENTS_REDUCED":
    case "ASSIGNMENTS_STOPPED":
      return `${event.payload.failed} of its last ${event.payload.of} tasks failed`;
    case "ASSIGNMENTS_RESTORED":
      return `by ${event.payload.actor}`;
  }
}
