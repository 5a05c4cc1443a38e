import {
  type AgentRecord,
  isAtWork,
  isTaskOver,
  type TakenTask,
  type TaskRecord,
  takenFrom,
  takenMeanwhile,
  workerOf,
} from "@rouse/core";
import type { Roster } from "./roster.ts";
import type { Moment } from "./steady-clock.ts";
import type { TellAgent } from "./take-words.ts";

interface WorkerParts {
  readonly roster: Roster;
  readonly find: (taskId: string) => TaskRecord | undefined;
  readonly heldBy: (agentId: string) => readonly string[];
  readonly tellAgent: TellAgent;
}

/** What tasks mean for those who work on them, told as soon as it changes: what is theirs, and what is no longer. */
export function tellWorkers({ roster, find, heldBy, tellAgent }: WorkerParts) {
  function isWorkOf(agentId: string, taskId: string): boolean {
    const task = find(taskId);
    return task !== undefined && workerOf(task) === agentId;
  }

  /** Its own word, or what it holds. */
  const isKnownWork = ({ agentId, task: { id: taskId, claimed: taskClaimed } }: AgentRecord): boolean =>
    taskId !== null && (!taskClaimed || isWorkOf(agentId, taskId));

  /** Whoever holds something and is not known to work on anything works on that. */
  function remindOfClaim(agentId: string, moment: Moment): void {
    const record = roster.find(agentId)?.record;
    if (record === undefined || isKnownWork(record)) return;
    const held = heldBy(agentId).flatMap((id) => find(id) ?? []);
    const next = held.find(({ state }) => isAtWork(state)) ?? held[0];
    if (next !== undefined) tellAgent(agentId, { kind: "assigned", taskId: next.taskId, claim: "held" }, moment);
  }

  function tellTaken(agentId: string, task: TakenTask, moment: Moment): void {
    const alone = heldBy(agentId).every((id) => id === task.taskId);
    tellAgent(agentId, { kind: "task-taken", ...task, alone }, moment);
  }

  return {
    isWorkOf,
    remindOfClaim,
    /** Who claimed it is judged by it, and given back to it: of those who work through a queue nobody else says what they work on. */
    noteTurn(before: TaskRecord, after: TaskRecord, moment: Moment): void {
      const taken = takenFrom(before, after);
      if (taken !== null) tellTaken(taken.agentId, taken.task, moment);
      const [was, is] = [workerOf(before), workerOf(after)];
      const { taskId } = after;
      if (was === is) return;
      if (was !== null) {
        tellAgent(was, { kind: "assigned", taskId, claim: isTaskOver(after) ? "done" : "lost" }, moment);
        remindOfClaim(was, moment);
      }
      if (is !== null) tellAgent(is, { kind: "assigned", taskId, claim: "held" }, moment);
    },
    /** Its task may have become somebody else's while it was down. */
    tellOfLoss({ agentId, task: { id: taskId } }: AgentRecord, moment: Moment): void {
      const task = taskId === null ? undefined : find(taskId);
      const taken = task === undefined ? null : takenMeanwhile(task, agentId);
      if (taken !== null) tellTaken(agentId, taken, moment);
    },
  };
}
