import type { Policy } from "@rouse/contract";
import { type AgentRecord, beatRhythm, isOver, type Standing } from "@rouse/core";

/** How one agent stands in the fleet. */
export function describeStanding(record: AgentRecord, policy: Policy): Standing {
  const { interval, ttl } = beatRhythm(record.activity, policy);
  const quiet =
    record.findings.length === 0 ? undefined : record.findings.find((finding) => finding.kind === "missed-beats");
  const gone =
    isOver(record) ||
    record.activity.kind === "FINISHED" ||
    record.health.state === "UNRESPONSIVE" ||
    record.health.state === "TERMINATED";
  return {
    agentId: record.agentId,
    node: record.node,
    // An agent that only its holder speaks for says nothing about the path that beats take.
    watched: record.heard && !gone && (record.terminal === null || record.beats.accepted > 0),
    quietSince: quiet?.since ?? null,
    interval,
    ttl,
  };
}
