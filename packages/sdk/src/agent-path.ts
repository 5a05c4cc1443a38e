import { EscalationId, Fault, Id } from "@rouse/contract";

/** An id such as `..` or an empty one would make another path of it. */
export function agentPath(agentId: string): string {
  if (Id.safeParse(agentId).success) return `/api/v1/agents/${encodeURIComponent(agentId)}`;
  throw new Fault("agent-unknown", "no agent has such an id: it takes 1 to 128 letters, digits or . _ : @ + -");
}

export function escalationPath(id: string): string {
  if (EscalationId.safeParse(id).success) return `/api/v1/escalations/${encodeURIComponent(id)}`;
  throw new Fault("escalation-unknown", "no escalation has such an id; they look like worker-1.3");
}

export function taskPath(taskId: string): string {
  if (Id.safeParse(taskId).success) return `/api/v1/tasks/${encodeURIComponent(taskId)}`;
  throw new Fault("task-unknown", "no task has such an id: it takes 1 to 128 letters, digits or . _ : @ + -");
}
