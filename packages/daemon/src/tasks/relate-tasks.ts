import { isTaskOver, type TaskRecord, workerOf } from "@rouse/core";

/** Indexes of the tasks by agent and by dependency. */
export function relateTasks() {
  const held = indexIds();
  const reserved = indexIds();
  const dependents = indexIds();

  return {
    /** A new task. */
    add(task: TaskRecord): void {
      for (const other of task.dependsOn) dependents.add(other, task.taskId);
      held.move(task.taskId, null, workerOf(task));
      reserved.move(task.taskId, null, reserverOf(task));
    },
    note(before: TaskRecord, after: TaskRecord): void {
      held.move(after.taskId, workerOf(before), workerOf(after));
      reserved.move(after.taskId, reserverOf(before), reserverOf(after));
    },
    /** For a task that is over: no agent has it. */
    forget(task: TaskRecord): void {
      for (const other of task.dependsOn) dependents.remove(other, task.taskId);
    },
    /** The tasks an agent works on, or is being brought back for. */
    heldBy: held.of,
    meantFor: reserved.of,
    dependentsOf: dependents.of,
  };
}

const reserverOf = (task: TaskRecord): string | null => (isTaskOver(task) ? null : task.reservedFor);

/** Ids by key, in the order they were added. */
export function indexIds() {
  const sets = new Map<string, Set<string>>();

  function add(key: string, id: string): void {
    sets.set(key, (sets.get(key) ?? new Set<string>()).add(id));
  }

  function remove(key: string, id: string): void {
    const set = sets.get(key);
    set?.delete(id);
    if (set?.size === 0) sets.delete(key);
  }

  return {
    add,
    remove,
    move(id: string, from: string | null, to: string | null): void {
      if (from === to) return;
      if (from !== null) remove(from, id);
      if (to !== null) add(to, id);
    },
    of: (key: string): readonly string[] => [...(sets.get(key) ?? [])],
  };
}

/**
 * The circle that a new task would close by depending on itself through others, from the task to the task; or `null`.
 */
export function findCircle(
  task: Pick<TaskRecord, "taskId" | "dependsOn">,
  known: { dependenciesOf(taskId: string): readonly string[]; isWaitedFor(taskId: string): boolean },
): readonly string[] | null {
  // Only a task that others wait for, or that names itself, can close a circle: most tasks need no search.
  if (!known.isWaitedFor(task.taskId) && !task.dependsOn.includes(task.taskId)) return null;
  /** By task, the one it was reached from. */
  const cameFrom = new Map<string, string>();
  const open = [task.taskId];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const next of at === task.taskId ? task.dependsOn : known.dependenciesOf(at)) {
      if (next === task.taskId) return [...wayTo(at, task.taskId, cameFrom), next];
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, at);
      open.push(next);
    }
  }
  return null;
}

function wayTo(end: string, start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const way = [end];
  for (let at = end; at !== start; ) {
    at = cameFrom.get(at) ?? start;
    way.push(at);
  }
  return way.reverse();
}

/** How many tasks are named at either end of a long circle. */
const named = 4;

export function describeCircle(circle: readonly string[]): string {
  const leftOut = circle.length - 2 * named;
  const shown = leftOut > 1 ? [...circle.slice(0, named), `(${leftOut} more)`, ...circle.slice(-named)] : circle;
  return shown.join(" → ");
}
