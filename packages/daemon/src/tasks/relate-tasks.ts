import { isTaskOver, type TaskRecord, workerOf } from "@rouse/core";

/** Which tasks have to do with whom, kept up with every change: an agent's end, or a task's, finds them without looking through all there are. */
export function relateTasks() {
  const held = indexById();
  const reserved = indexById();
  const dependents = indexById();

  return {
    /** A task that was not there before. */
    add(task: TaskRecord): void {
      for (const other of task.dependsOn) dependents.add(other, task.taskId);
      held.move(task.taskId, null, workerOf(task));
      reserved.move(task.taskId, null, reserverOf(task));
    },
    note(before: TaskRecord, after: TaskRecord): void {
      held.move(after.taskId, workerOf(before), workerOf(after));
      reserved.move(after.taskId, reserverOf(before), reserverOf(after));
    },
    /** Only one that is over: nobody has it. */
    forget(task: TaskRecord): void {
      for (const other of task.dependsOn) dependents.remove(other, task.taskId);
    },
    /** What it works on, or is being brought back for. */
    heldBy: (agentId: string): readonly string[] => held.of(agentId),
    meantFor: (agentId: string): readonly string[] => reserved.of(agentId),
    dependentsOf: (taskId: string): readonly string[] => dependents.of(taskId),
  };
}

const reserverOf = (task: TaskRecord): string | null => (isTaskOver(task) ? null : task.reservedFor);

function indexById() {
  const sets = new Map<string, Set<string>>();

  function add(key: string, id: string): void {
    const set = sets.get(key) ?? new Set<string>();
    sets.set(key, set.add(id));
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
