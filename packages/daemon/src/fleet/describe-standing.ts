import type { Policy } from "@rouse/contract";
import { type AgentRecord, beatRhythm, isOver, type Standing } from "@rouse/core";

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
