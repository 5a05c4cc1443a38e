import { Fault, type TaskStatus } from "@rouse/contract";
import { agentOf, type TaskRecord } from "@rouse/core";

export interface TaskFilter {
  readonly status?: readonly TaskStatus[] | undefined;
  /** The agent that holds it, ended it, or is brought back for it, or that it is meant for. */
  readonly agentId?: string | undefined;
}

/** Open tasks in the order they came, then those that are over, the last first. */
export const listTasks = (tasks: readonly TaskRecord[], filter: TaskFilter): TaskRecord[] =>
  tasks.filter((task) => matches(task, filter)).sort((a, b) => compare(placeOf(a), placeOf(b)));

const matches = (task: TaskRecord, { status, agentId }: TaskFilter): boolean =>
  (status === undefined || status.includes(task.state.status)) &&
  (agentId === undefined || agentOf(task) === agentId || task.reservedFor === agentId);

/** Where a task stands in the list. */
interface Place {
  readonly over: boolean;
  readonly time: number;
}

const placeOf = ({ state, createdAt }: TaskRecord): Place =>
  "overAt" in state ? { over: true, time: state.overAt } : { over: false, time: createdAt };

/**
 * One page of a list, after the task that the page before ended with. Tasks move between two requests: where that task
 * has moved, the page begins with what now stands at its place, so that nothing is left out.
 */
export function pageOfTasks(
  found: readonly TaskRecord[],
  limit: number,
  cursor: string | undefined,
): { readonly page: readonly TaskRecord[]; readonly next: string | null } {
  const first = cursor === undefined ? 0 : startAfter(found, cursor);
  const page = found.slice(first, first + limit);
  const last = page[page.length - 1];
  const isMore = found.length > first + limit && last !== undefined;
  return { page, next: isMore ? tellPlace(last) : null };
}

function startAfter(found: readonly TaskRecord[], cursor: string): number {
  const [, over, time, taskId] = /^(open|over)\.(-?\d{1,15}(?:\.\d{1,9})?)\.(.{1,128})$/.exec(cursor) ?? [];
  if (taskId === undefined) throw new Fault("bad-request", "cursor: `next` of the page before");
  const place = { over: over === "over", time: Number(time) };
  const same = found.findIndex((task) => task.taskId === taskId && compare(placeOf(task), place) === 0);
  if (same !== -1) return same + 1;
  const later = found.findIndex((task) => compare(placeOf(task), place) >= 0);
  return later === -1 ? found.length : later;
}

const compare = (a: Place, b: Place): number =>
  a.over === b.over ? (a.over ? b.time - a.time : a.time - b.time) : Number(a.over) - Number(b.over);

function tellPlace(task: TaskRecord): string {
  const { over, time } = placeOf(task);
  return `${over ? "over" : "open"}.${time}.${task.taskId}`;
}
