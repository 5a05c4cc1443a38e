import type { Policy } from "@rouse/contract";
import { beatRhythm } from "../accept/beat-rhythm.ts";
import { isSettled } from "../incident.ts";
import { type AgentRecord, isOver } from "../record.ts";
import type { StandsSo } from "./fleet-incidents.ts";
import { presenceOf } from "./watch-deaths.ts";
import type { Standing } from "./watch-fleet.ts";

/** How one agent stands, for the incidents of the fleet. */
export const standsSo = (record: AgentRecord): StandsSo => ({
  agentId: record.agentId,
  node: record.identity.node,
  presence: presenceOf(record),
  needy: record.ladder.handedOver !== null && !isSettled(record.ladder.handedOver),
});

/** How one agent stands in the fleet. */
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
