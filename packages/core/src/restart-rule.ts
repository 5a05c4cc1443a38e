import type { MonoMs, Policy } from "@rouse/contract";
import type { Context } from "./context.ts";
import type { AgentRecord } from "./record.ts";

/** The owner wants no restart: only a person starts the agent again. */
export const runsOnce = ({ seen: { terminal } }: AgentRecord): boolean => terminal?.restart?.when === "no";

/** How many restarts the policy's window allows after failures. */
export function restartsAllowed({ seen: { terminal } }: AgentRecord, policy: Policy): number {
  const rule = terminal?.restart;
  return (rule?.when === "on-failure" ? rule.max : null) ?? policy.restart.max;
}

/** The agent ended well and is to run always, so its next life follows. One that a person ended stays ended. */
export function isBetweenRuns({ seen: { terminal }, work: { activity }, ending: { stop } }: AgentRecord): boolean {
  if (terminal?.restart?.when !== "always" || terminal.exit === null || activity.kind !== "FINISHED") return false;
  const { cause } = terminal.exit;
  return cause !== "person" && cause !== "stopped" && stop?.cause !== "ordered";
}

/** Expire first, then count. */
export const recentRestarts = (record: AgentRecord, { now, policy }: Context): readonly MonoMs[] =>
  record.recovery.restarts.filter((at) => at > now - policy.restart.window);

/**
 * A number from 0 to 1 that depends on the text alone: agents that went down together return apart, and a replay is the
 * same.
 */
export function jitterOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return ((hash >>> 0) % 1000) / 1000;
}
