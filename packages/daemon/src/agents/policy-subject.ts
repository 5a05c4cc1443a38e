import type { AgentRecord, Signal } from "@rouse/core";
import type { PolicySubject } from "../config/choose-policy.ts";

/** By what a signal is judged. A life is judged by what it was started with from its first moment on: its record says so only afterwards. */
export function policySubject(record: AgentRecord, signal: Signal): PolicySubject {
  if (signal.kind !== "held" || signal.hold.incarnation < record.incarnation) return record;
  const { agentType, taskId, policy, family } = signal.hold;
  return {
    agentId: record.agentId,
    agentType: agentType ?? record.agentType,
    taskId: taskId ?? record.taskId,
    policy: policy ?? record.policy,
    promise: record.promise,
    terminal: { family, session: null },
  };
}
