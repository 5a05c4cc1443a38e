import type { AgentRecord, Signal } from "@rouse/core";
import type { PolicySubject } from "../config/choose-policy.ts";

/** By what a signal is judged. A life is judged by what it was started with from its first moment on: its record says so only afterwards. */
export function policySubject(record: AgentRecord, signal?: Signal): PolicySubject {
  const { agentId, identity, life, task, seen } = record;
  const { agentType, policy } = identity;
  const known = { agentId, agentType, taskId: task.id, policy, promise: life.promise, terminal: seen.terminal };
  if (signal?.kind !== "held" || signal.hold.incarnation < life.incarnation) return known;
  const { hold } = signal;
  return {
    agentId,
    agentType: hold.agentType ?? agentType,
    taskId: hold.taskId ?? task.id,
    policy: hold.policy ?? policy,
    promise: life.promise,
    terminal: { family: hold.family, session: null },
  };
}
