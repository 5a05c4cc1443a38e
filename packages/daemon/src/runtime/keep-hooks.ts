import type { TaskStatus } from "@rouse/contract";
import type { AgentRecord } from "@rouse/core";
import type { Roster } from "./roster.ts";
import type { Moment } from "./steady-clock.ts";

interface HookParts {
  readonly roster: Roster;
  /** `null` when nobody has announced such a task. */
  readonly statusOf: (taskId: string) => TaskStatus | null;
  readonly claim: (taskId: string, agentId: string, moment: Moment) => void;
}

/** An agent says, or was started with, which task it works on: it is on its hook, and nobody else should begin it. */
export function keepHooks({ roster, statusOf, claim }: HookParts) {
  /** Who works on what nobody has announced as a task: it is theirs as soon as somebody does. */
  const unannounced = new Map<string, string>();

  function takeUp(taskId: string, record: AgentRecord, moment: Moment): void {
    const status = statusOf(taskId);
    if (status === null) unannounced.set(taskId, record.agentId);
    else if (status === "pending" && mayWork(record)) claim(taskId, record.agentId, moment);
  }

  return {
    restore(): void {
      for (const { record } of roster.all())
        if (record.taskId !== null && statusOf(record.taskId) === null) unannounced.set(record.taskId, record.agentId);
    },
    noteTurn(before: AgentRecord, after: AgentRecord, moment: Moment): void {
      if (before.taskId === after.taskId) return;
      if (before.taskId !== null && unannounced.get(before.taskId) === after.agentId) unannounced.delete(before.taskId);
      if (after.taskId !== null) takeUp(after.taskId, after, moment);
    },
    /** Somebody may have been at work on it before it was announced. */
    noteCreated(taskId: string, moment: Moment): void {
      const agentId = unannounced.get(taskId);
      unannounced.delete(taskId);
      const record = agentId === undefined ? undefined : roster.find(agentId)?.record;
      if (record?.taskId === taskId) takeUp(taskId, record, moment);
    },
  };
}

/** A life that is over, or shut away, begins nothing. */
const mayWork = ({ activity, health }: AgentRecord): boolean =>
  activity.kind !== "FINISHED" && health.state !== "TERMINATED" && health.state !== "QUARANTINED";
