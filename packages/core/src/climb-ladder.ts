import type { MonoMs, StopCause, StopRefusal } from "@rouse/contract";
import { earliest } from "./assess/look.ts";
import type { Context } from "./context.ts";
import { chooseResponse, endedWithOthers } from "./decide/choose-response.ts";
import { chooseRung } from "./decide/choose-rung.ts";
import type { Rung } from "./decide/rung.ts";
import type { Incident, Stage } from "./incident.ts";
import { burnDue, tellBurn } from "./intervene/after-hand-over.ts";
import { type Intervened, join, respond, unchanged } from "./intervene/alert-life.ts";
import {
  askAgain,
  escalate,
  followEscalation,
  openEscalation,
  raiseEscalation,
  tellOverdue,
  withdrawEscalation,
} from "./intervene/escalation-life.ts";
import { hearOrders } from "./intervene/hear-orders.ts";
import { closeIncident, openIncident, turnIncident, withStage } from "./intervene/incident-life.ts";
import { followNudge, nudgeExpires, queueNudge } from "./intervene/nudge-life.ts";
import { obeyOrder } from "./intervene/obey-order.ts";
import {
  concludeOrder,
  concludeStop,
  followStop,
  orderStop,
  recallStop,
  refuseStop,
  saveWork,
  tellShutGate,
  withdrawStop,
} from "./intervene/stop-life.ts";
import { type AgentRecord, withEnding, withLadder } from "./record.ts";
import { attemptDue, followAttempt } from "./recover/follow-attempt.ts";
import { followLimit, limitDue } from "./recover/limit-life.ts";
import {
  awaitNewLife,
  followRestart,
  keepRunning,
  lookForNewLife,
  nextRunDue,
  obeyRestart,
  revive,
} from "./recover/restart-life.ts";
import type { Signal } from "./signal.ts";

/** More rungs than this at one moment would be a ladder that goes round. */
const mostRungs = 12;

/**
 * One turn of an agent on the ladder: first outcomes of actions and orders of people, then rung after rung until one has
 * to wait. `wakeAt` is when the next one may be due.
 */
export function climbLadder(before: AgentRecord, signal: Signal, context: Context): Intervened {
  const { now, doubt } = context;
  let at = inTurn(before, [
    (record) => followStop(record, signal),
    (record) => concludeOrder(record),
    (record) => followRestart(record, signal, context),
    (record) => awaitNewLife(record, context),
    (record) => followAttempt(record, signal, context),
    (record) => followEscalation(record, signal, now),
    (record) => raiseEscalation(record, now, doubt),
    (record) => followNudge(record, signal, context),
    (record) => hearOrders(record, signal, context),
    (record) => obeyOrder(record, signal, context),
    (record) => obeyRestart(record, signal, context),
    (record) => followLimit(record, context),
    (record) => keepRunning(record, context),
    (record) => tellBurn(record, now),
  ]);
  for (let rungs = 0; rungs < mostRungs; rungs++) {
    const rung = chooseRung(at.record, context);
    if (rung.kind === "wait") {
      const { record } = at;
      const others = [
        nudgeExpires(record),
        lookForNewLife(record, context),
        limitDue(record, context),
        later(nextRunDue(record, context), now),
        burnDue(record, now),
        later(attemptDue(record, context), now),
      ];
      return wakeFor(respondAnew(before, at, context), others.reduce(earliest, rung.until));
    }
    at = join(at, takeRung(at.record, rung, context));
  }
  throw new Error(
    `the ladder of ${before.agentId} goes round: ${at.record.ladder.incident?.stage.kind ?? "no incident"}`,
  );
}

/** A change of incident, hand-over or alert may change who is told, so the response is chosen again. */
function respondAnew(before: AgentRecord, at: Intervened, context: Context): Intervened {
  const { now } = context;
  const isClosed = at.record.ladder.incident === null && before.ladder.incident !== null;
  if (
    !isClosed &&
    at.record.ladder.handedOver === before.ladder.handedOver &&
    at.record.health.alert === before.health.alert
  )
    return at;
  return join(at, respond(at.record, chooseResponse(at.record, context), now));
}

/** A due time in the past waits for a signal, not for the clock. */
const later = (due: MonoMs | null, now: MonoMs): MonoMs | null => (due !== null && due > now ? due : null);

function inTurn(record: AgentRecord, steps: readonly ((record: AgentRecord) => Intervened)[]): Intervened {
  return steps.reduce((at, step) => join(at, step(at.record)), unchanged(record));
}

function wakeFor(at: Intervened, until: MonoMs | null): Intervened {
  return until === null ? at : { ...at, record: { ...at.record, wakeAt: earliest(at.record.wakeAt, until) } };
}

function takeRung(record: AgentRecord, rung: Exclude<Rung, { kind: "wait" }>, context: Context): Intervened {
  const { now, policy } = context;
  if (rung.kind === "open") return openIncident(record, rung.illness, rung.cause, context);
  if (rung.kind === "take-back") return unchanged(withLadder(record, { handedOver: null }));
  const { incident } = record.ladder;
  if (incident === null) throw new Error(`${rung.kind} without an incident`);
  switch (rung.kind) {
    case "turn":
      return turnIncident(record, incident, rung.illness, rung.cause, now);
    case "close":
      return closeIncident(record, incident, rung.ending, rung.because, now);
    case "nudge":
      return nudge(record, incident, rung, context);
    case "escalate":
      return escalate(record, incident, rung.reason, rung.otherwise, context);
    case "ask-again":
      return askAgain(record, incident, rung.otherwise, context);
    case "tell-overdue":
      return tell(record, now);
    case "stop":
      return leave(record, incident, stopFor(rung.cause), now);
    case "save-work":
      return saveWork(record, orderFor(record, incident, rung.cause), context);
    case "order-stop":
      return record.ending.stop === null ? unchanged(record) : orderStop(record, record.ending.stop, context);
    case "recall-stop":
      return recallStop(record);
    case "withdraw-stop":
      return noteShut(withdrawStop(record, rung.because), incident, now);
    case "refuse-stop":
      return noteShut(refuseStop(record, rung.because, rung.cause), incident, now);
    case "tell-shut":
      return tellShut(record, incident, rung.because, now);
    case "go-down":
      return goDown(record, incident, rung.by, now);
    case "revive":
      return revive(withStage(record, incident, downAgain(incident.stage)), rung.by, rung.attempt, context);
    case "give-up":
      return giveUp(record, incident, rung, context);
    case "watch-closely":
      return unchanged(
        withStage(
          record,
          { ...incident, incarnation: record.life.incarnation },
          { kind: "probation", until: now + policy.recovery.probation },
        ),
      );
  }
}

const stopFor = (cause: StopCause): Stage => ({
  kind: "stopping",
  cause,
  actor: "rouse",
  // An agent that works on at a lost task is not brought back for it.
  next: cause === "task-timed-out" ? "hand-off" : "bring-back",
  interrupted: 0,
  shut: null,
});

/** Since when the gate is shut counts from the first refusal. */
function noteShut(refused: Intervened, incident: Incident, now: MonoMs): Intervened {
  const { stage } = incident;
  if (stage.kind !== "stopping" || stage.shut !== null) return refused;
  return { ...refused, record: withStage(refused.record, incident, { ...stage, shut: { since: now, told: false } }) };
}

function tellShut(record: AgentRecord, incident: Incident, because: StopRefusal, now: MonoMs): Intervened {
  const { stage } = incident;
  if (stage.kind !== "stopping" || stage.shut === null) return unchanged(record);
  const told = withStage(record, incident, { ...stage, shut: { ...stage.shut, told: true } });
  return tellShutGate(told, incident, because, stage.shut.since, now);
}

/** A forced start is forced once: if it fails, the budget counts again. */
const downAgain = (stage: Stage): Stage =>
  stage.kind === "down" ? { ...stage, pressed: false, notBefore: null } : stage;

function nudge(
  record: AgentRecord,
  incident: Incident,
  { channel, attempt, cause }: Extract<Rung, { kind: "nudge" }>,
  context: Context,
): Intervened {
  const order = { channel, attempt, cause, actor: "rouse", wording: null };
  return queueNudge(withStage(record, incident, { kind: "nudged" }), order, context);
}

function tell(record: AgentRecord, now: MonoMs): Intervened {
  const escalation = openEscalation(record);
  return escalation === null ? unchanged(record) : tellOverdue(record, escalation, now);
}

/** Leaves for the next stage and withdraws an open question. Earlier refusals are tried anew. */
function leave(record: AgentRecord, incident: Incident, stage: Stage, now: MonoMs): Intervened {
  const withdrawn = withdrawEscalation(record, "the ladder went on", now);
  const left = withStage(record, incident, stage);
  return { ...withdrawn, record: withEnding(left, { refused: null }) };
}

function goDown(record: AgentRecord, incident: Incident, by: "restart" | "recovery", now: MonoMs): Intervened {
  const concluded = concludeStop(record);
  return join(concluded, leave(concluded.record, incident, { kind: "down", by, pressed: false, notBefore: null }, now));
}

const orderFor = (record: AgentRecord, { stage }: Incident, cause: StopCause) => ({
  key: `${record.agentId}/${record.life.incarnation}/stop/${cause}/${record.ladder.counts.stops + 1}`,
  cause,
  actor: stage.kind === "stopping" ? stage.actor : "rouse",
  thenRestart: false,
  force: false,
});

/** The budget is used up: the orchestrator is asked, and after that a person. */
function giveUp(
  record: AgentRecord,
  incident: Incident,
  { by, attempts }: Extract<Rung, { kind: "give-up" }>,
  context: Context,
): Intervened {
  const { now, policy } = context;
  const { agentId } = record;
  const { id: taskId } = record.task;
  const reason = by === "restart" ? "restarts-exhausted" : "recoveries-exhausted";
  const windowSeconds = Math.round(policy.restart.window / 1000);
  // An agent that died with others is asked about with them.
  const asked = endedWithOthers(record)
    ? closeIncident(record, incident, "handed-to-a-person", reason, now)
    : escalate(record, incident, reason, { kind: "hand-over", because: reason }, context);
  const exhausted =
    by === "restart"
      ? ({ type: "RESTARTS_EXHAUSTED", payload: { agentId, attempts, windowSeconds } } as const)
      : ({ type: "RECOVERY_FAILED", payload: { taskId, agentId, reason, attempts } } as const);
  return { ...asked, events: [exhausted, ...asked.events] };
}
