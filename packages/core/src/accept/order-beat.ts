import { type AckReason, type AckStatus, type DurationMs, type EpochMs, type MonoMs, minutes } from "@rouse/contract";
import { type BeatLedger, draftOfLedger } from "../facts.ts";
import type { AgentRecord } from "../record.ts";

/** How many numbers back are remembered. Further back, a late beat and a repeated one look the same. */
const remembered = 32;

/** This many restarted numbers in a row, with later times, mean that the agent restarted without saying so. */
const startsOverAfter = 3;

/**
 * The agent's numbers began again and it sends no times, so new beats cannot be told from old ones and are not read. A
 * replayed recording looks the same, which is why this is no new life; nor is a backlog that is sent again in one go.
 */
export const isNumberedAnew = (
  { beats: { startedOver } }: Pick<AgentRecord, "beats">,
  last: MonoMs,
  interval: DurationMs,
): boolean =>
  startedOver?.since !== undefined && startedOver.count >= startsOverAfter && last - startedOver.since >= interval;

/** The agent's last beats had numbers that were heard before. */
export const repeatsNumbers = ({ beats }: Pick<AgentRecord, "beats">): boolean =>
  (beats.startedOver?.count ?? 0) >= startsOverAfter;

/** Beats arrive out of order by seconds; a clock that is set back jumps by more. */
const overtakenWithin: DurationMs = minutes(1);

/**
 * What a beat shows of its sender now. `no`: by its own time it was sent before one that was heard. `for-one-beat`: it
 * is a repetition, which counts for one interval only: an agent that missed our answer repeats itself at once.
 */
type SignOfLife = "yes" | "for-one-beat" | "no";

export interface Ordered {
  readonly status: AckStatus;
  readonly because: AckReason | null;
  readonly sequence: number;
  readonly ledger: BeatLedger;
  /** Numbers skipped just before this beat. */
  readonly lostBefore: number;
  readonly startsOver: boolean;
  readonly signOfLife: SignOfLife;
}

/**
 * Places a beat among those before it: news, seen before, or late. Beats without numbers get numbers. `afterSilence`:
 * the beat ends a silence of several beats, so restarted numbers mean a new life at once instead of after a few beats.
 */
export function orderBeat(
  ledger: BeatLedger,
  given: number | undefined,
  agentTime: EpochMs | null,
  afterSilence = false,
): Ordered {
  const last = ledger.lastSequence;
  const newest = ledger.lastAgentTime;
  if (given === undefined && agentTime !== null && newest !== null && agentTime <= newest)
    return asOlder(ledger, agentTime, newest);
  const sequence = given ?? (last ?? 0) + 1;
  if (last === null || sequence > last) return asNews(ledger, sequence, agentTime);
  return asLate(ledger, last, sequence, agentTime, afterSilence);
}

/**
 * Without numbers, a beat's own time tells that it was overtaken on the way. A time that is much older means that the
 * agent's clock was set back; such a clock goes on, so each of its times counts once. A beat of the same second may be
 * a last word.
 */
function asOlder(before: BeatLedger, agentTime: EpochMs, newest: EpochMs): Ordered {
  const reached = before.late?.time ?? null;
  const isSame = agentTime === newest;
  if (!isSame && (reached === null ? agentTime > newest - overtakenWithin : agentTime <= reached))
    return asOvertaken(before);
  const news = asNews(before, (before.lastSequence ?? 0) + 1, newest);
  const late = isSame ? (before.late ?? null) : { sequence: before.late?.sequence ?? null, time: agentTime };
  return { ...news, ledger: { ...news.ledger, late }, signOfLife: isSame ? "for-one-beat" : "yes" };
}

function asOvertaken(before: BeatLedger): Ordered {
  const ledger = draftOfLedger(before);
  ledger.stale += 1;
  const sequence = before.lastSequence ?? 0;
  const told = { lostBefore: 0, startsOver: false, signOfLife: "no" } as const;
  return { status: "stale", because: "older-than-last", sequence, ledger, ...told };
}

function asNews(before: BeatLedger, sequence: number, agentTime: EpochMs | null): Ordered {
  const last = before.lastSequence;
  const lostBefore = last === null ? 0 : sequence - last - 1;
  const ledger = draftOfLedger(before);
  ledger.lastSequence = sequence;
  ledger.seenBefore = last === null ? 0 : shiftSeen(before.seenBefore, sequence - last);
  ledger.lastAgentTime = agentTime ?? before.lastAgentTime;
  ledger.startedOver = null;
  ledger.late = null;
  ledger.accepted += 1;
  ledger.lost += lostBefore;
  return { status: "accepted", because: null, sequence, lostBefore, startsOver: false, signOfLife: "yes", ledger };
}

function asLate(
  ledger: BeatLedger,
  last: number,
  sequence: number,
  agentTime: EpochMs | null,
  afterSilence: boolean,
): Ordered {
  const seen = wasSeen(ledger, last, sequence);
  const mayFill = !seen && last - sequence <= remembered && ledger.lost > 0;
  const startedOver =
    agentTime === null || ledger.lastAgentTime === null
      ? countUntimed(ledger, last, sequence, mayFill)
      : isLater(agentTime, ledger.lastAgentTime)
        ? countStartingOver(ledger, sequence)
        : null;
  const fillsAGap = mayFill && startedOver === null;
  return {
    sequence,
    lostBefore: 0,
    signOfLife: signOfLife(ledger, last, sequence, seen, agentTime),
    status: seen ? "duplicate" : "stale",
    because: seen ? "seen-before" : "older-than-last",
    startsOver: startedOver !== null && !startedOver.untimed && (afterSilence || startedOver.count >= startsOverAfter),
    ledger: {
      ...ledger,
      seenBefore: markSeen(ledger.seenBefore, last - sequence),
      startedOver,
      late: reachedBy(ledger, last, sequence, agentTime),
      duplicates: ledger.duplicates + (seen ? 1 : 0),
      stale: ledger.stale + (seen ? 0 : 1),
      lost: fillsAGap ? ledger.lost - 1 : ledger.lost,
    },
  };
}

/**
 * An agent that counts from the start again looks like its own past, but it goes on: its times, or without times its
 * numbers, rise above everything that came late. What stands still or goes back is a repetition.
 */
function signOfLife(
  ledger: BeatLedger,
  last: number,
  sequence: number,
  seen: boolean,
  agentTime: EpochMs | null,
): SignOfLife {
  const { lastAgentTime, late } = ledger;
  if (agentTime === null || lastAgentTime === null)
    return sequence < last && sequence > (late?.sequence ?? -1) ? "yes" : "for-one-beat";
  if (agentTime > Math.max(lastAgentTime, late?.time ?? lastAgentTime)) return "yes";
  return seen ? "for-one-beat" : "no";
}

/** The last beat sent once more reaches nothing, because the agent may start over right after it. */
function reachedBy(
  { late = null, lastAgentTime }: BeatLedger,
  last: number,
  sequence: number,
  agentTime: EpochMs | null,
): BeatLedger["late"] {
  const isRepeated = sequence === last && !isLater(agentTime, lastAgentTime);
  if (isRepeated) return late;
  return {
    sequence: sequence < last ? Math.max(late?.sequence ?? sequence, sequence) : (late?.sequence ?? null),
    time: agentTime === null ? (late?.time ?? null) : Math.max(late?.time ?? agentTime, agentTime),
  };
}

function countStartingOver(ledger: BeatLedger, sequence: number): NonNullable<BeatLedger["startedOver"]> {
  const before = ledger.startedOver;
  return before !== null && sequence > before.sequence
    ? { ...before, count: before.count + 1, sequence }
    : { count: 1, sequence };
}

/**
 * Without times only rising numbers count, and only those heard before or too old to be known; a lost beat is neither.
 */
function countUntimed(ledger: BeatLedger, last: number, sequence: number, mayFill: boolean): BeatLedger["startedOver"] {
  const before = ledger.startedOver;
  const goesOn = sequence < last && sequence > (ledger.late?.sequence ?? -1);
  return mayFill || !goesOn ? before : { ...before, count: (before?.count ?? 0) + 1, sequence, untimed: true };
}

const isLater = (time: EpochMs | null, than: EpochMs | null): boolean => time !== null && than !== null && time > than;

function wasSeen(ledger: BeatLedger, last: number, sequence: number): boolean {
  const back = last - sequence;
  if (back === 0) return true;
  return back <= remembered && (ledger.seenBefore & (1 << (back - 1))) !== 0;
}

function markSeen(seen: number, back: number): number {
  return back >= 1 && back <= remembered ? seen | (1 << (back - 1)) : seen;
}

function shiftSeen(seen: number, by: number): number {
  if (by > remembered) return 0;
  const shifted = by === remembered ? 0 : seen << by;
  return shifted | (1 << (by - 1));
}
