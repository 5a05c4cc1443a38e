import { TaskPriority } from "@rouse/contract";
import type { TaskRecord } from "./task-record.ts";

/** Everything the task depends on is completed. Unknown tasks are not. */
export const isTaskReady = (task: Pick<TaskRecord, "dependsOn">, isCompleted: (taskId: string) => boolean): boolean =>
  task.dependsOn.every(isCompleted);

/** The next task for an agent: one reserved for it, then the most urgent, then the oldest. */
export function chooseTask(tasks: Iterable<TaskRecord>, agentId: string): TaskRecord | null {
  const completed = new Set<string>();
  const open: TaskRecord[] = [];
  for (const task of tasks) {
    if (task.state.status === "completed") completed.add(task.taskId);
    const mayHave = task.reservedFor === null || task.reservedFor === agentId;
    if (task.state.status === "pending" && mayHave) open.push(task);
  }
  const ready = open.filter((task) => isTaskReady(task, (taskId) => completed.has(taskId)));
  return ready.reduce<TaskRecord | null>(
    (best, task) => (best === null || comesBefore(task, best) ? task : best),
    null,
  );
}

/** All candidates may go to the same agent, so any reservation is for it. */
function comesBefore(a: TaskRecord, b: TaskRecord): boolean {
  if ((a.reservedFor === null) !== (b.reservedFor === null)) return a.reservedFor !== null;
  if (a.priority !== b.priority) return urgency(a) > urgency(b);
  return a.createdAt !== b.createdAt ? a.createdAt < b.createdAt : a.taskId < b.taskId;
}

const urgency = ({ priority }: TaskRecord): number => TaskPriority.options.indexOf(priority);
