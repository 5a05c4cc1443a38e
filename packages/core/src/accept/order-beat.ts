import { type AckReason, type AckStatus, type DurationMs, type EpochMs, type MonoMs, minutes } from "@rouse/contract";
import { type BeatLedger, draftOfLedger } from "../facts.ts";
import type { AgentRecord } from "../record.ts";

/** How far back single numbers are remembered: later than that, a late beat and a repeated one look the same. */
const remembered = 32;

/** Numbered from the start again, this many times in a row with later times: the agent restarted without saying so. */
const startsOverAfter = 3;

/**
 * Its numbers began again and it sent no times, so nobody can tell its new beats from old ones: they are not read. A recording that is played looks the
 * same, which is why this is no new life. Nor is what was sent and not answered, and is sent once more in one go: they come for as long as beats lie apart.
 */
export const isNumberedAnew = (
  { beats: { startedOver } }: Pick<AgentRecord, "beats">,
  last: MonoMs,
  interval: DurationMs,
): boolean =>
  startedOver?.since !== undefined && startedOver.count >= startsOverAfter && last - startedOver.since >= interval;

/** Its last beats had numbers that were heard before. */
export const repeatsNumbers = ({ beats }: Pick<AgentRecord, "beats">): boolean =>
  (beats.startedOver?.count ?? 0) >= startsOverAfter;

/** Beats arrive in the wrong order by seconds; a clock that is set back jumps by more. */
const overtakenWithin: DurationMs = minutes(1);

/**
 * What a beat shows of its sender now. `no`: by its own time it was sent before one that was heard. `for-one-beat`: it was heard before; whoever missed our
 * answer repeats itself at once, and what repeats it for longer is not the agent.
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
 * Places a beat among those that came before it: news, seen before, or late. Agents that do not number their beats get numbers. `afterSilence`: it
 * ends a silence of several beats, so one that starts to count again is a new life at once; otherwise it takes a few to be sure.
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
 * Without a number its own time tells that a beat was overtaken on the way. Much older than that, the agent's clock was set back: such a clock goes on
 * from there, so each of its times counts once, however often a recording is played. Of the same time, it may be a last word within one second.
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
 * An agent that counts from the start again looks like its own past, but it goes on: its times become later, or without times its numbers higher, than
 * all that came late since the last news. What stands still or goes back is a repetition.
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

/** The last beat sent once more reaches nothing: its agent may start again right after it. */
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

/** Without times only numbers that rise are counted: what was heard before, or lies too far back to be known. A lost one that comes late is neither. */
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
