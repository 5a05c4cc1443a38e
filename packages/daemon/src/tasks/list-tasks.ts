import type { TaskStatus } from "@rouse/contract";
import { agentOf, type TaskRecord } from "@rouse/core";

/** What is given narrows the list. */
export interface TaskFilter {
  readonly status?: readonly TaskStatus[] | undefined;
  /** Who holds it, ended it, is brought back for it, or for whom it is meant. */
  readonly agentId?: string | undefined;
}

/** What is open in the order it came, then what is over, the last first. */
export function listTasks(tasks: readonly TaskRecord[], filter: TaskFilter): TaskRecord[] {
  const wanted = tasks.filter((task) => matches(task, filter));
  const open = wanted.filter(({ state }) => !("overAt" in state));
  const over = wanted.filter(({ state }) => "overAt" in state);
  return [...open.sort((a, b) => a.createdAt - b.createdAt), ...over.sort((a, b) => endOf(b) - endOf(a))];
}

const matches = (task: TaskRecord, { status, agentId }: TaskFilter): boolean =>
  (status === undefined || status.includes(task.state.status)) &&
  (agentId === undefined || agentOf(task) === agentId || task.reservedFor === agentId);

const endOf = ({ state }: TaskRecord): number => ("overAt" in state ? state.overAt : 0);
