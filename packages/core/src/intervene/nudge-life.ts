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
import { type AgentRecord, withLadder } from "../record.ts";
import type { Action, Signal } from "../signal.ts";
import { startAnew } from "../steps/step.ts";
import { type Intervened, join, unchanged } from "./alert-life.ts";
import { type Wording, wordNudge } from "./word-nudge.ts";

interface NudgeOrder {
  readonly channel: NudgeChannel;
  readonly attempt: number;
  readonly cause: FindingKind | null;
  readonly actor: string;
  /** A person's own words instead of ours. */
  readonly wording: Wording | null;
}

/** Queued and saved; whoever carries it takes it from there. */
export function queueNudge(record: AgentRecord, order: NudgeOrder, { now, policy }: Context): Intervened {
  const { agentId } = record;
  const { incarnation } = record.life;
  const { channel, attempt, cause, actor } = order;
  const number = record.ladder.counts.nudges + 1;
  const id = `${agentId}/${incarnation}/nudge/${number}`;
  const { template, text: words } = order.wording ?? wordNudge(record, cause, now);
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

/** Some messages of the longest that a person may send. */
const longestText = 10_000;

/** A person's own words that no beat has fetched yet: whatever is to be said next is said with them. */
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
  return { record, events: [{ type: "NUDGE_NOT_SENT", payload }], actions: [] };
}

/** Twice as long as a whole round of nudges takes: who falls back within it was not helped by them. */
const roundsOf = ({ nudge }: Policy): DurationMs => 2 * nudge.max * nudge.interval;

/** Expire first, then count: what it was nudged for lately, whether or not that incident is over. Going round is one thing, in whichever way. */
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

/** What came back of it: the hands' answer, the agent's own word, what it did since, or nothing for too long. */
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

/** It was on its way when nobody waited for it any more: by which way it came after all. */
function givenLate({ id, state, sent }: NudgeLife, signal: Signal): NudgeChannel | null {
  if (state !== "unconfirmed" || sent !== null) return null;
  if (signal.kind !== "action-outcome" || signal.key !== id || signal.outcome === "delivered") return null;
  const { outcome } = signal;
  return outcome.kind === "nudge" && outcome.delivery.kind === "sent" ? outcome.delivery.channel : null;
}

/** Nothing is expected of it, but the agent has it: one more that did not keep it from falling back. */
function tellLate(record: AgentRecord, nudge: NudgeLife, context: Context): Intervened {
  const { now } = context;
  const { id, attempt, channel, text, cause, actor } = nudge;
  const counts = actor === "rouse" && cause !== null && isReminder(nudge);
  const payload = { agentId: record.agentId, nudge: id, attempt, channel, message: text };
  return {
    record: withLadder(record, {
      nudge: { ...nudge, sent: markSent(record, now) },
      nudged: counts ? spendNudge(record, cause, context) : record.ladder.nudged,
    }),
    events: [{ type: "NUDGE_SENT", payload }],
    actions: [],
  };
}

function noteDelivery(record: AgentRecord, nudge: NudgeLife, delivery: NudgeDelivery, context: Context): Intervened {
  if (nudge.state !== "queued") return unchanged(record);
  // Its holder takes the best way there is at that moment, which may be another than the one that was told last.
  if (delivery.kind === "sent") return noteSent(record, { ...nudge, channel: delivery.channel }, context);
  const { agentId } = record;
  const { id, channel } = nudge;
  const counted = countUndelivered(record, nudge);
  return {
    record: withLadder(counted, { nudge: { ...nudge, state: "not-sent" } }),
    events: [{ type: "NUDGE_NOT_SENT", payload: { agentId, nudge: id, channel, because: delivery.because } }],
    actions: [],
  };
}

/** Only what belongs to the incident counts for it: people and other matters put words to an agent, too. */
const isForIncident = ({ ladder: { incident } }: AgentRecord, nudge: NudgeLife): boolean =>
  incident !== null && incident.stage.kind === "nudged" && nudge.actor === "rouse" && isReminder(nudge);

function countSent(record: AgentRecord, nudge: NudgeLife, context: Context): AgentRecord {
  const { incident } = record.ladder;
  const { cause, actor } = nudge;
  // It was on its way when its incident ended: one more that did not keep the agent from falling back.
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
  // However long it took to be given: the time to answer counts from here.
  const told: AgentRecord = withLadder(record, {
    nudge: { ...nudge, state: "sent", sent, expiresAt: now + policy.nudge.interval },
  });
  return {
    // Who is told to stop is not asked to do better: what was found of it stands.
    record: tellsToStop(nudge) ? told : clearEvidence(told, { cause, sent }),
    events: [{ type: "NUDGE_SENT", payload: { agentId, nudge: id, attempt, channel, message: text } }],
    actions: [],
  };
}

const tellsToStop = ({ template }: NudgeLife): boolean => template === "hand-off" || template === "task-taken";

/** Of these there is no more need when the incident they were for is over. */
export const isReminder = ({ template }: NudgeLife): boolean => template === "reminder" || template === "loop";

/** From here on the evidence is collected anew: the next step needs some that came after the nudge. */
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

/** Only the agent's side counts: it answers the nudge, shows that it has it, or after that does something it had not done before. */
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
 * What it writes while it ends is nothing it does; and of one whose screen alone shows that it was told, what it draws afterwards is no work: it takes a
 * step to tell.
 */
function hasActed(record: AgentRecord, nudge: NudgeLife): boolean {
  const { terminal } = record.seen;
  const { stop } = record.ending;
  if ((terminal !== null && terminal.exit !== null) || (stop !== null && stop.orderedAt !== null)) return false;
  // With an acknowledgement it has the words at once, and tells so with its next beat: what it does between the two it does with them.
  const sent = nudge.channel === "acknowledgement" ? nudge.sent : (nudge.seen ?? nudge.sent);
  if (sent === null) return false;
  const knownByScreen = nudge.channel === "terminal" && !nudge.receipt;
  return knownByScreen ? hasNewStep(record, sent.at) : movedSince(record, { cause: nudge.cause, sent });
}

/** Who shows that it has it may have acted on it already: that is known at once, and not at the next look. */
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
  return {
    record: withLadder(record, { nudge: { ...nudge, ...marked, state, receipt } }),
    events: [
      { type: state === "seen" ? "NUDGE_SEEN" : "NUDGE_ACTED", payload: { agentId, nudge: nudge.id, evidence: by } },
    ],
    actions: [],
  };
}

const markSent = ({ beats, work, seen: { terminal } }: AgentRecord, now: MonoMs): Reached["sent"] => ({
  ...markNow(work.clock, now),
  novel: terminal?.novel ?? 0,
  lost: beats.lost,
});

/** Nobody waits for it any more: without a word from the agent's side it stays unconfirmed. */
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

/** There is no more need of it. Whether its holder has given it by now, the holder is about to say: until then nothing is told of it. */
export function dropNudge(record: AgentRecord, now: MonoMs): Intervened {
  const { nudge } = record.ladder;
  if (nudge?.withdrawn === true) return unchanged(record);
  const actions = nudge === null ? [] : withdrawNudge(record, nudge, now);
  if (nudge === null || actions.length === 0) return concludeNudge(record, now);
  return {
    record: withLadder(record, { nudge: { ...nudge, withdrawn: true } }),
    events: [],
    actions,
  };
}

/** A hook may be long in coming: what waits for it would reach one that is well by then. */
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

/** Of one whose screen is all that is seen of it, nobody can tell what it reads. */
function whyUnconfirmed({ seen: { terminal }, ladder: { nudge } }: AgentRecord): "only-screen" | "no-sign" {
  const sees = terminal?.eyes.some(({ eye, sees }) => sees && eye !== "screen") ?? false;
  return nudge?.channel === "terminal" && !sees ? "only-screen" : "no-sign";
}

/** A life that ended took the nudge with it: nobody will see it any more. */
export function noticeLostNudge(before: AgentRecord, after: AgentRecord, now: MonoMs): readonly RouseEvent[] {
  return after.life.incarnation === before.life.incarnation ? [] : concludeNudge(before, now).events;
}

/** When nobody waits for an open nudge any more. */
export const nudgeExpires = ({ ladder: { nudge } }: AgentRecord): MonoMs | null =>
  nudge !== null && (nudge.state === "queued" || nudge.state === "sent") ? nudge.expiresAt : null;
