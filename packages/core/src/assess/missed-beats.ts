import {
  type DurationMs,
  describeDuration,
  type FindingLevel,
  type MonoMs,
  minutes,
  type Policy,
  type Restraint,
} from "@rouse/contract";
import { knownToBeatThroughWork } from "../accept/accept-heartbeat.ts";
import { beatRhythm, type Rhythm } from "../accept/beat-rhythm.ts";
import { isNumberedAnew } from "../accept/order-beat.ts";
import { excusedUntil } from "../accept/work-clock.ts";
import type { Context } from "../context.ts";
import { type Gap, lastGap } from "../doubt.ts";
import { lastBeatHeard } from "../facts.ts";
import type { AgentRecord, Finding } from "../record.ts";
import { type Detector, earliest, found, gravity, nothing, nothingUntil, wholeSeconds } from "./look.ts";
import { newestWork } from "./moved-since.ts";

/** How often an agent is looked at again while no other agent is heard. */
const recheck = 1000;

/**
 * Is it there? Counts missed beats: one is a note, two argue for DEGRADED, three for UNRESPONSIVE. Silence that the
 * agent announced, or that our own trouble may explain, argues for less.
 */
export const findMissedBeats: Detector = (record, context) => {
  const { now, policy, doubt } = context;
  if (record.work.activity.kind === "FINISHED" || isAfterFailure(record) || !owesBeats(record)) return nothing;
  const rhythm = beatRhythm(record.work.activity, policy);
  const countsFrom = silenceCountsFrom(record, context);
  const patience = policy.beatGrace + doubt.lag;
  const silent = now - countsFrom;
  const missed = countMissed(silent - patience, rhythm);
  const next = nextMiss(countsFrom + patience, missed, rhythm);
  const ceiling = missed === 0 ? null : silenceCeiling(record, countsFrom, context, rhythm);
  const workUntil = seenAtWorkUntil(record, rhythm);
  const goesOn = workUntil !== null && now < workUntil;
  const level = missed === 0 ? null : cap(goesOn && missed === 3 ? "degraded" : levels[missed], ceiling);
  const lookAgainAt = earliest(earliest(ceiling?.lookAgainAt ?? null, next), goesOn ? workUntil : null);
  const standing = standingFinding(record, goesOn);
  if (standing !== null && (level === null || gravity[level] < gravity[standing.level])) {
    return { finding: standing, lookAgainAt };
  }
  if (missed === 0 || level === null) return nothingUntil(next);
  return found(record, now, lookAgainAt, {
    kind: "missed-beats",
    level,
    confidence: ceiling === null ? confidences[missed] : 0.3,
    class: "absence",
    text: `${describeMissed(missed, policy)}${goesOn ? ", but its work goes on" : ""}`,
    evidence: {
      missed: policy.beatsPromised ? 1 : missed,
      silentSeconds: wholeSeconds(silent),
      ttlSeconds: wholeSeconds(rhythm.ttl),
      ...(goesOn ? { goesOn: "yes" } : {}),
    },
    restrainedBy: ceiling?.because,
  });
};

const describeMissed = (missed: number, { beatsPromised, beatInterval }: Policy): string =>
  beatsPromised
    ? `not heard when it was due (every ${describeDuration(beatInterval)})`
    : `${missed} expected ${missed === 1 ? "beat" : "beats"} missed`;

/** A held agent and one that tells its steps owe beats only once they sent one; every other agent always does. */
export const owesBeats = (record: AgentRecord): boolean =>
  (record.seen.terminal === null && record.seen.steps === null) || record.beats.accepted > 0;

/** The run failed, and nobody said when the next one is due. */
export const isAfterFailure = ({ seen: { facts }, work: { activity }, life: { promise } }: AgentRecord): boolean =>
  facts.selfReported === "FAILED" && activity.kind === "IDLE" && promise === null;

/** Until when a held agent counts as seen at work: then it lost its voice, not its life. `null`: nobody can see it. */
const seenAtWorkUntil = (record: AgentRecord, rhythm: Rhythm): MonoMs | null =>
  record.seen.terminal === null ? null : newestWork(record) + rhythm.ttl;

/**
 * A finding of silence stands until the agent is heard or seen at work: our doubt stops new verdicts, it makes nobody
 * well.
 */
function standingFinding(record: AgentRecord, goesOn: boolean): Finding | null {
  const before = record.health.findings.find((finding) => finding.kind === "missed-beats");
  if (goesOn && before?.level === "unresponsive") return null;
  return before !== undefined && before.since > lastBeat(record) ? before : null;
}

const levels: Readonly<Record<1 | 2 | 3, FindingLevel>> = { 1: "note", 2: "degraded", 3: "unresponsive" };
const confidences: Readonly<Record<1 | 2 | 3, number>> = { 1: 0.2, 2: 0.6, 3: 0.95 };

/** From when silence counts against the agent: not while it was announced, and not during a gap of ours. */
export function silenceCountsFrom(record: AgentRecord, context: Context): MonoMs {
  const { policy } = context;
  const gap = gapThatMatters(record, context);
  const heardAt = lastBeat(record);
  const heard = Math.max(heardAt, gap?.to ?? heardAt);
  const excuse = explainsSilence(record) ? excusedUntil(record.work.activity, record.life.bornAt, policy) : null;
  return excuse === null ? heard : Math.max(heard, excuse);
}

/**
 * For an agent that beats once a day, a gap counts only around the time it is due; else daily gaps would hide its
 * silence.
 */
function gapThatMatters(record: AgentRecord, { policy, doubt }: Context): Gap | null {
  const gap = lastGap(doubt);
  const due = lastBeat(record) + policy.beatInterval - policy.beatGrace;
  return gap !== null && policy.beatsPromised && gap.to < due ? null : gap;
}

/** A held agent is heard in other ways too, so its silence counts from its own last beat. */
const lastBeat = (record: AgentRecord): MonoMs =>
  record.seen.terminal === null ? record.life.heardAt : (lastBeatHeard(record.beats) ?? record.life.heardAt);

/**
 * A tool or a wait explains silence, unless the agent is known to beat by a timer. What the terminal shows of it
 * explains the silence anyway.
 */
function explainsSilence(record: AgentRecord): boolean {
  const { activity } = record.work;
  const { terminal } = record.seen;
  if (activity.kind === "STARTING") return true;
  const isShown = terminal !== null && (terminal.wait !== null || terminal.tools.length > 0);
  if (!isShown && record.seen.facts.beatsThroughWork >= knownToBeatThroughWork) return false;
  return activity.kind === "WAITING" || (activity.kind === "RUNNING" && activity.open !== null);
}

function countMissed(overdue: number, rhythm: Rhythm): 0 | 1 | 2 | 3 {
  if (overdue >= rhythm.ttl) return 3;
  if (overdue >= rhythm.degradedAfter) return 2;
  return overdue >= rhythm.interval ? 1 : 0;
}

function nextMiss(from: MonoMs, missed: number, rhythm: Rhythm): MonoMs | null {
  if (missed === 0) return from + rhythm.interval;
  if (missed === 1) return from + rhythm.degradedAfter;
  return missed === 2 ? from + rhythm.ttl : null;
}

interface Ceiling {
  readonly level: FindingLevel;
  readonly because: Restraint;
  /** `null`: whoever ends this condition wakes the agent. */
  readonly lookAgainAt: MonoMs | null;
}

/** The most that silence may argue for while the monitor doubts itself. */
function silenceCeiling(record: AgentRecord, countsFrom: MonoMs, context: Context, rhythm: Rhythm): Ceiling | null {
  const { now, policy, doubt } = context;
  const gap = gapThatMatters(record, context);
  const amnestyEnds = gap === null ? null : gap.to + rhythm.ttl + policy.amnestyMargin;
  if (gap !== null && amnestyEnds !== null && lastBeat(record) < gap.to && now < amnestyEnds) {
    return { level: "note", because: "amnesty", lookAgainAt: amnestyEnds };
  }
  const { hold } = doubt;
  if (hold !== null) {
    const because = hold.because;
    if (hold.provenAt === null) return { level: "degraded", because, lookAgainAt: null };
    const released = hold.provenAt + patienceForOthers(rhythm, policy) + policy.amnestyMargin;
    if (now < released) return { level: "degraded", because, lookAgainAt: released };
  }
  if (isUnwitnessed(countsFrom, context, rhythm))
    return { level: "degraded", because: "unwitnessed", lookAgainAt: now + recheck };
  return null;
}

/**
 * In a fleet, silence counts only while another agent is heard. Otherwise the first agent to run out of patience in a
 * dead network would be judged before the others show that it is not alone. It ends by itself after one more TTL.
 */
function isUnwitnessed(countsFrom: MonoMs, { now, policy, doubt }: Context, rhythm: Rhythm): boolean {
  if (doubt.peers < 2) return false;
  if (now >= countsFrom + rhythm.ttl + patienceForOthers(rhythm, policy) + doubt.lag) return false;
  return doubt.peersHeardAt === null || doubt.peersHeardAt < countsFrom + rhythm.degradedAfter;
}

/** One more TTL, but not another whole day for an agent that promised one beat a day. */
const patienceForOthers = ({ ttl }: Rhythm, { beatsPromised, beatGrace }: Policy): DurationMs =>
  beatsPromised ? beatGrace + Math.min(ttl, minutes(15)) : ttl;

const cap = (level: FindingLevel, ceiling: Ceiling | null): FindingLevel =>
  ceiling !== null && gravity[ceiling.level] < gravity[level] ? ceiling.level : level;

/** The agent's beats arrive and cannot be read. That does not count against it, but a person has to see to it. */
export const findUnreadBeats: Detector = (record, { now, policy }) => {
  const { startedOver, lastAt, lastSequence } = record.beats;
  const { interval } = beatRhythm(record.work.activity, policy);
  if (startedOver === null || lastAt === null) return nothing;
  if (!isNumberedAnew(record, lastBeatHeard(record.beats) ?? lastAt, interval)) return nothing;
  // Old beats that are delivered again come among new ones.
  const overdueAt = lastAt + interval + policy.beatGrace;
  if (now <= overdueAt) return nothingUntil(overdueAt + 1);
  return found(record, now, null, {
    kind: "sequence-restarted",
    level: "degraded",
    confidence: 0.8,
    class: "self-report",
    text: "its beats arrive with sequence numbers that began again, so they are not read: give a new incarnation",
    evidence: { lastSequence: lastSequence ?? 0, sequence: startedOver.sequence, unread: startedOver.count },
  });
};
