import {
  type DurationMs,
  type EscalationReason,
  hours,
  type MonoMs,
  type Policy,
  type RouseEvent,
  type Severity,
} from "@rouse/contract";
import type { Context } from "../context.ts";
import type { Doubt } from "../doubt.ts";
import type { Escalation, Incident } from "../incident.ts";
import { type AgentRecord, withLadder } from "../record.ts";
import type { Signal, Told } from "../signal.ts";
import { type Intervened, join, raiseAlert, unchanged, withEvents } from "./alert-life.ts";

/** So many critical tasks that wait for a person make it everybody's matter. */
const severalBlocked = 2;

function severityOf(reason: EscalationReason, doubt: Doubt): Severity {
  if (doubt.criticalBlocked >= severalBlocked) return "SEV-1";
  return reason === "restarts-exhausted" || reason === "recoveries-exhausted" ? "SEV-2" : "SEV-3";
}

/** Asks the orchestrator. Whoever delivers the question adds the details from what is saved. */
export function escalate(
  record: AgentRecord,
  incident: Incident,
  reason: EscalationReason,
  otherwise: Escalation["otherwise"],
  { now, policy, doubt }: Context,
  askedBefore = 0,
): Intervened {
  const { agentId } = record;
  const number = record.ladder.counts.escalations + 1;
  const severity = severityOf(reason, doubt);
  const question = { id: `${agentId}.${number}`, reason, severity, askedBefore, otherwise };
  const { escalation, ...told } = askQuestion(agentId, incident.id, question, now, policy);
  const escalations = incident.escalations + 1;
  return {
    record: withLadder(record, {
      incident: { ...incident, severity, escalations, stage: { kind: "escalated", escalation } },
      asked: { cause: incident.cause, at: now },
      counts: { ...record.ladder.counts, escalations: number },
    }),
    ...told,
  };
}

/** Opens a question about an agent, or about the fleet, and tells of it. */
export function askQuestion(
  agentId: string,
  incident: string,
  question: Pick<Escalation, "id" | "reason" | "severity" | "askedBefore" | "otherwise">,
  now: MonoMs,
  policy: Policy,
): Told & { readonly escalation: Escalation } {
  const { id, reason, severity, askedBefore } = question;
  const allowed = timeToAnswer(askedBefore, policy);
  const until = now + allowed;
  const severeSince = severity === "SEV-1" ? now : null;
  const delivery = { delivery: "queued", acknowledged: null, overdueTold: false } as const;
  const answerWithinSeconds = Math.round(allowed / 1000);
  const payload = { agentId, escalation: id, incident, reason, severity, answerWithinSeconds };
  return {
    escalation: { ...question, severeSince, openedAt: now, until, ...delivery },
    events: [{ type: "ESCALATION_TRIGGERED", payload }],
    actions: [{ kind: "escalate", key: `${id}/asked`, agentId, escalation: id, until }],
  };
}

/** However often nobody answers, somebody is asked again in every shift. */
const longestToAnswer = hours(8);

/** Twice as long each time, so that nobody is woken every quarter of an hour. */
const timeToAnswer = (askedBefore: number, { escalation }: Policy): DurationMs =>
  Math.max(escalation.timeout, Math.min(longestToAnswer, escalation.timeout * 2 ** askedBefore));

/** Nobody answered and the agent runs on: a person is called, and the question is asked again. */
export function askAgain(
  record: AgentRecord,
  incident: Incident,
  otherwise: Escalation["otherwise"],
  context: Context,
): Intervened {
  const { now } = context;
  const last = openEscalation(record);
  if (last === null) return unchanged(record);
  const { agentId, health } = record;
  const over = withdrawEscalation(record, "nobody answered; it is asked again", now);
  const times = last.askedBefore + 1;
  const asked = escalate(record, incident, last.reason, otherwise, context, times);
  const summary = `${agentId} needs a person: ${incident.illness} (${incident.cause}); nobody answered ${times === 1 ? "the question" : `${times} questions`} about it, it runs on`;
  const told = raiseAlert(asked.record, { cause: health.reason, severity: "critical" }, summary, now);
  return join(join(over, asked), told);
}

export const openEscalation = (record: AgentRecord): Escalation | null =>
  record.ladder.incident?.stage.kind === "escalated" ? record.ladder.incident.stage.escalation : null;

const withEscalation = (record: AgentRecord, escalation: Escalation): AgentRecord =>
  record.ladder.incident === null
    ? record
    : withLadder(record, {
        incident: {
          ...record.ladder.incident,
          severity: escalation.severity,
          stage: { kind: "escalated", escalation },
        },
      });

/** A task that blocks meanwhile makes the question graver. It does not become lighter again. */
export function raiseEscalation(record: AgentRecord, now: MonoMs, { criticalBlocked }: Doubt): Intervened {
  const escalation = openEscalation(record);
  if (escalation === null || escalation.severity === "SEV-1" || criticalBlocked < severalBlocked)
    return unchanged(record);
  const { agentId } = record;
  const severity = "SEV-1";
  return withEvents(withEscalation(record, { ...escalation, severity, severeSince: now }), {
    type: "ESCALATION_RAISED",
    payload: { agentId, escalation: escalation.id, severity, criticalBlocked },
  });
}

/** The delivery of a question, or its acknowledgement by a person. */
export function followEscalation(record: AgentRecord, signal: Signal, now: MonoMs): Intervened {
  const escalation = openEscalation(record);
  if (escalation === null) return unchanged(record);
  if (signal.kind === "acknowledged" && signal.escalation === escalation.id) {
    if (escalation.acknowledged !== null) return unchanged(record);
    return acknowledge(record, escalation, signal.actor, now);
  }
  if (signal.kind !== "action-outcome" || signal.key !== `${escalation.id}/asked`) return unchanged(record);
  if (escalation.delivery !== "queued") return unchanged(record);
  if (signal.outcome === "delivered")
    return { ...unchanged(record), record: withEscalation(record, { ...escalation, delivery: "delivered" }) };
  return signal.outcome.kind === "undelivered"
    ? fail(record, escalation, signal.outcome.problem, now)
    : unchanged(record);
}

function acknowledge(record: AgentRecord, escalation: Escalation, actor: string, now: MonoMs): Intervened {
  const { agentId } = record;
  return withEvents(withEscalation(record, { ...escalation, acknowledged: { actor, at: now } }), {
    type: "ESCALATION_ACKNOWLEDGED",
    payload: { agentId, escalation: escalation.id, actor },
  });
}

/** The orchestrator could not be asked: a person is called at once, while the ladder goes on. */
function fail(record: AgentRecord, escalation: Escalation, problem: string, now: MonoMs): Intervened {
  const { agentId } = record;
  const { id, severeSince } = escalation;
  const failed: Escalation = {
    ...escalation,
    severity: "SEV-1",
    severeSince: severeSince ?? now,
    delivery: "failed",
  };
  const summary = `the orchestrator could not be asked about ${agentId}; a person is needed`;
  const event: RouseEvent = { type: "ESCALATION_UNDELIVERED", payload: { agentId, escalation: id, problem } };
  return {
    record: withEscalation(record, failed),
    events: [event],
    actions: [{ kind: "raise-alert", key: `${id}/undelivered`, agentId, severity: "critical", summary }],
  };
}

export function tellOverdue(record: AgentRecord, escalation: Escalation, now: MonoMs): Intervened {
  const { agentId } = record;
  const { id, severeSince, openedAt } = escalation;
  const waitedSeconds = Math.round((now - (severeSince ?? openedAt)) / 1000);
  const summary = `nobody has acknowledged the escalation about ${agentId} for ${waitedSeconds} s`;
  return {
    record: withEscalation(record, { ...escalation, overdueTold: true }),
    events: [{ type: "ESCALATION_UNACKNOWLEDGED", payload: { agentId, escalation: id, waitedSeconds } }],
    actions: [{ kind: "raise-alert", key: `${id}/overdue`, agentId, severity: "critical", summary }],
  };
}

/** The question needs no answer any more. That there was none in time is an event. */
export function withdrawEscalation(record: AgentRecord, because: string, now: MonoMs): Intervened {
  const escalation = openEscalation(record);
  if (escalation === null) return unchanged(record);
  const { agentId } = record;
  const { id, openedAt, until } = escalation;
  const waitedSeconds = Math.round((now - openedAt) / 1000);
  const raised = [
    ...(escalation.overdueTold ? [`${id}/overdue`] : []),
    ...(escalation.delivery === "failed" ? [`${id}/undelivered`] : []),
  ];
  return {
    record,
    events: now < until ? [] : [{ type: "ESCALATION_UNANSWERED", payload: { agentId, escalation: id, waitedSeconds } }],
    actions: [
      { kind: "withdraw-escalation", key: `${id}/over`, agentId, escalation: id, because },
      ...raised.map((key) => ({ kind: "resolve-alert" as const, key: `${key}/resolved`, agentId })),
    ],
  };
}
