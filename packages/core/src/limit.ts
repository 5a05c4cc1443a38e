import { type DurationMs, type ExitStatus, type LimitKind, type MonoMs, minutes, seconds } from "@rouse/contract";
import { jitterOf } from "./jitter.ts";
import { type AgentRecord, isOver } from "./record.ts";
import { runsOnce } from "./restart-rule.ts";
import type { RestartLife } from "./terminal-facts.ts";

/**
 * A provider's limit: a wait with a known end. It belongs to the agent and not to its terminal, so that neither a screen drawn anew nor the next life of
 * the program forgets it. Kept when it is over, to tell one that runs into the next limit at once.
 */
export interface Limit {
  readonly what: LimitKind;
  readonly pattern: string;
  readonly by: "text" | "stream";
  readonly since: MonoMs;
  /** The advertised reset and a margin; where none was named, as long as is waited without one. */
  readonly until: MonoMs;
  /** The advertised reset itself, the first moment that may be meant; absent where none was named, and in what an earlier version saved. */
  readonly resetsAt?: MonoMs;
  /** Its words name the minute, which may be any moment of it: it is waited for to the end. */
  readonly toMinute?: boolean;
  readonly named: boolean;
  /** The program says that it goes on by itself. */
  readonly continues: boolean;
  /** How often in a row it ran into a limit again soon after it had gone on. */
  readonly attempts: number;
  /**
   * New lines of the last minutes, a few of each moment at most: since when, and when they were last counted. `busy`: the moments, after its time was up,
   * in which its processes were at work as well.
   */
  readonly lines: { readonly count: number; readonly from: MonoMs; readonly at: MonoMs; readonly busy: number };
  /** How long its program said, when it was asked, that the limit still stands: only where that is a person's to know. */
  readonly putOffFor?: DurationMs;
  /** A person was told that it is over and the agent does not go on. */
  readonly told: boolean;
  /** When the agent went on or was made to; `null` while the limit stands. */
  readonly resumedAt: MonoMs | null;
}

/** Resumes in a row that ran into the limit again, before it is a person's matter. */
export const mostResumes = 8;

/** Everybody's quota is back at the same moment: a fleet goes on one by one within this time, which is shorter after a whole minute was waited for. */
const spreadSeconds = 40;
const spreadAfterMinute = 15;
/** What a program that goes on by itself may take to do so. */
const continuesWithin: DurationMs = minutes(3);

export const isStanding = (limit: Limit | null): limit is Limit => limit !== null && limit.resumedAt === null;

/** Before this nothing is done about an agent at its limit: no question, no nudge, no stop, no start. */
export function heldByLimit(record: { readonly agentId: string; readonly limit: Limit | null }): MonoMs | null {
  const { limit, agentId } = record;
  if (!isStanding(limit)) return null;
  const spread = limit.toMinute === true ? spreadAfterMinute : spreadSeconds;
  return limit.until + seconds(Math.round(spread * jitterOf(`${agentId}/${limit.since}`)));
}

/** The same for one that lives: its own program is left the time to go on. */
export function goesOnUntil(record: { readonly agentId: string; readonly limit: Limit | null }): MonoMs | null {
  const held = heldByLimit(record);
  return held === null || record.limit?.continues !== true ? held : held + continuesWithin;
}

/** When something is done about it: whose process ended is started again, whose program lives is told to go on, or a person is. */
export function limitSeenToAt(record: AgentRecord): MonoMs | null {
  if (isOver(record)) return heldByLimit(record);
  return record.limit?.told === true ? null : goesOnUntil(record);
}

type AtLimit = Pick<AgentRecord, "agentId" | "activity" | "limit" | "terminal" | "stop" | "restart">;

/** Its process ended by itself at a limit that stands, or is being started again after it: for that long its end is no matter for anybody. */
export function endedAtLimit(record: AtLimit): boolean {
  const { terminal, limit, stop, restart, activity } = record;
  // So has one that a person ended with their own hand.
  if (activity.kind === "FINISHED") return false;
  const exit = terminal?.exit ?? null;
  if (exit === null || exit.cause === "stopped" || stop?.cause === "ordered") return false;
  if (terminal?.foreground === true) return false;
  if (restart !== null && restart.problem === null && isOutOfLimit(restart)) return true;
  if (isKilled(exit) || runsOnce(record)) return false;
  return isStanding(limit) && limit.attempts < mostResumes;
}

/** An order of an earlier version says so by its cause alone. */
export const isOutOfLimit = ({ outOfLimit, because }: RestartLife): boolean =>
  outOfLimit === true || because === "limit-over";

/** A program that gives up at a limit exits: none explains a crash, whoever told of it. Shells pass a signal on as 128 and more. */
export const isKilled = ({ code, signal }: ExitStatus): boolean => signal !== null || (code ?? 0) > 128;
