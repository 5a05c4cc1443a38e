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
import type { Roster } from "../agents/roster.ts";
import type { Engine } from "../engine/engine.ts";

interface WorkerParts {
  readonly roster: Roster;
  readonly find: (taskId: string) => TaskRecord | undefined;
  readonly heldBy: (agentId: string) => readonly string[];
  readonly post: Engine["post"];
}

type TaskNews = Extract<Signal, { kind: "task-taken" | "assigned" }>;

/** What tasks mean for those who work on them, told as soon as it changes: what is theirs, and what is no longer. */
export function tellWorkers({ roster, find, heldBy, post }: WorkerParts) {
  const tellAgent = (agentId: string, signal: TaskNews): void => post("agent", agentId, signal);

  function isWorkOf(agentId: string, taskId: string): boolean {
    const task = find(taskId);
    return task !== undefined && workerOf(task) === agentId;
  }

  /** Its own word, or what it holds. */
  const isKnownWork = ({ agentId, task: { id: taskId, claimed: taskClaimed } }: AgentRecord): boolean =>
    taskId !== null && (!taskClaimed || isWorkOf(agentId, taskId));

  /** Whoever holds something and is not known to work on anything works on that. */
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
    /** Who claimed it is judged by it, and given back to it: of those who work through a queue nobody else says what they work on. */
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
    /** Its task may have become somebody else's while it was down. */
    tellOfLoss({ agentId, task: { id: taskId } }: AgentRecord): void {
      const task = taskId === null ? undefined : find(taskId);
      const taken = task === undefined ? null : takenMeanwhile(task, agentId);
      if (taken !== null) tellTaken(agentId, taken);
    },
  };
}
