import { type DurationMs, type EndingReason, hours, type MonoMs, type RecoveryHold } from "@rouse/contract";
import type { Context } from "../context.ts";
import type { Escalation, Incident, Stage } from "../incident.ts";
import { isStanding, mostResumes } from "../limit.ts";
import { type AgentRecord, isOver, isStartingAgain } from "../record.ts";
import { gateOpensAt } from "../recovery-gate.ts";
import { jitterOf, recentRestarts, restartsAllowed, runsOnce } from "../restart-rule.ts";
import { awaitAnswer, isQuestion } from "./ask-orchestrator.ts";
import { handOver, holdBack, type Rung, recovered, wait } from "./rung.ts";

/** The process is over: the agent is brought back within its budget, unless somebody has to decide first. */
export function chooseWayBack(record: AgentRecord, incident: Incident, context: Context): Rung {
  const { policy } = context;
  const { stage } = incident;
  const { terminal } = record.seen;
  const { stop } = record.ending;
  if (stop !== null && stop.orderedAt !== null && stop.outcome === null) return wait();
  if (stop?.outcome?.kind === "termination_incomplete") return handOver("survivors");
  if (isEndedByPerson(record)) return afterOrder(record);
  if (stage.kind === "probation") return handOver("relapse");
  if (stage.kind === "stopping" && stage.next === "hand-off") return recovered("handed-off");
  if (stage.kind === "escalated" && isAskedWhileDown(stage.escalation, record))
    return awaitAnswer(stage.escalation, context) ?? handOver(endingOf(stage.escalation));
  if (stage.kind !== "down") return { kind: "go-down", by: wayBack(incident, stage) };
  if (stop?.cause === "repeated-error") return handOver("not-brought-back");
  // It ended in a person's own terminal: they saw it, and start it again themselves.
  if (terminal?.foreground === true) return recovered("ended");
  const once = stage.pressed ? null : afterOnlyRun(record);
  if (once !== null) return once;
  if (policy.mode !== "act") return handOver("mode");
  const final = stage.pressed ? null : finalTurn(record);
  if (final !== null) return handOver(final);
  const limited = afterLimit(record, incident, stage, context);
  if (limited !== null) return limited;
  return bringBack(record, stage, context);
}

/** The owner wants no restarts. An end by itself closes the incident; an agent that we stopped is handed over. */
function afterOnlyRun(record: AgentRecord): Rung | null {
  // A decision to bring it back goes first.
  if (!runsOnce(record) || record.ending.stop?.cause === "decided") return null;
  return record.seen.terminal?.exit?.cause === "stopped" ? handOver("not-started-again") : recovered("ended");
}

/** The agent ended at its limit and its policy does not resume it by itself, or that was tried often enough. */
function afterLimit(
  { seen: { limit } }: AgentRecord,
  incident: Incident,
  { pressed }: Extract<Stage, { kind: "down" }>,
  { now, policy }: Context,
): Rung | null {
  if (!isStanding(limit) || pressed) return null;
  const { afterExit } = policy.limitResume;
  if (limit.attempts >= mostResumes || afterExit === "off") return handOver("at-its-limit");
  if (afterExit === "auto" || incident.escalations > 0 || now < limit.until) return null;
  return { kind: "escalate", reason: "limit-over", otherwise: { kind: "hand-over", because: "nobody-answered" } };
}

function bringBack(
  record: AgentRecord,
  { by, pressed, notBefore }: Extract<Stage, { kind: "down" }>,
  context: Context,
): Rung {
  const { now, doubt } = context;
  if (isStartingAgain(record)) return wait();
  if (doubt.frozen) return holdBack("frozen");
  if (notBefore !== null && now < notBefore) return wait(notBefore);
  const revival = by === "restart" ? chooseRestart(record, context) : chooseRecovery(record, context);
  if (pressed) return { kind: "revive", by, attempt: revival.kind === "start" ? revival.attempt : 0 };
  if (revival.kind === "exhausted") return { kind: "give-up", by, attempts: revival.attempts };
  const opensAt = gateOpensAt(record, context) ?? now;
  if (revival.kind === "wait" && revival.until >= opensAt)
    return holdBack(by === "restart" ? "cooldown" : "backoff", revival.until);
  if (now < opensAt) return holdBack("breaker-open", opensAt);
  return { kind: "revive", by, attempt: revival.kind === "start" ? revival.attempt : 0 };
}

/** What holds back an agent that is down, and until when, where that is known; `null`: nothing, or it is not down. */
export function whatHoldsBack(
  record: AgentRecord,
  context: Context,
): { readonly because: RecoveryHold; readonly until: MonoMs | null } | null {
  const { incident } = record.ladder;
  if (incident?.stage.kind !== "down" || record.life.incarnation !== incident.incarnation || !isOver(record))
    return null;
  const rung = chooseWayBack(record, incident, context);
  return rung.kind === "wait" && rung.because !== undefined ? { because: rung.because, until: rung.until } : null;
}

/** A person ended it: by their own hand, or by an order that the holder did not refuse. */
const isEndedByPerson = ({ seen: { terminal }, ending: { stop } }: AgentRecord): boolean =>
  terminal?.exit?.cause === "person" || (stop?.cause === "ordered" && stop.outcome?.kind !== "refused");

/** A restart that a person ordered is waited for until it has failed. */
function afterOrder({ ending: { stop, restart } }: AgentRecord): Rung {
  if (restart?.because === "ordered") return restart.problem === null ? wait() : handOver("restart-failed");
  return stop?.thenRestart === true ? wait() : handOver("ended-by-person");
}

/** The question was asked when the agent was down already; any other is moot once the process is over. */
export const isAskedWhileDown = (escalation: Escalation, { seen: { terminal } }: AgentRecord): boolean =>
  escalation.reason === "restarts-exhausted" ||
  escalation.reason === "recoveries-exhausted" ||
  escalation.reason === "limit-over" ||
  (isQuestion(escalation) && (terminal?.exit?.at ?? Number.POSITIVE_INFINITY) < escalation.openedAt);

const endingOf = ({ otherwise }: Escalation) =>
  otherwise.kind === "hand-over" ? otherwise.because : ("nobody-answered" as const);

/** An agent that ended by itself or was not there is restarted; one stopped as stuck or failing is recovered. */
const wayBack = ({ illness }: Incident, stage: Stage): "restart" | "recovery" =>
  stage.kind === "stopping" && illness !== "UNRESPONSIVE" ? "recovery" : "restart";

/** Caps that the owner set, by the programs' own names. */
const caps: ReadonlySet<string> = new Set(["error_max_turns", "error_max_budget_usd"]);
const accountFailures =
  /^(?:authentication_failed|oauth_org_not_allowed|billing_error|account_on_hold|verification_required)$| 40[123]$/;

/**
 * Why the next life would end as this one did: only a person can change what its last turn failed for. `null`: it need
 * not.
 */
function finalTurn({ seen: { terminal } }: AgentRecord): EndingReason | null {
  const failed = terminal?.failedTurn ?? null;
  if (failed === null || terminal?.exit?.cause !== "by-itself") return null;
  if (caps.has(failed)) return "at-its-cap";
  return accountFailures.test(failed) ? "refused-by-provider" : null;
}

/** Whether an agent that is down may be started now. */
export type Revival =
  | { readonly kind: "start"; readonly attempt: number }
  | { readonly kind: "wait"; readonly until: MonoMs }
  | { readonly kind: "exhausted"; readonly attempts: number };

/** An agent that ended without our doing starts at once, then after the cooldown, and so often in the window. */
function chooseRestart(record: AgentRecord, context: Context): Revival {
  const { now, policy } = context;
  const recent = recentRestarts(record, context);
  if (recent.length >= restartsAllowed(record, policy)) return { kind: "exhausted", attempts: recent.length };
  return notBefore(record.recovery.restartedAt, policy.restart.cooldown, now, recent.length + 1);
}

/** An agent that we stopped starts so often per task and per hour, with longer pauses each time. */
export function chooseRecovery(record: AgentRecord, { now, policy }: Context): Revival {
  const { maxPerTask, maxPerHour, backoff } = policy.recovery;
  const ofTask = record.recovery.attempts.filter(
    ({ taskId, at }) => taskId === record.task.id && (taskId !== null || at > now - hour),
  );
  const ofHour = record.recovery.attempts.filter(({ at }) => at > now - hour);
  if (ofTask.length >= maxPerTask) return { kind: "exhausted", attempts: ofTask.length };
  if (ofHour.length >= maxPerHour) return { kind: "exhausted", attempts: ofHour.length };
  const wait = backoff[Math.min(ofTask.length, backoff.length) - 1] ?? 0;
  const attempt = ofTask.length + 1;
  const jittered = Math.round(wait * (0.9 + 0.2 * jitterOf(`${record.agentId}/${attempt}`)));
  return notBefore(ofTask[ofTask.length - 1]?.at ?? null, jittered, now, attempt);
}

const hour: DurationMs = hours(1);

function notBefore(last: MonoMs | null, rest: DurationMs, now: MonoMs, attempt: number): Revival {
  const until = last === null ? now : last + rest;
  return now < until ? { kind: "wait", until } : { kind: "start", attempt };
}
