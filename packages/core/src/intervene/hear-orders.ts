import type { AgentAnswer, EscalationReason } from "@rouse/contract";
import type { Context } from "../context.ts";
import { causeOf } from "../decide/ask-orchestrator.ts";
import { chooseChannel } from "../decide/choose-channel.ts";
import { endedWithOthers, isMatterOfFleet } from "../decide/choose-response.ts";
import { illnessOf, nudgedFor } from "../decide/choose-rung.ts";
import { type Escalation, type Incident, isSettled, type Stage } from "../incident.ts";
import { type AgentRecord, type AnswersHeard, isOver, isStartingAgain, withEnding, withLadder } from "../record.ts";
import type { Signal } from "../signal.ts";
import { type Intervened, join, unchanged } from "./alert-life.ts";
import { handOffWording, selfReflection, takenWording, type Wording } from "./compose-nudge.ts";
import { escalate, openEscalation, withdrawEscalation } from "./escalation-life.ts";
import { closeIncident, openIncident, withStage } from "./incident-life.ts";
import { queueNudge } from "./nudge-life.ts";

/**
 * Decisions and orders of people and the orchestrator, and the answers of the agent itself. Each counts once; one that
 * comes too late changes nothing.
 */
export function hearOrders(record: AgentRecord, signal: Signal, context: Context): Intervened {
  switch (signal.kind) {
    case "decided":
      return hearDecision(record, signal, context);
    case "decided-for-all":
      return hearDecisionForAll(record, signal, context);
    case "answered":
      return hearAnswer(record, signal.answer, context);
    case "heartbeat":
      return signal.beat.answer === undefined ? unchanged(record) : hearAnswer(record, signal.beat.answer, context);
    case "nudge-ordered":
      return orderNudge(record, signal, context);
    case "reflection-wanted":
      return tell(record, selfReflection(signal.failed, signal.of), context);
    case "task-taken":
      return tellTaken(record, signal, context);
    case "escalation-ordered":
      return orderEscalation(record, context);
    case "acknowledged":
    case "checked-in":
    case "registered":
    case "wake":
    case "action-outcome":
    case "stepped":
    case "held":
    case "reported":
    case "holder-lost":
    case "leftovers-gone":
    case "ordered":
    case "assigned":
    case "checkpointed":
    case "breaker-changed":
    case "recovery-reset":
      return unchanged(record);
  }
}

/** The orchestrator's decision counts for the question it answers, and once. */
function hearDecision(record: AgentRecord, signal: Extract<Signal, { kind: "decided" }>, context: Context): Intervened {
  const { now, policy, doubt } = context;
  const { agentId } = record;
  const { incident } = record.ladder;
  const escalation = openEscalation(record);
  if (incident === null || escalation?.id !== signal.escalation) return unchanged(record);
  const { decision, actor, reason } = signal;
  const { actions } = withdrawEscalation(record, `decided: ${decision}`, now);
  const payload = { agentId, escalation: escalation.id, decision, actor, reason };
  const decided = (stage: Stage): Intervened => ({
    record: withEnding(withStage(record, incident, stage), { refused: null }),
    events: [{ type: "ESCALATION_DECIDED", payload }],
    actions,
  });
  const by = isOver(record) ? wayBackOf(incident, escalation) : null;
  switch (decision) {
    case "allow_more_time": {
      const until = now + (signal.more ?? policy.escalation.timeout);
      if (by !== null) return decided({ kind: "down", by, pressed: false, notBefore: until });
      return decided({ kind: "more-time", until });
    }
    case "terminate_and_recover":
      // An agent that is down already need not be stopped.
      if (by !== null) return decided({ kind: "down", by, pressed: true, notBefore: null });
      return decided({ kind: "stopping", cause: "decided", actor, next: "bring-back", interrupted: 0, shut: null });
    case "force_handoff": {
      const next = "hand-off" as const;
      const going = decided({ kind: "stopping", cause: "decided", actor, next, interrupted: 0, shut: null });
      return by !== null || doubt.frozen ? going : handOff(going, actor, context);
    }
  }
}

/** A decision for the whole fleet incident. An agent that is not held, or was heard meanwhile, is not stopped. */
function hearDecisionForAll(
  record: AgentRecord,
  { decision, actor }: Extract<Signal, { kind: "decided-for-all" }>,
  context: Context,
): Intervened {
  const { doubt } = context;
  if (isOver(record)) return decision === "terminate_and_recover" ? bringBack(record, context) : unchanged(record);
  if (record.seen.terminal === null || record.ladder.incident !== null || !isMatterOfFleet(record, doubt))
    return unchanged(record);
  const opened = openQuestion(record, context);
  const { incident } = opened.record.ladder;
  if (incident === null) return opened;
  const next = decision === "force_handoff" ? "hand-off" : "bring-back";
  const stage: Stage = { kind: "stopping", cause: "decided", actor, next, interrupted: 0, shut: null };
  const going = { ...opened, record: withStage(opened.record, incident, stage) };
  return decision === "force_handoff" && !doubt.frozen ? handOff(going, actor, context) : going;
}

/**
 * The agent ended together with others and is down for good: the decision for all brings it back, whatever its budget.
 */
function bringBack(record: AgentRecord, context: Context): Intervened {
  const { handedOver } = record.ladder;
  if (handedOver === null || isSettled(handedOver) || !endedWithOthers(record)) return unchanged(record);
  const opened = openIncident(record, handedOver.illness, "process-exited", context);
  const { incident } = opened.record.ladder;
  if (incident === null) return opened;
  const by = handedOver.because === "recoveries-exhausted" ? "recovery" : "restart";
  const stage: Stage = { kind: "down", by, pressed: true, notBefore: null };
  return { ...opened, record: withStage(opened.record, incident, stage) };
}

function wayBackOf({ illness }: Incident, { reason }: Escalation): "restart" | "recovery" {
  if (reason === "recoveries-exhausted") return "recovery";
  return reason === "restarts-exhausted" || illness === "UNRESPONSIVE" ? "restart" : "recovery";
}

/** The agent is told before it is stopped, so that it can leave its work in order. */
function handOff(before: Intervened, actor: string, context: Context): Intervened {
  const channel = chooseChannel(before.record);
  if (channel === null) return before;
  const order = { channel, attempt: 0, cause: null, actor, wording: handOffWording() };
  const told = queueNudge(before.record, order, context);
  return join(before, told);
}

const asked: Readonly<Partial<Record<AgentAnswer["kind"], EscalationReason>>> = {
  handoff: "handoff-requested",
  blocker: "blocker-reported",
};

/** An update only counts: what the agent does shows the rest. A hand-off or a blocker is asked about at once. */
function hearAnswer(before: AgentRecord, answer: AgentAnswer, context: Context): Intervened {
  const { policy, doubt } = context;
  const answers = countAnswer(before, answer.kind);
  const record: AgentRecord = withLadder(before, { answers });
  const told: Intervened = {
    ...unchanged(record),
    events: [{ type: "AGENT_ANSWERED", payload: { agentId: record.agentId, answer } }],
  };
  const reason = asked[answer.kind];
  if (reason === undefined || doubt.frozen || policy.mode === "observe" || !mayAsk(record))
    return isWorthTelling(answers[answer.kind]) ? told : unchanged(record);
  return ask(told, reason, context);
}

function countAnswer({ ladder: { answers, nudge } }: AgentRecord, kind: AgentAnswer["kind"]): AnswersHeard {
  const since = nudge?.id ?? null;
  const so = answers !== null && answers.since === since ? answers : { since, update: 0, handoff: 0, blocker: 0 };
  return { ...so, [kind]: so[kind] + 1 };
}

/** The first, second, fourth, eighth … time: an agent that talks without end fills no disk. */
const isWorthTelling = (times: number): boolean => (times & (times - 1)) === 0;

/** Nobody is asked about an agent whose life is over, or that a person has in hand. */
const mayAsk = (record: AgentRecord): boolean =>
  record.work.activity.kind !== "FINISHED" &&
  !isOver(record) &&
  record.ladder.handedOver === null &&
  isWaiting(record.ladder.incident);

/** Nobody is asked twice about the same, nor about an agent that is being stopped. */
const isWaiting = (incident: Incident | null): boolean =>
  incident === null ||
  incident.stage.kind === "open" ||
  incident.stage.kind === "nudged" ||
  incident.stage.kind === "more-time";

function ask(before: Intervened, reason: EscalationReason, context: Context): Intervened {
  const opened =
    before.record.ladder.incident === null ? openQuestion(before.record, context) : unchanged(before.record);
  const { incident } = opened.record.ladder;
  if (incident === null) return before;
  const otherwise = { kind: "hand-over", because: "nobody-answered" } as const;
  const escalated = escalate(opened.record, incident, reason, otherwise, context);
  return join(join(before, opened), escalated);
}

const openQuestion = (record: AgentRecord, context: Context): Intervened =>
  openIncident(record, illnessOf(record, context) ?? "DEGRADED", causeOf(record), context);

/** An answer cannot help an agent that is done. */
function orderEscalation(record: AgentRecord, context: Context): Intervened {
  const isDone = record.work.activity.kind === "FINISHED";
  if (isDone || openEscalation(record) !== null || !isWaiting(record.ladder.incident)) return unchanged(record);
  return ask(unchanged(record), "ordered", context);
}

/** A person's nudge goes out whatever the agent's health; only a freeze stops it. */
function orderNudge(
  record: AgentRecord,
  { actor, text }: Extract<Signal, { kind: "nudge-ordered" }>,
  context: Context,
): Intervened {
  const { doubt } = context;
  const channel = chooseChannel(record);
  if (channel === null || doubt.frozen) return unchanged(record);
  const wording = text === null ? null : ({ template: "operator", text } as const);
  return queueNudge(record, { channel, attempt: 0, cause: nudgedFor(record), actor, wording }, context);
}

/** Tells the agent, where there is a channel and its policy allows nudges. */
function tell(record: AgentRecord, wording: Wording, context: Context): Intervened {
  const { policy, doubt } = context;
  const channel = chooseChannel(record);
  if (channel === null || doubt.frozen || policy.mode === "observe" || !policy.nudge.enabled) return unchanged(record);
  return queueNudge(record, { channel, attempt: 0, cause: null, actor: "rouse", wording }, context);
}

/** The agent would do somebody else's work. One that works on another task need not hear of it. */
function tellTaken(record: AgentRecord, signal: Extract<Signal, { kind: "task-taken" }>, context: Context): Intervened {
  const { now } = context;
  const { id: taskId } = record.task;
  const { activity } = record.work;
  const { incident } = record.ladder;
  const { terminal } = record.seen;
  if (taskId !== signal.taskId || activity.kind === "FINISHED") return unchanged(record);
  if (!isOver(record)) return tell(record, takenWording(signal), context);
  // An agent that was started for this task alone is not brought back for it.
  if (incident === null || terminal?.startedFor !== taskId || isStartingAgain(record)) return unchanged(record);
  return closeIncident(record, incident, "recovered", "handed-off", now);
}
