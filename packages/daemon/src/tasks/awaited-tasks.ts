import { type AgentRecord, agentOf, type TaskRecord } from "@rouse/core";
import type { Engine } from "../engine/engine.ts";
import type { SharedServices } from "../shared-services.ts";
import { indexIds } from "./relate-tasks.ts";

/** A letter: an agent that runs waits for this task. Whether it may have it is decided when the letter is read. */
export interface WantsClaim {
  readonly kind: "wants-claim";
  readonly taskId: string;
  readonly agentId: string;
}

/** Claims a task for an agent that names it in heartbeats or was started for it, as soon as the task is free. */
export function awaitTasks(
  roster: SharedServices["roster"],
  find: (taskId: string) => TaskRecord | undefined,
  dependentsOf: (taskId: string) => readonly string[],
  post: Engine["post"],
) {
  /**
   * By task, the agents that named it and never had it, because it is not announced, not ready, or another's; the first
   * comes first. An agent that had it and lost it does not wait: it was told to leave the task alone.
   */
  const waiting = indexIds();

  function claim(taskId: string, agentId: string): void {
    const wanted: WantsClaim = { kind: "wants-claim", taskId, agentId };
    post("task", null, wanted);
  }

  function takeUp(taskId: string, record: AgentRecord): void {
    const task = find(taskId);
    if (task !== undefined && agentOf(task) === record.agentId) return;
    waiting.add(taskId, record.agentId);
    if (task?.state.status === "pending" && mayWork(record)) claim(taskId, record.agentId);
  }

  /** The task is free: the first of the agents that wait for it, and run, gets it. */
  function offer(taskId: string): void {
    for (const agentId of waiting.of(taskId)) {
      const record = roster.find(agentId)?.record;
      if (record !== undefined && mayWork(record) && record.health.state !== "UNRESPONSIVE") claim(taskId, agentId);
    }
  }

  return {
    /** After a restart nobody knows who has had a task that was claimed before, so nobody waits for it. */
    restore(): void {
      for (const { record } of roster.all())
        if (record.task.id !== null && (find(record.task.id)?.claims ?? 0) === 0)
          waiting.add(record.task.id, record.agentId);
    },
    noteTurn(before: AgentRecord, after: AgentRecord): void {
      const { agentId } = after;
      const { id: taskId, claimed } = after.task;
      const names = taskId !== before.task.id;
      if (!names && after.life.incarnation === before.life.incarnation) return;
      if (before.task.id !== null) waiting.remove(before.task.id, agentId);
      // A next life may be brought back without the task of the one before, if that is another's by then.
      const isFree = taskId !== null && (find(taskId)?.state.status ?? "pending") === "pending";
      // An agent that is only reminded of a claim has named nothing: what was taken from it meanwhile is not its own again.
      if (taskId !== null && !claimed && (names || isFree)) takeUp(taskId, after);
    },
    /** An agent may have worked on it before it was announced, or wait until it is ready or given back. */
    noteTask({ state: before }: TaskRecord, after: TaskRecord): void {
      const holder = agentOf(after);
      if (holder !== null) waiting.remove(after.taskId, holder);
      if (after.state.status === "pending") offer(after.taskId);
      if (after.state.status === "completed" && before.status !== "completed")
        for (const taskId of dependentsOf(after.taskId)) offer(taskId);
    },
  };
}

/** An agent that has ended or is quarantined begins nothing. */
const mayWork = ({ health, work: { activity } }: AgentRecord): boolean =>
  activity.kind !== "FINISHED" && health.state !== "TERMINATED" && health.state !== "QUARANTINED";
