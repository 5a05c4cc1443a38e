import {
  type AgentRecord,
  isAtWork,
  isTaskOver,
  type Signal,
  type TakenTask,
  type TaskRecord,
  takenFrom,
  takenMeanwhile,
  workerOf,
} from "@rouse/core";
import type { Engine } from "../engine/engine.ts";
import type { SharedServices } from "../shared-services.ts";

type TaskNews = Extract<Signal, { kind: "task-taken" | "assigned" }>;

/** Tells agents, as soon as it changes, which tasks are theirs and which no longer are. */
export function tellWorkers(
  roster: SharedServices["roster"],
  find: (taskId: string) => TaskRecord | undefined,
  heldBy: (agentId: string) => readonly string[],
  post: Engine["post"],
) {
  const tellAgent = (agentId: string, signal: TaskNews): void => post("agent", agentId, signal);

  function isWorkOf(agentId: string, taskId: string): boolean {
    const task = find(taskId);
    return task !== undefined && workerOf(task) === agentId;
  }

  /** The agent names the task itself, or holds it. */
  const isKnownWork = ({ agentId, task: { id, claimed } }: AgentRecord): boolean =>
    id !== null && (!claimed || isWorkOf(agentId, id));

  /** An agent that holds a task and is not known to work on any works on that one. */
  function remindOfClaim(agentId: string): void {
    const record = roster.find(agentId)?.record;
    if (record === undefined || isKnownWork(record)) return;
    const held = heldBy(agentId).flatMap((id) => find(id) ?? []);
    const next = held.find(({ state }) => isAtWork(state)) ?? held[0];
    if (next !== undefined) tellAgent(agentId, { kind: "assigned", taskId: next.taskId, claim: "held" });
  }

  function tellTaken(agentId: string, task: TakenTask): void {
    const alone = heldBy(agentId).every((id) => id === task.taskId);
    tellAgent(agentId, { kind: "task-taken", ...task, alone });
  }

  return {
    isWorkOf,
    remindOfClaim,
    /** An agent is judged by the task it claimed, and brought back for it, whether or not its heartbeats name it. */
    noteTurn(before: TaskRecord, after: TaskRecord): void {
      const taken = takenFrom(before, after);
      if (taken !== null) tellTaken(taken.agentId, taken.task);
      const [was, is] = [workerOf(before), workerOf(after)];
      const { taskId } = after;
      if (was === is) return;
      if (was !== null) {
        tellAgent(was, { kind: "assigned", taskId, claim: isTaskOver(after) ? "done" : "lost" });
        remindOfClaim(was);
      }
      if (is !== null) tellAgent(is, { kind: "assigned", taskId, claim: "held" });
    },
    /** Another agent may have got its task while it was down. */
    tellOfLoss({ agentId, task: { id: taskId } }: AgentRecord): void {
      const task = taskId === null ? undefined : find(taskId);
      const taken = task === undefined ? null : takenMeanwhile(task, agentId);
      if (taken !== null) tellTaken(agentId, taken);
    },
  };
}
