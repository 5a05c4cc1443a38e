import { agentOf, type TaskRecord, type TaskRules } from "@rouse/core";
import type { Roster } from "../agents/roster.ts";
import type { PolicySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";

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
