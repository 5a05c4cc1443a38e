import {
  type AckReason,
  type BeatPromise,
  type DurationMs,
  days,
  type Heartbeat,
  type MonoMs,
  type Policy,
  type RouseEvent,
  seconds,
} from "@rouse/contract";
import type { Context } from "../context.ts";
import { blindSince } from "../doubt.ts";
import { type Activity, type BeatLedger, draftOfLedger, type Mark, noBeats } from "../facts.ts";
import { isStanding } from "../limit.ts";
import { type AgentRecord, type Identity, isOver, nextIncarnation } from "../record.ts";
import type { HeartbeatSignal } from "../signal.ts";
import { type TerminalFacts, tellsSteps } from "../terminal-facts.ts";
import {
  type Accepted,
  assignTask,
  incarnationStarted,
  isHeld,
  isOursToNumber,
  refusal,
} from "./accept-registration.ts";
import { beatRhythm } from "./beat-rhythm.ts";
import { isNumberedAnew, type Ordered, orderBeat } from "./order-beat.ts";
import { goesOn, hasMoved, isSaid, readActivity, readFacts } from "./read-beat.ts";
import { claimEnd } from "./read-completion.ts";
import { answeredAfter, isBarelyBorn, noticeResumed } from "./read-limit.ts";
import { markNow, noteQuiet, turnClock, withoutStretch } from "./work-clock.ts";

export function acceptHeartbeat(record: AgentRecord, signal: HeartbeatSignal, context: Context): Accepted {
  const { now, policy } = context;
  const { beat } = signal;
  if (signal.checksum === "wrong") return refuse(record, beat.sequenceNumber, "wrong-checksum");
  if (isOfAnotherTime(record, signal, now)) return refuse(record, beat.sequenceNumber, "absurd-time");
  if (beat.incarnation !== undefined && beat.incarnation < record.life.incarnation) {
    return refuse(record, beat.sequenceNumber, "old-incarnation");
  }
  if (beat.incarnation !== undefined && isOursToNumber(record, beat.incarnation)) {
    return refuse(record, beat.sequenceNumber, "held");
  }
  if (beat.incarnation !== undefined && beat.incarnation > record.life.incarnation) {
    return acceptNewLife(record, beat.incarnation, "announced-in-heartbeat", signal, context);
  }
  const rhythm = beatRhythm(record.work.activity, policy);
  const afterSilence = now - record.life.heardAt > rhythm.degradedAfter;
  const ordered = orderBeat(record.beats, beat.sequenceNumber, signal.agentTime, afterSilence);
  // An agent that names its incarnation has not started over. A finished agent that beats again lives a new life.
  const startsOver =
    ordered.startsOver ||
    (record.work.activity.kind === "FINISHED" && isNumberedAnew({ beats: ordered.ledger }, now, rhythm.interval));
  if (startsOver && beat.incarnation === undefined) {
    if (isHeld(record)) return acceptProgram(record, signal, context);
    return acceptNewLife(record, record.life.incarnation + 1, "sequence-started-over", signal, context);
  }
  // Late and repeated beats bring no news, but they may still show that the sender lives.
  const heard = isHeard(record, ordered, context)
    ? hear(record, ordered, context)
    : { ...record, beats: ordered.ledger };
  if (ordered.status !== "accepted") return { record: leaveUnread(heard, context), answer: ordered, events: [] };
  // A beat that arrives after its process ended says nothing of what the agent does now.
  const next = isOver(record) ? heard : noteQuiet(record, takeIn(heard, signal, ordered, context));
  const events = [...lostEvents(record, ordered), ...noticeResumed(record, next.seen.limit, now)];
  return { record: next, answer: ordered, events };
}

/**
 * Agents' clocks may be wrong by years, but they run evenly. A beat is refused when its time is over a month from our
 * clock and also leapt that far from where the agent's own clock must stand. A leap of our wall clock alone refuses
 * nothing.
 */
const absurd: DurationMs = days(30);

function isOfAnotherTime({ beats }: AgentRecord, { agentTime, skew }: HeartbeatSignal, now: MonoMs): boolean {
  if (skew === null || agentTime === null || beats.lastAgentTime === null || beats.lastAt === null) return false;
  const leapt = agentTime - beats.lastAgentTime - (now - beats.lastAt);
  return Math.abs(skew) > absurd && Math.abs(leapt) > absurd;
}

function acceptNewLife(
  record: AgentRecord,
  incarnation: number,
  because: "announced-in-heartbeat" | "sequence-started-over",
  signal: HeartbeatSignal,
  context: Context,
): Accepted {
  const { now } = context;
  const born = nextIncarnation(record, incarnation, now);
  const ordered = orderBeat(born.beats, signal.beat.sequenceNumber, signal.agentTime);
  return {
    record: takeIn(hear(born, ordered, context), signal, ordered, context),
    answer: ordered,
    events: [incarnationStarted(record, incarnation, because)],
  };
}

/**
 * The next program in the same terminal counts its beats from the start; its work is not compared with the former
 * one's.
 */
function acceptProgram(record: AgentRecord, signal: HeartbeatSignal, context: Context): Accepted {
  const { now } = context;
  const ordered = orderBeat(noBeats, signal.beat.sequenceNumber, signal.agentTime);
  const heard = forgetMarks(hear(record, ordered, context), now);
  return { record: takeIn(heard, signal, ordered, context), answer: ordered, events: [] };
}

/** A beat that was not read. An agent that seems to have started over is not judged by what it said before. */
function leaveUnread(record: AgentRecord, { now, policy }: Context): AgentRecord {
  const { startedOver, lastAt } = record.beats;
  const isHeardNow = record.life.heardAt === now;
  const known = startedOver === null ? null : { ...startedOver, since: startedOver.since ?? now };
  const beats = { ...record.beats, startedOver: known, ...(isHeardNow ? { heardAt: now } : {}) };
  const heard = { ...record, beats };
  if (known === null) return heard;
  if (!known.untimed) return forgetMarks(heard, now);
  const { interval } = beatRhythm(record.work.activity, policy);
  const isOverdue = now - (lastAt ?? now) > interval + policy.beatGrace;
  return isHeardNow && isOverdue && isNumberedAnew(heard, now, interval) ? forgetMarks(heard, now) : heard;
}

/** An agent that started over cannot be compared with what it said before, so its clocks start from here. */
function forgetMarks(record: AgentRecord, now: MonoMs): AgentRecord {
  const mark = markNow(record.work.clock, now);
  const anew = (known: Mark | null): Mark | null => (known === null ? null : mark);
  const { progress, toolCall, checkpoint, tokens } = record.seen.facts;
  const facts = {
    progress: anew(progress),
    toolCall: anew(toolCall),
    checkpoint: anew(checkpoint),
    tokens: anew(tokens),
  };
  return { ...record, seen: { ...record.seen, facts: { ...record.seen.facts, ...facts } } };
}

function isHeard(
  { beats, life: { heardAt }, work: { activity } }: AgentRecord,
  { signOfLife }: Ordered,
  { now, policy }: Context,
): boolean {
  if (signOfLife !== "for-one-beat") return signOfLife === "yes";
  return now - (beats.lastAt ?? heardAt) <= beatRhythm(activity, policy).interval;
}

/** The work clock leaves out a silence that the agent has just ended: nobody saw whether it worked. */
function hear(record: AgentRecord, ordered: Ordered, { now, policy }: Context): AgentRecord {
  const { life, work } = record;
  const knownUntil = life.heardAt + beatRhythm(work.activity, policy).interval + policy.beatGrace;
  const isMissed = now > knownUntil;
  return {
    agentId: record.agentId,
    identity: record.identity,
    life: {
      incarnation: life.incarnation,
      bornAt: life.bornAt,
      heard: true,
      heardAt: now,
      formerEndAt: life.formerEndAt,
      promise: life.promise,
      checkIn: life.checkIn,
      gapsSeen: life.gapsSeen,
    },
    task: record.task,
    work: isMissed ? { ...work, clock: withoutStretch(work.clock, knownUntil, now) } : work,
    beats: ordered.ledger,
    seen: record.seen,
    health: record.health,
    ladder: record.ladder,
    ending: record.ending,
    recovery: record.recovery,
    wakeAt: record.wakeAt,
  };
}

/**
 * The news of an accepted beat; going on to the next task is progress too. Records are written out field by field,
 * because this runs for every beat and a spread with changes takes ten times as long.
 */
function takeIn(record: AgentRecord, signal: HeartbeatSignal, ordered: Ordered, context: Context): AgentRecord {
  const { now, policy } = context;
  const { beat } = signal;
  const { life, task, work, seen } = record;
  const moved = hasMoved(seen.facts, beat);
  const nextTask = isSaid(beat.taskId) && beat.taskId !== task.id;
  const { answered, isLimited } = readAnswer(record, beat, moved, now);
  const said =
    !isLimited && !leavesOpen(record, beat) && (saysWhatItDoes(beat) || !isReadOffTerminal(record))
      ? readActivity(work.activity, signal, moved || nextTask, now)
      : work.activity;
  const claimed = said !== work.activity && said.kind === "FINISHED" ? claimEnd(record, context) : null;
  const activity = claimed?.activity ?? said;
  const clock = activity === work.activity ? work.clock : turnClock(work.clock, activity, life.bornAt, context);
  // Neither a new task nor a step starts the progress clock of an agent that never spoke of progress.
  const isNews = moved || (seen.facts.progress !== null && (nextTask || takesAStep(work.activity, activity)));
  const facts = readFacts(seen.facts, beat, {
    activity,
    isNews,
    throughWork: countThroughWork(record, activity, ordered.lostBefore, context),
    mark: markNow(clock, now),
    spikeFactor: policy.tokenSpikeFactor,
    failuresAllowed: policy.consecutiveFailures,
  });
  const promise = readPromise(life.promise, beat, policy);
  const isNamed = task.claimed ? isSaid(beat.taskId) : beat.taskId !== undefined && beat.taskId !== task.id;
  return {
    agentId: record.agentId,
    identity: readIdentity(record, beat),
    life: promise === life.promise ? life : { ...life, promise },
    task: isNamed ? assignTask(task, beat.taskId ?? null, now) : task,
    work:
      activity === work.activity && clock === work.clock ? work : { activity, clock, longestQuiet: work.longestQuiet },
    beats: noteBeat(record, signal, ordered, now),
    seen: {
      facts,
      steps: seen.steps,
      terminal: readTerminal(seen.terminal, moved && !isLimited, claimed?.terminal ?? null),
      limit: answered ?? seen.limit,
      breakers: seen.breakers,
    },
    health: record.health,
    ladder: record.ladder,
    ending: record.ending,
    recovery: record.recovery,
    wakeAt: record.wakeAt,
  };
}

/**
 * A beat without an activity leaves what the terminal shows: a question, a limit, an open tool. It lifts a limit only
 * if the beat before it came after the limit, and never while the agent says that it waits for its provider.
 */
function readAnswer(record: AgentRecord, beat: Heartbeat, moved: boolean, now: MonoMs) {
  const { limit } = record.seen;
  const metLimit = limit !== null && (record.beats.lastAt ?? 0) < limit.since;
  const mayAnswer = moved && !metLimit && beat.waitingFor !== "provider" && !isBarelyBorn(record, now);
  const answered = mayAnswer ? answeredAfter(limit, now) : null;
  return { answered, isLimited: isStanding(limit) && answered === null && now < limit.until };
}

/** The owner's name for a held agent stays: it selects the policy, which is not the agent's to choose. */
function readIdentity(record: AgentRecord, beat: Heartbeat): Identity {
  const { identity } = record;
  const agentType = isHeld(record) ? identity.agentType : (beat.agentType ?? identity.agentType);
  const node = beat.node ?? identity.node;
  const readsCommands = identity.readsCommands || (beat.seen !== undefined && beat.seen.length > 0);
  const isKnown =
    agentType === identity.agentType && node === identity.node && readsCommands === identity.readsCommands;
  return isKnown ? identity : { ...identity, agentType, node, readsCommands };
}

/** After new work, the next wait that the agent announces is another wait. */
function readTerminal(
  terminal: TerminalFacts | null,
  workedOn: boolean,
  claimed: Partial<TerminalFacts> | null,
): TerminalFacts | null {
  if (terminal === null) return null;
  const waits = workedOn && terminal.textWait !== null ? { ...terminal, textWait: null } : terminal;
  return claimed === null ? waits : { ...waits, ...claimed };
}

/** A beat that counts as a sign of life for one beat only must not extend that for the next. */
function noteBeat({ beats, life }: AgentRecord, { skew }: HeartbeatSignal, ordered: Ordered, now: MonoMs): BeatLedger {
  const ledger = draftOfLedger(beats);
  if (ordered.signOfLife === "yes") ledger.lastAt = now;
  if (life.heardAt === now) ledger.heardAt = now;
  ledger.skew = skew;
  return ledger;
}

/** The policy's grace applies where the agent names none. */
function readPromise(before: BeatPromise | null, beat: Heartbeat, policy: Policy): BeatPromise | null {
  if (beat.everySeconds === undefined) return null;
  const every = seconds(beat.everySeconds);
  const grace = beat.graceSeconds === undefined ? policy.beatGrace : seconds(beat.graceSeconds);
  return before?.every === every && before.grace === grace ? before : { every, grace };
}

const saysWhatItDoes = ({ status, waitingFor, open }: Heartbeat): boolean =>
  status !== undefined || waitingFor !== undefined || isSaid(open);

/** The agent is at work and does not say in what, so the call that its stream told of is still open. */
const leavesOpen = (
  { work: { activity }, seen: { terminal } }: AgentRecord,
  { status, waitingFor, open }: Heartbeat,
): boolean =>
  status === "RUNNING" &&
  waitingFor === undefined &&
  open === undefined &&
  activity.kind === "RUNNING" &&
  terminal !== null &&
  tellsSteps(terminal);

const isReadOffTerminal = ({ seen: { terminal } }: AgentRecord): boolean =>
  terminal !== null && (terminal.wait !== null || terminal.tools.length > 0);

/**
 * Opening a tool, asking a person, getting an answer, being let go by a provider: each is a step and gets the full time
 * again. A provider that puts an agent off again and again makes it wait, not stand still.
 */
const takesAStep = (before: Activity, after: Activity): boolean => after !== before && !goesOn(before, after);

/** As many beats as a TTL has, in the middle of one stretch of work, show that a timer sends them. */
export const knownToBeatThroughWork = 3;

/**
 * Only beats at the expected rhythm count. A beat repeated within moments is a second try, and one after a long
 * silence, when the tool returned, shows that there is no timer.
 */
function countThroughWork(
  before: AgentRecord,
  activity: Activity,
  lostBefore: number,
  { now, policy, doubt }: Context,
): number {
  const counted = before.seen.facts.beatsThroughWork;
  if (!goesOn(before.work.activity, activity)) return counted >= knownToBeatThroughWork ? counted : 0;
  const lastAt = before.beats.lastAt ?? now;
  const since = now - lastAt;
  const longest = 2 * policy.beatInterval + policy.beatGrace;
  // A silence of our own shows nothing. Skipped numbers show that the agent did beat and we did not hear it.
  if (since > longest && since - blindSince(doubt, lastAt) > longest) return lostBefore > 0 ? counted : 0;
  const inRhythm = since >= policy.beatInterval / 2 && since <= 1.25 * policy.beatInterval;
  return inRhythm ? Math.min(counted + 1, knownToBeatThroughWork) : counted;
}

/** A refused beat only counts. The first, second, fourth, eighth … is an event: enough to see, too few to flood. */
function refuse(record: AgentRecord, given: number | undefined, because: AckReason): Accepted {
  const refused = record.beats.refused + 1;
  const sequenceNumber = given ?? null;
  const isPowerOfTwo = (refused & (refused - 1)) === 0;
  return {
    record: { ...record, beats: { ...record.beats, refused } },
    answer: refusal(sequenceNumber, because),
    events: isPowerOfTwo
      ? [{ type: "HEARTBEAT_REFUSED", payload: { agentId: record.agentId, because, sequenceNumber } }]
      : [],
  };
}

function lostEvents(record: AgentRecord, ordered: Ordered): RouseEvent[] {
  const { lostBefore: count, sequence: beforeSequence } = ordered;
  const { lastSequence: afterSequence } = record.beats;
  if (count === 0 || afterSequence === null) return [];
  const payload = { agentId: record.agentId, count, afterSequence, beforeSequence };
  return [{ type: "HEARTBEATS_LOST", payload }];
}
