import type { HealthState, MonoMs, RouseEvent } from "@rouse/contract";
import { type AgentRecord, isOver } from "../record.ts";

const ill: ReadonlySet<HealthState> = new Set<HealthState>(["UNRESPONSIVE", "STUCK", "FAILING"]);

/** Fifth stage: did it come back? An agent that was ill and is not any more is a fact of its own, with how long it took. Who ended without having finished, or by a person's hand, did not. */
export function noticeReturn(before: AgentRecord, after: AgentRecord, now: MonoMs): RouseEvent[] {
  const { state } = after.health;
  if (!ill.has(before.health.state) || (state !== "HEALTHY" && state !== "DEGRADED")) return [];
  if (isOver(after) && (after.work.activity.kind !== "FINISHED" || after.seen.terminal?.exit?.cause === "person"))
    return [];
  const illForSeconds = Math.round((now - before.health.since) / 1000);
  return [{ type: "AGENT_RECOVERED", payload: { agentId: after.agentId, from: before.health.state, illForSeconds } }];
}
