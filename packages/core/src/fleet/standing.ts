import type { Policy } from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { isSettled } from "../incident.ts";
import { type AgentRecord, isOver } from "../record.ts";
import type { FleetMember } from "./fleet-incidents.ts";
import { presenceOf } from "./watch-deaths.ts";
import type { Standing } from "./watch-fleet.ts";

/** Whether an agent is there, for the incidents of the fleet. */
export const describeMember = (record: AgentRecord): FleetMember => ({
  agentId: record.agentId,
  node: record.identity.node,
  presence: presenceOf(record),
  needy: record.ladder.handedOver !== null && !isSettled(record.ladder.handedOver),
});

/** Whether an agent is heard, for whoever watches for mass silence. */
export function describeStanding(record: AgentRecord, policy: Policy): Standing {
  const { interval, ttl } = beatRhythm(record.work.activity, policy);
  const quiet =
    record.health.findings.length === 0
      ? undefined
      : record.health.findings.find((finding) => finding.kind === "missed-beats");
  const gone =
    isOver(record) ||
    record.work.activity.kind === "FINISHED" ||
    record.health.state === "UNRESPONSIVE" ||
    record.health.state === "TERMINATED";
  return {
    agentId: record.agentId,
    node: record.identity.node,
    // An agent that only its holder speaks for says nothing about the path that beats take.
    watched: record.life.heard && !gone && (record.seen.terminal === null || record.beats.accepted > 0),
    quietSince: quiet?.since ?? null,
    interval,
    ttl,
  };
}
