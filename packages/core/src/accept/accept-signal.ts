import {
  type AckReason,
  type AckStatus,
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
import { isStanding } from "../limit.ts";
import {
  type Activity,
  type AgentRecord,
  draftOf,
  draftOfLedger,
  isOver,
  isStartingAgain,
  type Mark,
  nextIncarnation,
  noBeats,
} from "../record.ts";
import type { HeartbeatSignal, Signal } from "../signal.ts";
import { tellsSteps } from "../terminal-facts.ts";
import { acceptHold, acceptLoss, acceptNobodyLeft, acceptReport } from "./accept-report.ts";
import { acceptSteps } from "./accept-steps.ts";
import { beatRhythm } from "./beat-rhythm.ts";
import { forgiveGaps } from "./forgive-gaps.ts";
import { noteQuiet } from "./longest-quiet.ts";
import { isNumberedAnew, type Ordered, orderBeat } from "./order-beat.ts";
import { goesOn, readActivity } from "./read-activity.ts";
import { hasMoved, isSaid, readFacts } from "./read-facts.ts";
import { answeredAfter, isBarelyBorn, noticeResumed } from "./read-limit.ts";
import { claimEnd, finishIfQuiet } from "./read-sights.ts";
import { markNow, turnClock, withoutStretch } from "./work-clock.ts";

export interface Accepted {
  readonly record: AgentRecord;
  readonly answer: {
    readonly status: AckStatus;
    readonly sequence: number | null;
    readonly because: AckReason | null;
  } | null;
  readonly events: readonly RouseEvent[];
}

/** First stage: turns a signal into what is now known, without any judgement. */
export function acceptSignal(given: AgentRecord, signal: Signal, context: Context): Accepted {
  const { now, doubt } = context;
  const record = forgiveGaps(given, doubt);
  switch (signal.kind) {
    case "wake":
    case "action-outcome":
    case "ordered":
    case "nudge-ordered":
    case "reflection-wanted":
    case "escalation-ordered":
    case "decided":
    case "decided-for-all":
    case "acknowledged":
      return { record, answer: null, events: [] };
    case "answered":
      return { record: { ...record, heard: true, heardAt: now, readsCommands: true }, answer: null, events: [] };
    case "checked-in":
      return {
        record: { ...record, heard: true, heardAt: now },
        answer: { status: "accepted", sequence: null, because: null },
        events: [],
      };
    case "task-taken":
      // What is no longer its own it need not start.
      return {
        record: noteOvertime(
          record.taskId === signal.taskId ? { ...record, taskAssignedAt: null } : record,
          signal,
          now,
        ),
        answer: null,
        events: [],
      };
    case "assigned":
      return { record: noteClaim(record, signal, now), answer: null, events: [] };
    case "checkpointed":
      return { record: noteQuiet(record, noteCheckpoint(record, signal.checkpoint, now)), answer: null, events: [] };
    case "registered":
      return acceptRegistration(record, signal, now);
    case "heartbeat":
      return acceptHeartbeat(record, signal, context);
    case "stepped":
      return acceptSteps(record, signal, context);
    case "held":
      return acceptHold(record, signal, context);
    case "reported":
      return finishIfQuiet(acceptReport(record, signal, context), context);
    case "holder-lost":
      return acceptLoss(record, signal, context);
    case "leftovers-gone":
      return acceptNobodyLeft(record, signal, context);
  }
}

/** Who has nothing else to do and works on after that works on at what is no longer its own. */
function noteOvertime(
  record: AgentRecord,
  { taskId, because, alone }: Extract<Signal, { kind: "task-taken" }>,
  now: MonoMs,
): AgentRecord {
  if (because !== "timed-out" || !alone || record.taskId !== taskId || isOver(record)) return record;
  return { ...record, overtime: { taskId, since: now } };
}

/** Whoever works through a queue says what it works on by claiming it. Its own word goes first, until what it named is done with. */
function noteClaim(
  record: AgentRecord,
  { taskId, claim }: Extract<Signal, { kind: "assigned" }>,
  now: MonoMs,
): AgentRecord {
  const isOwnWord = record.taskId !== null && !record.taskClaimed;
  if (claim === "held") {
    const assigned = isOwnWord ? record : { ...record, ...assignTask(record, taskId, now), taskClaimed: true };
    // What it has now is its own, whatever it had before.
    return assigned.overtime === null ? assigned : { ...assigned, overtime: null };
  }
  if (record.taskId !== taskId) return record;
  if (!isOwnWord) return { ...record, ...assignTask(record, null, now) };
  // Its checkpoints are still the best there is to go on with, if a person brings it back.
  return claim === "done" ? { ...record, taskClaimed: true } : record;
}

/** A checkpoint of its task is a fact of work, whoever brought it to us. */
function noteCheckpoint(record: AgentRecord, checkpoint: string, now: MonoMs): AgentRecord {
  const mark = markNow(record.work, now);
  const facts = { ...record.facts, lastCheckpoint: checkpoint, checkpoint: mark, progress: mark, progressMoves: true };
  return { ...record, heard: true, heardAt: now, checkpoint, facts };
}

/** Of an agent whose process is held, its holder says when a life begins: a program it runs that starts over is still the same life. */
const isHeld = ({ terminal }: AgentRecord): boolean => terminal !== null && terminal.exit === null;

/**
 * Lives of a held agent are ours alone to number, whoever speaks: a number from elsewhere would leave its holder behind for good. One that is being
 * started again may be heard before its holder is, and then it has the next number.
 */
const isOursToNumber = (record: AgentRecord, wanted: number): boolean =>
  wanted > record.incarnation && (isHeld(record) || (isStartingAgain(record) && wanted > record.incarnation + 1));

/** Registering again starts a new life, unless the current one was never heard: then it is the same announcement repeated. */
function acceptRegistration(
  record: AgentRecord,
  signal: Extract<Signal, { kind: "registered" }>,
  now: MonoMs,
): Accepted {
  const { registration } = signal;
  const isNewLife = record.heard && !isHeld(record);
  const wanted = registration.incarnation ?? (isNewLife ? record.incarnation + 1 : record.incarnation);
  if (wanted < record.incarnation) return { record, answer: refusal(null, "old-incarnation"), events: [] };
  if (isOursToNumber(record, wanted)) return { record, answer: refusal(null, "held"), events: [] };
  const isNew = wanted > record.incarnation;
  const base = isNew ? nextIncarnation(record, wanted, now) : record;
  const { taskId } = registration;
  const isNamed = base.taskClaimed ? isSaid(taskId) : taskId !== undefined;
  const next: AgentRecord = {
    ...base,
    agentType: registration.agentType ?? base.agentType,
    node: registration.node ?? base.node,
    ...(isNamed ? assignTask(base, taskId ?? null, now) : {}),
  };
  const answer = { status: "accepted", sequence: null, because: null } as const;
  return { record: next, answer, events: isNew ? [incarnationStarted(record, wanted, "registered-again")] : [] };
}

/**
 * Clocks are wrong by hours and zones, and some by years; but they go on like other clocks. A beat that is more than a month from our clock and leapt as
 * far from where its agent's own clock must stand by now is not of now. That our own wall clock leaps changes nothing, nor that its agent's is set right.
 */
const absurd: DurationMs = days(30);

function isOfAnotherTime({ beats }: AgentRecord, { agentTime, skew }: HeartbeatSignal, now: MonoMs): boolean {
  if (skew === null || agentTime === null || beats.lastAgentTime === null || beats.lastAt === null) return false;
  const leapt = agentTime - beats.lastAgentTime - (now - beats.lastAt);
  return Math.abs(skew) > absurd && Math.abs(leapt) > absurd;
}

function acceptHeartbeat(record: AgentRecord, signal: HeartbeatSignal, context: Context): Accepted {
  const { now, policy } = context;
  const { beat } = signal;
  if (signal.checksum === "wrong") return refuse(record, beat.sequenceNumber, "wrong-checksum");
  if (isOfAnotherTime(record, signal, now)) return refuse(record, beat.sequenceNumber, "absurd-time");
  if (beat.incarnation !== undefined && beat.incarnation < record.incarnation) {
    return refuse(record, beat.sequenceNumber, "old-incarnation");
  }
  if (beat.incarnation !== undefined && isOursToNumber(record, beat.incarnation)) {
    return refuse(record, beat.sequenceNumber, "held");
  }
  if (beat.incarnation !== undefined && beat.incarnation > record.incarnation) {
    return acceptNewLife(record, beat.incarnation, "announced-in-heartbeat", signal, context);
  }
  const afterSilence = now - record.heardAt > beatRhythm(record.activity, policy).degradedAfter;
  const ordered = orderBeat(record.beats, beat.sequenceNumber, signal.agentTime, afterSilence);
  // Who names its incarnation is believed: it has not started over. Of one that has finished, nobody's death is hidden by a beat.
  const startsOver =
    ordered.startsOver || (record.activity.kind === "FINISHED" && isNumberedAnew({ beats: ordered.ledger }));
  if (startsOver && beat.incarnation === undefined) {
    if (isHeld(record)) return acceptProgram(record, signal, context);
    return acceptNewLife(record, record.incarnation + 1, "sequence-started-over", signal, context);
  }
  // Late and repeated beats bring no news; whether somebody is there who sends them is another question.
  const heard = isHeard(record, ordered, context) ? hear(record, ordered, context) : onlyCount(record, ordered);
  if (ordered.status !== "accepted") return { record: leaveUnread(heard, context), answer: ordered, events: [] };
  // What a process said before it ended may come after its end; it says nothing of what the agent does now.
  const next = isOver(record) ? heard : noteQuiet(record, takeIn(heard, signal, ordered, context));
  const events = [...lostEvents(record, ordered), ...noticeResumed(record, next.limit, now)];
  return { record: next, answer: ordered, events };
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

/** The next program in the same terminal: it counts its beats from the start and its work cannot be compared with what was before. */
function acceptProgram(record: AgentRecord, signal: HeartbeatSignal, context: Context): Accepted {
  const { now } = context;
  const ordered = orderBeat(noBeats, signal.beat.sequenceNumber, signal.agentTime);
  const heard = forgetMarks(hear(record, ordered, context), now);
  return { record: takeIn(heard, signal, ordered, context), answer: ordered, events: [] };
}

/** What it says was not taken in: whoever seems to have started over is not judged by what it said before. */
function leaveUnread(record: AgentRecord, { now, policy }: Context): AgentRecord {
  const { startedOver, lastAt } = record.beats;
  const isHeardNow = record.heardAt === now;
  const heard = isHeardNow ? { ...record, beats: { ...record.beats, heardAt: now } } : record;
  if (startedOver === null) return heard;
  if (!startedOver.untimed) return forgetMarks(heard, now);
  const isOverdue = now - (lastAt ?? now) > beatRhythm(record.activity, policy).interval + policy.beatGrace;
  return isHeardNow && isOverdue && isNumberedAnew(heard) ? forgetMarks(heard, now) : heard;
}

/** It seems to have started over, and what it says now cannot be compared with what it said before: its clocks start from here. */
function forgetMarks(record: AgentRecord, now: MonoMs): AgentRecord {
  const mark = markNow(record.work, now);
  const anew = (known: Mark | null): Mark | null => (known === null ? null : mark);
  const { progress, toolCall, checkpoint, tokens } = record.facts;
  const facts = {
    progress: anew(progress),
    toolCall: anew(toolCall),
    checkpoint: anew(checkpoint),
    tokens: anew(tokens),
  };
  return { ...record, facts: { ...record.facts, ...facts } };
}

function isHeard(
  { beats, heardAt, activity }: AgentRecord,
  { signOfLife }: Ordered,
  { now, policy }: Context,
): boolean {
  if (signOfLife !== "for-one-beat") return signOfLife === "yes";
  return now - (beats.lastAt ?? heardAt) <= beatRhythm(activity, policy).interval;
}

function onlyCount(record: AgentRecord, { ledger }: Ordered): AgentRecord {
  const counted = draftOf(record);
  counted.beats = ledger;
  return counted;
}

/** Work that nobody could see is not held against the agent: the clock leaves out a silence it has just ended. */
function hear(record: AgentRecord, ordered: Ordered, { now, policy }: Context): AgentRecord {
  const heard = draftOf(record);
  const knownUntil = record.heardAt + beatRhythm(record.activity, policy).interval + policy.beatGrace;
  if (now > knownUntil) heard.work = withoutStretch(record.work, knownUntil, now);
  heard.heard = true;
  heard.heardAt = now;
  heard.beats = ordered.ledger;
  return heard;
}

/** The news of an accepted beat. Going from one task to the next is getting somewhere too. */
function takeIn(
  record: AgentRecord,
  signal: HeartbeatSignal,
  { lostBefore, signOfLife }: Ordered,
  context: Context,
): AgentRecord {
  const { now, policy } = context;
  const { beat } = signal;
  const moved = hasMoved(record.facts, beat);
  const nextTask = isSaid(beat.taskId) && beat.taskId !== record.taskId;
  // A beat that does not say what the agent does leaves what its terminal shows: a question, a limit, an open tool.
  // Since the last beat, that is, which may have come before the limit; and whoever says that it waits for its provider does.
  const metLimit = record.limit !== null && (record.beats.lastAt ?? 0) < record.limit.since;
  const mayAnswer = moved && !metLimit && beat.waitingFor !== "provider" && !isBarelyBorn(record, now);
  const answered = mayAnswer ? answeredAfter(record.limit, now) : null;
  const isLimited = isStanding(record.limit) && answered === null && now < record.limit.until;
  const said =
    !isLimited && !leavesOpen(record, beat) && (saysWhatItDoes(beat) || !isReadOffTerminal(record))
      ? readActivity(record.activity, signal, moved || nextTask, now)
      : record.activity;
  const claimed = said !== record.activity && said.kind === "FINISHED" ? claimEnd(record, context) : null;
  const activity = claimed?.activity ?? said;
  const work = activity === record.activity ? record.work : turnClock(record.work, activity, record.bornAt, context);
  // Neither starts the progress clock of an agent that never spoke of progress: unknown is not standing still.
  const isNews = moved || (record.facts.progress !== null && (nextTask || takesAStep(record.activity, activity)));
  const throughWork = countThroughWork(record, activity, lostBefore, context);
  const mark = markNow(work, now);
  const facts = readFacts(record.facts, beat, {
    activity,
    isNews,
    throughWork,
    mark,
    spikeFactor: policy.tokenSpikeFactor,
    failuresAllowed: policy.consecutiveFailures,
  });
  const next = draftOf(record);
  // What its owner called it when they started it, they did: its policy is not the agent's to choose.
  if (!isHeld(record)) next.agentType = beat.agentType ?? record.agentType;
  next.node = beat.node ?? record.node;
  if (beat.seen !== undefined && beat.seen.length > 0) next.readsCommands = true;
  if (record.taskClaimed ? isSaid(beat.taskId) : beat.taskId !== undefined && beat.taskId !== record.taskId)
    Object.assign(next, assignTask(record, beat.taskId ?? null, now));
  next.activity = activity;
  if (answered !== null) next.limit = answered;
  // It worked on: the next time that it says it waits is another wait.
  if (moved && !isLimited && record.terminal !== null) next.terminal = { ...record.terminal, textWait: null };
  if (claimed !== null && next.terminal !== null) next.terminal = { ...next.terminal, ...claimed.terminal };
  next.work = work;
  next.facts = facts;
  const ledger = draftOfLedger(record.beats);
  // What is a sign of life for one beat must not grant itself the next.
  if (signOfLife === "yes") ledger.lastAt = now;
  if (record.heardAt === now) ledger.heardAt = now;
  ledger.skew = signal.skew;
  next.beats = ledger;
  next.promise = readPromise(record.promise, beat, policy);
  return next;
}

/** What it does not say of how late it may be is as its policy has it. */
function readPromise(before: BeatPromise | null, beat: Heartbeat, policy: Policy): BeatPromise | null {
  if (beat.everySeconds === undefined) return null;
  const every = seconds(beat.everySeconds);
  const grace = beat.graceSeconds === undefined ? policy.beatGrace : seconds(beat.graceSeconds);
  return before?.every === every && before.grace === grace ? before : { every, grace };
}

const saysWhatItDoes = ({ status, waitingFor, open }: Heartbeat): boolean =>
  status !== undefined || waitingFor !== undefined || isSaid(open);

/** It is at work and does not say in what: the call that its stream told of is still open. */
const leavesOpen = ({ activity, terminal }: AgentRecord, { status, waitingFor, open }: Heartbeat): boolean =>
  status === "RUNNING" &&
  waitingFor === undefined &&
  open === undefined &&
  activity.kind === "RUNNING" &&
  terminal !== null &&
  tellsSteps(terminal);

const isReadOffTerminal = ({ terminal }: AgentRecord): boolean =>
  terminal !== null && (terminal.wait !== null || terminal.tools.length > 0);

/**
 * Opening a tool, asking a person, getting an answer, being let go by a provider: each is a step, and whoever takes one gets the full time for the next.
 * A provider that puts an agent off again and again is that agent's wait, not its standstill.
 */
const takesAStep = (before: Activity, after: Activity): boolean => after !== before && !goesOn(before, after);

/** A TTL's worth of beats in the middle of one stretch of work: a timer sends them. */
export const knownToBeatThroughWork = 3;

/**
 * Only beats at the expected rhythm count: one repeated within moments is a second try, one a good while later may have any reason, and one after a
 * long silence, when the tool returned, shows the opposite, whatever was thought before.
 */
function countThroughWork(
  before: AgentRecord,
  activity: Activity,
  lostBefore: number,
  { now, policy, doubt }: Context,
): number {
  const counted = before.facts.beatsThroughWork;
  if (!goesOn(before.activity, activity)) return counted >= knownToBeatThroughWork ? counted : 0;
  const lastAt = before.beats.lastAt ?? now;
  const since = now - lastAt;
  const longest = 2 * policy.beatInterval + policy.beatGrace;
  // A silence that was our own shows nothing; numbers that were skipped show that it did beat, and that we did not hear it.
  if (since > longest && since - blindSince(doubt, lastAt) > longest) return lostBefore > 0 ? counted : 0;
  const inRhythm = since >= policy.beatInterval / 2 && since <= 1.25 * policy.beatInterval;
  return inRhythm ? Math.min(counted + 1, knownToBeatThroughWork) : counted;
}

function assignTask(record: AgentRecord, taskId: string | null, now: MonoMs) {
  const taskAssignedAt = taskId === record.taskId ? record.taskAssignedAt : taskId === null ? null : now;
  return { taskId, taskAssignedAt, taskClaimed: false };
}

const refusal = (sequence: number | null, because: AckReason) => ({ status: "rejected" as const, sequence, because });

/** A refused beat changes nothing but a counter. The first, second, fourth, eighth … is an event: enough to see, too few to flood. */
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
  if (ordered.lostBefore === 0 || record.beats.lastSequence === null) return [];
  return [
    {
      type: "HEARTBEATS_LOST",
      payload: {
        agentId: record.agentId,
        count: ordered.lostBefore,
        afterSequence: record.beats.lastSequence,
        beforeSequence: ordered.sequence,
      },
    },
  ];
}

function incarnationStarted(
  record: AgentRecord,
  to: number,
  because: "registered-again" | "announced-in-heartbeat" | "sequence-started-over",
): RouseEvent {
  return {
    type: "AGENT_INCARNATION_STARTED",
    payload: { agentId: record.agentId, from: record.incarnation, to, because },
  };
}
