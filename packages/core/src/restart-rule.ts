import type { MonoMs, Policy } from "@rouse/contract";
import type { Context } from "./context.ts";
import type { AgentRecord } from "./record.ts";

/** Its owner said that an end is an end: nobody but a person starts it again. */
export const runsOnce = ({ seen: { terminal } }: AgentRecord): boolean => terminal?.restart?.when === "no";

/** How often it is started again within the policy's window after it failed. */
export function restartsAllowed({ seen: { terminal } }: AgentRecord, policy: Policy): number {
  const rule = terminal?.restart;
  return (rule?.when === "on-failure" ? rule.max : null) ?? policy.restart.max;
}

/** Ended well, and its owner wants it to run always: its next life follows by itself. Who was ended by a person stays so. */
export function isBetweenRuns({ seen: { terminal }, work: { activity }, ending: { stop } }: AgentRecord): boolean {
  if (terminal?.restart?.when !== "always" || terminal.exit === null || activity.kind !== "FINISHED") return false;
  const { cause } = terminal.exit;
  return cause !== "person" && cause !== "stopped" && stop?.cause !== "ordered";
}

/** Expire first, then count. */
export const recentRestarts = (record: AgentRecord, { now, policy }: Context): readonly MonoMs[] =>
  record.recovery.restarts.filter((at) => at > now - policy.restart.window);

/** Between 0 and 1, the same for the same text: agents that went down together do not come back together, and a replay is a replay. */
export function jitterOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return ((hash >>> 0) % 1000) / 1000;
}
