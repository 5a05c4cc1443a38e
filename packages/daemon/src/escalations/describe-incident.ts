import {
  type EpochMs,
  type EscalationReport,
  type IncidentReport,
  type MonoMs,
  type Policy,
  toIso,
} from "@rouse/contract";
import { type AgentRecord, type Incident, openEscalation } from "@rouse/core";

type Iso = (at: MonoMs) => string;

export function describeIncident(record: AgentRecord, iso: Iso): IncidentReport | null {
  const { incident, nudge } = record.ladder;
  if (incident === null) return null;
  const nextAt = nextOf(incident);
  const sentAt = nudge?.sent == null ? null : iso(nudge.sent.at);
  return {
    id: incident.id,
    illness: incident.illness,
    cause: incident.cause,
    severity: incident.severity,
    openedAt: iso(incident.openedAt),
    stage: incident.stage.kind,
    nextAt: nextAt === null ? null : iso(nextAt),
    escalation: openEscalation(record)?.id ?? null,
    nudges: incident.nudges,
    nudge: nudge === null ? null : { id: nudge.id, state: nudge.state, channel: nudge.channel, sentAt },
  };
}

const otherwise = {
  stop: "terminate-and-recover",
  keep: "keep-and-ask-again",
  "hand-over": "hand-to-a-person",
} as const;

function nextOf({ stage }: Incident): MonoMs | null {
  if (stage.kind === "escalated") return stage.escalation.until;
  return stage.kind === "more-time" || stage.kind === "probation" ? stage.until : null;
}

/** An open question, as its reader sees it. */
export function describeEscalation(
  record: AgentRecord,
  policy: Policy,
  toWall: (at: MonoMs) => EpochMs,
): EscalationReport | null {
  const escalation = openEscalation(record);
  const { incident } = record.ladder;
  if (escalation === null || incident === null) return null;
  const iso: Iso = (at) => toIso(toWall(at));
  const { acknowledged, severity, severeSince } = escalation;
  const reasons = record.health.findings.filter(({ level }) => level !== "note").map(({ text }) => text);
  return {
    id: escalation.id,
    agentId: record.agentId,
    incarnation: record.life.incarnation,
    taskId: record.task.id,
    incident: incident.id,
    severity,
    illness: incident.illness,
    cause: incident.cause,
    reason: escalation.reason,
    openedAt: iso(escalation.openedAt),
    answerBy: iso(escalation.until),
    acknowledgeBy: severeSince === null ? null : iso(severeSince + policy.escalation.acknowledgeWithin),
    acknowledged: acknowledged === null ? null : { actor: acknowledged.actor, at: iso(acknowledged.at) },
    askedBefore: escalation.askedBefore,
    otherwise: otherwise[escalation.otherwise.kind],
    decisions: ["allow_more_time", "force_handoff", "terminate_and_recover"],
    summary: `${record.agentId} is ${record.health.state}: ${reasons.join("; ") || incident.cause}`,
  };
}
