import type {
  DurationMs,
  FindingKind,
  HealthReason,
  MonoMs,
  NudgeChannel,
  NudgeDelivery,
  Policy,
  RouseEvent,
  Sight,
} from "@rouse/contract";
import { markNow } from "../accept/work-clock.ts";
import { hasNewStep, isLoop, movedSince, withoutCleared } from "../assess/moved-since.ts";
import type { Context } from "../context.ts";
import type { NudgeLife, NudgeSpent, Reached } from "../incident.ts";
import { type AgentRecord, lifeOf, withLadder } from "../record.ts";
import type { Action, Signal } from "../signal.ts";
import { startAnew } from "../steps/step.ts";
import { type Intervened, join, unchanged, withActions, withEvents } from "./alert-life.ts";
import { composeNudge, type Wording } from "./compose-nudge.ts";

interface NudgeOrder {
  readonly channel: NudgeChannel;
  readonly attempt: number;
  readonly cause: FindingKind | null;
  readonly actor: string;
  /** A person's words instead of ours. */
  readonly wording: Wording | null;
}

/** Queues a nudge; its channel takes it from there. */
export function queueNudge(record: AgentRecord, order: NudgeOrder, { now, policy }: Context): Intervened {
  const { agentId, incarnation } = lifeOf(record);
  const { channel, attempt, cause, actor } = order;
  const number = record.ladder.counts.nudges + 1;
  const id = `${agentId}/${incarnation}/nudge/${number}`;
  const { template, text: words } = order.wording ?? composeNudge(record, cause, now);
  const waiting = channel === "acknowledgement" ? wordsWaiting(record, now) : null;
  const text = waiting === null ? words : `${waiting.text}\n\n${words}`.slice(0, longestText);
  const expiresAt = now + policy.nudge.interval;
  const nudge: NudgeLife = {
    id,
    attempt,
    channel,
    template,
    cause,
    text,
    actor,
    queuedAt: now,
    state: "queued",
    receipt: false,
    sent: null,
    expiresAt,
    unseen: 0,
  };
  const before = waiting === null ? concludeNudge(record, now) : joinWithNext(record, waiting);
  const queued: RouseEvent = {
    type: "NUDGE_QUEUED",
    payload: { agentId, nudge: id, attempt, channel, template, actor },
  };
  const whenIdle = policy.nudge.whileAttached === "when-idle" ? { whenIdle: true as const } : {};
  const action: Action = { kind: "nudge-agent", key: id, agentId, incarnation, text, notAfter: expiresAt, ...whenIdle };
  return {
    record: withLadder(before.record, { nudge, counts: { ...record.ladder.counts, nudges: number } }),
    events: [...before.events, queued],
    actions: channel === "acknowledgement" ? before.actions : [...before.actions, action],
  };
}

/** A few of the longest messages that a person may send. */
const longestText = 10_000;

/** A person's words that no beat has fetched yet: the next nudge is joined to them. */
const wordsWaiting = ({ ladder: { nudge } }: AgentRecord, now: MonoMs): NudgeLife | null =>
  nudge !== null &&
  nudge.template === "operator" &&
  nudge.state === "queued" &&
  nudge.channel === "acknowledgement" &&
  now < nudge.expiresAt
    ? nudge
    : null;

function joinWithNext(record: AgentRecord, { id, channel }: NudgeLife): Intervened {
  const payload = { agentId: record.agentId, nudge: id, channel, because: "joined-with-next" };
  return withEvents(record, { type: "NUDGE_NOT_SENT", payload });
}

/** Twice as long as a whole round of nudges: an agent that falls back within it was not helped. */
const roundsOf = ({ nudge }: Policy): DurationMs => 2 * nudge.max * nudge.interval;

/** How often the agent was nudged for this lately, in this incident or before. All loops count as one cause. */
export function nudgesSpent(
  { ladder: { nudged } }: AgentRecord,
  cause: HealthReason,
  { now, policy }: Context,
): number {
  const isSame = (other: HealthReason): boolean => other === cause || (isLoop(other) && isLoop(cause));
  return nudged.filter((one) => one.at > now - roundsOf(policy) && isSame(one.cause)).length;
}

function spendNudge(record: AgentRecord, cause: HealthReason, { now, policy }: Context): readonly NudgeSpent[] {
  return [...record.ladder.nudged.filter(({ at }) => at > now - roundsOf(policy)), { cause, at: now }];
}

/** What came of a nudge: its delivery, the agent's word, what it did since, or nothing for too long. */
export function followNudge(record: AgentRecord, signal: Signal, context: Context): Intervened {
  const { now } = context;
  const { nudge } = record.ladder;
  if (nudge === null) return unchanged(record);
  if (isSettled(nudge)) {
    const channel = givenLate(nudge, signal);
    return channel === null ? unchanged(record) : tellLate(record, { ...nudge, channel }, context);
  }
  if (signal.kind === "action-outcome" && signal.key === nudge.id && signal.outcome !== "delivered")
    return signal.outcome.kind === "nudge"
      ? noteDelivery(record, nudge, signal.outcome.delivery, context)
      : unchanged(record);
  const evidence = evidenceOf(record, nudge, signal);
  if (evidence !== null) return advanceFar(record, nudge, evidence, now);
  return now >= nudge.expiresAt ? concludeNudge(record, now) : unchanged(record);
}

const isSettled = ({ state }: NudgeLife): boolean =>
  state === "acted" || state === "unconfirmed" || state === "not-sent";

/** The channel of a nudge that was delivered after nobody waited for it any more. */
function givenLate({ id, state, sent }: NudgeLife, signal: Signal): NudgeChannel | null {
  if (state !== "unconfirmed" || sent !== null) return null;
  if (signal.kind !== "action-outcome" || signal.key !== id || signal.outcome === "delivered") return null;
  const { outcome } = signal;
  return outcome.kind === "nudge" && outcome.delivery.kind === "sent" ? outcome.delivery.channel : null;
}

/** The agent has the nudge after all: one more that did not keep it from falling back. */
function tellLate(record: AgentRecord, nudge: NudgeLife, context: Context): Intervened {
  const { now } = context;
  const { id, attempt, channel, text, cause, actor } = nudge;
  const counts = actor === "rouse" && cause !== null && isReminder(nudge);
  const payload = { agentId: record.agentId, nudge: id, attempt, channel, message: text };
  return withEvents(
    withLadder(record, {
      nudge: { ...nudge, sent: markSent(record, now) },
      nudged: counts ? spendNudge(record, cause, context) : record.ladder.nudged,
    }),
    { type: "NUDGE_SENT", payload },
  );
}

function noteDelivery(record: AgentRecord, nudge: NudgeLife, delivery: NudgeDelivery, context: Context): Intervened {
  if (nudge.state !== "queued") return unchanged(record);
  // The holder takes the best channel of that moment, which may differ from the chosen one.
  if (delivery.kind === "sent") return noteSent(record, { ...nudge, channel: delivery.channel }, context);
  const { agentId } = record;
  const { id, channel } = nudge;
  const counted = countUndelivered(record, nudge);
  return withEvents(withLadder(counted, { nudge: { ...nudge, state: "not-sent" } }), {
    type: "NUDGE_NOT_SENT",
    payload: { agentId, nudge: id, channel, because: delivery.because },
  });
}

/** Only our own reminders count for the incident: people send nudges, too. */
const isForIncident = ({ ladder: { incident } }: AgentRecord, nudge: NudgeLife): boolean =>
  incident !== null && incident.stage.kind === "nudged" && nudge.actor === "rouse" && isReminder(nudge);

function countSent(record: AgentRecord, nudge: NudgeLife, context: Context): AgentRecord {
  const { incident } = record.ladder;
  const { cause, actor } = nudge;
  // The nudge was on its way when its incident ended: one more that did not help.
  if (incident === null && actor === "rouse" && cause !== null && isReminder(nudge))
    return withLadder(record, { nudged: spendNudge(record, cause, context) });
  if (incident === null || !isForIncident(record, nudge)) return record;
  const nudged = spendNudge(record, incident.cause, context);
  return withLadder(record, { nudged, incident: { ...incident, nudges: incident.nudges + 1 } });
}

function countUndelivered(record: AgentRecord, nudge: NudgeLife): AgentRecord {
  const { incident } = record.ladder;
  if (incident === null || !isForIncident(record, nudge)) return record;
  return withLadder(record, { incident: { ...incident, undelivered: incident.undelivered + 1 } });
}

export function noteSent(before: AgentRecord, nudge: NudgeLife, context: Context): Intervened {
  const { now, policy } = context;
  const record = countSent(before, nudge, context);
  const { agentId } = record;
  const { id, attempt, channel, text, cause } = nudge;
  const sent = markSent(record, now);
  // The time to answer counts from the delivery.
  const told: AgentRecord = withLadder(record, {
    nudge: { ...nudge, state: "sent", sent, expiresAt: now + policy.nudge.interval },
  });
  return {
    // An agent that is told to stop is not asked to do better: its findings stand.
    record: tellsToStop(nudge) ? told : clearEvidence(told, { cause, sent }),
    events: [{ type: "NUDGE_SENT", payload: { agentId, nudge: id, attempt, channel, message: text } }],
    actions: [],
  };
}

const tellsToStop = ({ template }: NudgeLife): boolean => template === "hand-off" || template === "task-taken";

/** Reminders that are not needed once their incident is over. */
export const isReminder = ({ template }: NudgeLife): boolean => template === "reminder" || template === "loop";

/** Evidence is collected anew from here: the next rung needs some that came after the nudge. */
function clearEvidence(record: AgentRecord, reached: Reached): AgentRecord {
  const { terminal, steps } = record.seen;
  return {
    ...record,
    health: { ...record.health, findings: withoutCleared(record) },
    seen: {
      ...record.seen,
      steps: steps === null ? null : startAnew(steps),
      terminal: terminal === null ? null : { ...terminal, errors: [] },
    },
    ladder: { ...record.ladder, reached: record.health.state === "STUCK" ? reached : null },
  };
}

export type Evidence = { readonly state: "seen" | "acted"; readonly by: string; readonly receipt?: boolean };

/** Only the agent's side counts: it answers, shows that it has the nudge, or does something new afterwards. */
function evidenceOf(record: AgentRecord, nudge: NudgeLife, signal: Signal): Evidence | null {
  if (nudge.sent === null) return null;
  const answer =
    signal.kind === "answered" ? signal.answer : signal.kind === "heartbeat" ? signal.beat.answer : undefined;
  if (answer !== undefined && (answer.to === undefined || answer.to === nudge.id))
    return { state: "acted", by: `answered: ${answer.kind}` };
  if (nudge.state === "sent") return receiptOf(nudge, signal);
  return hasActed(record, nudge) ? didSomethingNew : null;
}

const didSomethingNew: Evidence = { state: "acted", by: "did something new" };

function receiptOf({ id }: NudgeLife, signal: Signal): Evidence | null {
  if (signal.kind === "heartbeat" && signal.beat.seen?.includes(id) === true)
    return { state: "seen", by: "named in a heartbeat", receipt: signal.beat.seenBy === "agent" };
  const read = signal.kind === "reported" ? signal.report.sights.filter((sight) => isReceipt(sight, id)) : [];
  if (read.some(({ by }) => by === undefined)) return { state: "seen", by: "part of its conversation", receipt: true };
  return read.length > 0 ? { state: "seen", by: "its program took it in" } : null;
}

type Receipt = Extract<Sight, { kind: "nudge-read" }>;
const isReceipt = (sight: Sight, nudge: string): sight is Receipt =>
  sight.kind === "nudge-read" && sight.nudge === nudge;

/**
 * Output while it ends is no action. Where only the screen confirmed the nudge, later output is no action either: it
 * takes a step.
 */
function hasActed(record: AgentRecord, nudge: NudgeLife): boolean {
  const { terminal } = record.seen;
  const { stop } = record.ending;
  if ((terminal !== null && terminal.exit !== null) || (stop !== null && stop.orderedAt !== null)) return false;
  // An acknowledgement delivers at once and the next beat confirms it, so work in between counts.
  const sent = nudge.channel === "acknowledgement" ? nudge.sent : (nudge.seen ?? nudge.sent);
  if (sent === null) return false;
  const knownByScreen = nudge.channel === "terminal" && !nudge.receipt;
  return knownByScreen ? hasNewStep(record, sent.at) : movedSince(record, { cause: nudge.cause, sent });
}

/** An agent that confirms the nudge may have acted already: then both are told at once. */
function advanceFar(record: AgentRecord, nudge: NudgeLife, evidence: Evidence, now: MonoMs): Intervened {
  const first = advance(record, nudge, evidence, now);
  const seen = first.record.ladder.nudge;
  if (evidence.state === "acted" || seen === null || !hasActed(first.record, seen)) return first;
  const second = advance(first.record, seen, didSomethingNew, now);
  return join(first, second);
}

export function advance(record: AgentRecord, nudge: NudgeLife, evidence: Evidence, now: MonoMs): Intervened {
  const { agentId } = record;
  const { state, by, receipt = nudge.receipt } = evidence;
  const marked = state === "seen" ? { seen: markSent(record, now) } : {};
  return withEvents(withLadder(record, { nudge: { ...nudge, ...marked, state, receipt } }), {
    type: state === "seen" ? "NUDGE_SEEN" : "NUDGE_ACTED",
    payload: { agentId, nudge: nudge.id, evidence: by },
  });
}

const markSent = ({ beats, work, seen: { terminal } }: AgentRecord, now: MonoMs): Reached["sent"] => ({
  ...markNow(work.clock, now),
  novel: terminal?.novel ?? 0,
  lost: beats.lost,
});

/** Nobody waits for it any more: without a sign from the agent it stays unconfirmed. */
function concludeNudge(record: AgentRecord, now: MonoMs): Intervened {
  const { agentId } = record;
  const { nudge } = record.ladder;
  if (nudge === null || (nudge.state !== "queued" && nudge.state !== "sent")) return unchanged(record);
  const waitedSeconds = Math.round((now - (nudge.sent?.at ?? nudge.queuedAt)) / 1000);
  const counted = nudge.state === "queued" ? countUndelivered(record, nudge) : record;
  return {
    record: withLadder(counted, { nudge: { ...nudge, state: "unconfirmed" } }),
    events: [
      {
        type: "NUDGE_UNCONFIRMED",
        payload: { agentId, nudge: nudge.id, waitedSeconds, because: whyUnconfirmed(record) },
      },
    ],
    actions: withdrawNudge(record, nudge, now),
  };
}

/** The nudge is not needed any more. Its holder is asked to drop it and will say whether it was delivered. */
export function dropNudge(record: AgentRecord, now: MonoMs): Intervened {
  const { nudge } = record.ladder;
  if (nudge?.withdrawn === true) return unchanged(record);
  const actions = nudge === null ? [] : withdrawNudge(record, nudge, now);
  if (nudge === null || actions.length === 0) return concludeNudge(record, now);
  return withActions(withLadder(record, { nudge: { ...nudge, withdrawn: true } }), ...actions);
}

/** A hook may take long to come, and its nudge would then reach a healthy agent. */
function withdrawNudge(
  { agentId, life: { incarnation } }: AgentRecord,
  nudge: NudgeLife,
  now: MonoMs,
): readonly Action[] {
  const { id, state, channel, expiresAt, withdrawn } = nudge;
  if (
    withdrawn === true ||
    state !== "queued" ||
    channel === "acknowledgement" ||
    !isReminder(nudge) ||
    now >= expiresAt
  )
    return [];
  return [{ kind: "withdraw-nudge", key: `${id}/over`, agentId, incarnation, nudge: id }];
}

/** Where the screen is the only eye, nobody can tell what the agent reads. */
function whyUnconfirmed({ seen: { terminal }, ladder: { nudge } }: AgentRecord): "only-screen" | "no-sign" {
  const sees = terminal?.eyes.some(({ eye, sees }) => sees && eye !== "screen") ?? false;
  return nudge?.channel === "terminal" && !sees ? "only-screen" : "no-sign";
}

/** An ended life took its nudge with it. */
export function noticeLostNudge(before: AgentRecord, after: AgentRecord, now: MonoMs): readonly RouseEvent[] {
  return after.life.incarnation === before.life.incarnation ? [] : concludeNudge(before, now).events;
}

/** When an open nudge expires. */
export const nudgeExpires = ({ ladder: { nudge } }: AgentRecord): MonoMs | null =>
  nudge !== null && (nudge.state === "queued" || nudge.state === "sent") ? nudge.expiresAt : null;
