import { type AgentRecord, agentOf, type TaskRecord } from "@rouse/core";
import type { Roster } from "../agents/roster.ts";
import type { Engine } from "../engine/engine.ts";

interface HookParts {
  readonly roster: Roster;
  /** `undefined` when nobody has announced such a task. */
  readonly find: (taskId: string) => TaskRecord | undefined;
  readonly dependentsOf: (taskId: string) => readonly string[];
  readonly post: Engine["post"];
}

/** An agent that is there waits for this task: whether it may have it is decided when the letter is read. */
export interface WantsClaim {
  readonly kind: "wants-claim";
  readonly taskId: string;
  readonly agentId: string;
}

/** An agent says, or was started with, which task it works on: it is on its hook, and nobody else should begin it. */
export function awaitTasks({ roster, find, dependentsOf, post }: HookParts) {
  /**
   * Who named a task and never had it, the first to come first: nobody has announced it, it is not ready, or another's. Whoever had it and lost it does
   * not wait: they were told to leave it alone.
   */
  const waiting = new Map<string, Set<string>>();

  function wait(taskId: string, agentId: string): void {
    const queue = waiting.get(taskId) ?? new Set<string>();
    waiting.set(taskId, queue.add(agentId));
  }

  function stopWaiting(taskId: string, agentId: string): void {
    const queue = waiting.get(taskId);
    queue?.delete(agentId);
    if (queue?.size === 0) waiting.delete(taskId);
  }

  function claim(taskId: string, agentId: string): void {
    const wanted: WantsClaim = { kind: "wants-claim", taskId, agentId };
    post("task", null, wanted);
  }

  function takeUp(taskId: string, record: AgentRecord): void {
    const task = find(taskId);
    if (task !== undefined && agentOf(task) === record.agentId) return;
    wait(taskId, record.agentId);
    if (task?.state.status === "pending" && mayWork(record)) claim(taskId, record.agentId);
  }

  /** It may be had: by the first of those who wait for it, and are there. */
  function ask(taskId: string): void {
    for (const agentId of [...(waiting.get(taskId) ?? [])]) {
      const record = roster.find(agentId)?.record;
      if (record !== undefined && mayWork(record) && record.health.state !== "UNRESPONSIVE") claim(taskId, agentId);
    }
  }

  return {
    /** Of what somebody has had nobody knows any more whether it was them who wait. */
    restore(): void {
      for (const { record } of roster.all())
        if (record.task.id !== null && (find(record.task.id)?.claims ?? 0) === 0) wait(record.task.id, record.agentId);
    },
    noteTurn(before: AgentRecord, after: AgentRecord): void {
      const { agentId } = after;
      const { id: taskId, claimed } = after.task;
      const names = taskId !== before.task.id;
      if (!names && after.life.incarnation === before.life.incarnation) return;
      if (before.task.id !== null) stopWaiting(before.task.id, agentId);
      // A next life may be brought back without the task of the one before, if that is another's by then.
      const isFree = taskId !== null && (find(taskId)?.state.status ?? "pending") === "pending";
      // An agent that is only reminded of a claim has named nothing: what was taken from it meanwhile is not its own again.
      if (taskId !== null && !claimed && (names || isFree)) takeUp(taskId, after);
    },
    /** Somebody may have been at work on it before it was announced, or wait until it is ready or given back. */
    noteTask({ state: before }: TaskRecord, after: TaskRecord): void {
      const holder = agentOf(after);
      if (holder !== null) stopWaiting(after.taskId, holder);
      if (after.state.status === "pending") ask(after.taskId);
      if (after.state.status === "completed" && before.status !== "completed")
        for (const taskId of dependentsOf(after.taskId)) ask(taskId);
    },
  };
}

/** A life that is over, or shut away, begins nothing. */
const mayWork = ({ health, work: { activity } }: AgentRecord): boolean =>
  activity.kind !== "FINISHED" && health.state !== "TERMINATED" && health.state !== "QUARANTINED";
