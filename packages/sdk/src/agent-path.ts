import { Fault, isEscalationId, isId } from "@rouse/contract";

/** An id such as `..` or an empty one would lead to another path. */
export function agentPath(agentId: string): string {
  if (isId(agentId)) return `/api/v1/agents/${encodeURIComponent(agentId)}`;
  throw new Fault("agent-unknown", `no agent has such an id: ${idTakes}`);
}

export const breakerRulesPath = (agentId: string): string => `${agentPath(agentId)}/breaker-rules`;

export function escalationPath(id: string): string {
  if (isEscalationId(id)) return `/api/v1/escalations/${encodeURIComponent(id)}`;
  throw new Fault("escalation-unknown", "no escalation has such an id; they look like worker-1.3");
}

export function taskPath(taskId: string): string {
  if (isId(taskId)) return `/api/v1/tasks/${encodeURIComponent(taskId)}`;
  throw new Fault("task-unknown", `no task has such an id: ${idTakes}`);
}

const idTakes = "it takes 1 to 128 letters, digits or . _ : @ + -";
