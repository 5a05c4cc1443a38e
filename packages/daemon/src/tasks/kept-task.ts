import type { MonoMs, RouseEvent } from "@rouse/contract";
import {
  agentOf,
  isCriticalBlocked,
  isTaskOver,
  type TaskRecord,
  type TaskRules,
  taskMachine,
  workerOf,
} from "@rouse/core";
import type { Roster } from "../agents/roster.ts";
import type { PolicySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Engine, Kept } from "../engine/engine.ts";
import type { SelfDoubt } from "../engine/self-doubt.ts";

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

export interface Dependencies {
  readonly dependenciesOf: (taskId: string) => readonly string[];
  readonly isWaitedFor: (taskId: string) => boolean;
}

/** Whether a task that is not there yet would, through those it depends on, wait for itself. Names the way round, or `null`. */
export function findCircle(
  task: { readonly taskId: string; readonly dependsOn: readonly string[] },
  { dependenciesOf, isWaitedFor }: Dependencies,
): readonly string[] | null {
  // Only what is waited for already, or names itself, can close a circle: most tasks need no search.
  if (!isWaitedFor(task.taskId) && !task.dependsOn.includes(task.taskId)) return null;
  /** Each task that was come to, and from which. */
  const cameFrom = new Map<string, string>();
  const open = [task.taskId];
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    for (const next of at === task.taskId ? task.dependsOn : dependenciesOf(at)) {
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

/** So many are named at either end of a long way round. */
const named = 4;

export function describeCircle(circle: readonly string[]): string {
  const leftOut = circle.length - 2 * named;
  const shown = leftOut > 1 ? [...circle.slice(0, named), `(${leftOut} more)`, ...circle.slice(-named)] : circle;
  return shown.join(" → ");
}

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

interface RuleParts {
  readonly roster: Roster;
  readonly config: () => Config;
}

/** By what a task is watched: the settings of whoever has it, or asks for it, with those of the task; of the task alone when nobody does. */
export function chooseTaskRules({ roster, config }: RuleParts) {
  /** The task at hand counts, whichever one the agent speaks of. */
  function subjectOf(taskId: string, agentId: string | null): PolicySubject {
    const record = agentId === null ? undefined : roster.find(agentId)?.record;
    if (record === undefined) return { agentId: agentId ?? "", agentType: null, taskId };
    const { agentType, policy } = record.identity;
    const { terminal } = record.seen;
    return { agentId: record.agentId, agentType, taskId, policy, terminal };
  }

  return function rulesFor(task: TaskRecord, agentId: string | null = agentOf(task)): TaskRules {
    const { mode, tasks, recovery } = config().policyFor(subjectOf(task.taskId, agentId));
    return { ...tasks, mode, maxRecoveries: recovery.maxPerTask };
  };
}
