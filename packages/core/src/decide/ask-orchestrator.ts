import {
  type EndingReason,
  type EscalationReason,
  type FindingKind,
  findingKinds,
  type HealthReason,
  type MonoMs,
  type Policy,
  type StopCause,
} from "@rouse/contract";
import { gravest } from "../assess/health-machine.ts";
import { earliest, gravity } from "../assess/look.ts";
import { isLoop } from "../assess/moved-since.ts";
import type { Context } from "../context.ts";
import type { Escalation, Incident } from "../incident.ts";
import type { AgentRecord } from "../record.ts";
import { isEnough, kindsOfEvidence } from "./evidence.ts";
import { type Rung, wait } from "./rung.ts";

export const causeOf = (record: AgentRecord): HealthReason =>
  gravest(record.health.findings)?.kind ?? record.health.reason;

export const asFinding = (reason: HealthReason): FindingKind | null =>
  findingKinds.includes(reason as FindingKind) ? (reason as FindingKind) : null;

/** Asks the orchestrator. What follows without an answer depends on whether the agent may be stopped. */
export function ask(record: AgentRecord, incident: Incident, reason: EscalationReason, context: Context): Rung {
  const { now, policy } = context;
  const again = askAgainAt(record, incident, policy);
  if (again !== null && now < again) return wait(again);
  return { kind: "escalate", reason, otherwise: unanswered(record, incident, context) };
}

/** When the same question may be asked again, after an earlier incident for the same cause. */
function askAgainAt(
  { ladder: { asked } }: AgentRecord,
  { cause, openedAt }: Incident,
  { escalation }: Policy,
): MonoMs | null {
  if (asked === null || asked.at >= openedAt) return null;
  const isSame = asked.cause === cause || (isLoop(asked.cause) && isLoop(cause));
  return isSame ? asked.at + escalation.timeout : null;
}

/**
 * Silence is no order to stop: that takes the gate's evidence and a policy that wants it. Otherwise the agent runs on.
 */
export function unanswered(record: AgentRecord, incident: Incident, context: Context): Escalation["otherwise"] {
  const { policy } = context;
  const give = (because: EndingReason): Escalation["otherwise"] => ({ kind: "hand-over", because });
  if (incident.illness === "DEGRADED") return give("nobody-answered");
  if (record.seen.terminal === null) return give("not-supervised");
  if (policy.mode !== "act") return give("mode");
  if (policy.protected) return give("protected");
  const mayStop = causeToStop(record, incident, policy) !== null && policy.escalation.onUnanswered === "terminate";
  return mayStop && isEnough(kindsOfEvidence(record, context)) ? { kind: "stop" } : { kind: "keep" };
}

/** The cause to stop for: the gravest finding that the policy allows, or the incident's own cause. */
export function causeToStop(record: AgentRecord, { cause }: Incident, policy: Policy): StopCause | null {
  const found = record.health.findings.filter(({ level }) => gravity[level] >= gravity.stuck);
  const allowed = gravest(found.filter(({ kind }) => mayStopFor(kind, policy)));
  if (allowed !== null) return allowed.kind;
  return found.length === 0 && mayStopFor(cause, policy) ? (asFinding(cause) ?? "no-progress") : null;
}

/** The policy may exclude stops for quiet output and for repeated errors. */
const mayStopFor = (cause: HealthReason, policy: Policy): boolean =>
  (cause !== "no-output" || policy.terminal.stopOnIdle) &&
  (cause !== "repeated-error" || policy.terminal.stopOnRepeatedError);

/** Waits for the answer; a SEV-1 that no person acknowledged is told once more. `null`: nobody answered in time. */
export function awaitAnswer(escalation: Escalation, { now, policy }: Context): Rung | null {
  const { until } = escalation;
  const due = overdueAt(escalation, policy);
  if (due !== null && now >= due) return { kind: "tell-overdue" };
  return now < until ? wait(earliest(until, due)) : null;
}

/** Nobody acts in a freeze, but a missing acknowledgement is still told. */
export function awaitThaw(escalation: Escalation, { now, policy }: Context): Rung {
  const due = overdueAt(escalation, policy);
  return due !== null && now >= due ? { kind: "tell-overdue" } : wait(due);
}

/** When a person should have acknowledged it; `null`: not needed, or already told. */
function overdueAt({ acknowledged, overdueTold, severeSince }: Escalation, policy: Policy): MonoMs | null {
  if (severeSince === null || acknowledged !== null || overdueTold) return null;
  return severeSince + policy.escalation.acknowledgeWithin;
}

/** A question that a person or the agent itself raised stays open until it is answered, however well the agent is. */
export const isQuestion = ({ reason }: Escalation): boolean =>
  reason === "ordered" || reason === "handoff-requested" || reason === "blocker-reported";
