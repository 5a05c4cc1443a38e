import { type DurationMs, type ExitStatus, type MonoMs, minutes, seconds } from "@rouse/contract";
import type { RestartLife } from "./incident.ts";
import { type AgentRecord, isOver } from "./record.ts";
import { jitterOf, runsOnce } from "./restart-rule.ts";
import type { Limit } from "./terminal-facts.ts";

/** After so many resumes in a row that ran into the limit again, a person is needed. */
export const mostResumes = 8;

/**
 * All agents get their quota back at the same moment, so they resume spread over this time; less after a whole minute
 * was waited.
 */
const spreadSeconds = 40;
const spreadAfterMinute = 15;
/** How long a program that goes on by itself may take to do so. */
const continuesWithin: DurationMs = minutes(3);

export const isStanding = (limit: Limit | null): limit is Limit => limit !== null && limit.resumedAt === null;

/** Until then nothing is done about an agent at its limit: no question, nudge, stop or start. */
export function heldByLimit({ agentId, seen: { limit } }: AgentRecord): MonoMs | null {
  if (!isStanding(limit)) return null;
  const spread = limit.toMinute === true ? spreadAfterMinute : spreadSeconds;
  return limit.until + seconds(Math.round(spread * jitterOf(`${agentId}/${limit.since}`)));
}

/** The same for a living agent: its own program gets time to go on. */
export function goesOnUntil(record: AgentRecord): MonoMs | null {
  const held = heldByLimit(record);
  return held === null || record.seen.limit?.continues !== true ? held : held + continuesWithin;
}

/**
 * When something is done about the limit: an ended agent is started again, a living one is nudged, or a person is told.
 */
export function limitSeenToAt(record: AgentRecord): MonoMs | null {
  if (isOver(record)) return heldByLimit(record);
  return record.seen.limit?.told === true ? null : goesOnUntil(record);
}

/**
 * The process ended by itself at a standing limit, or is being started after it: its end is nobody's matter meanwhile.
 */
export function endedAtLimit(record: AgentRecord): boolean {
  const { terminal, limit } = record.seen;
  const { stop, restart } = record.ending;
  const { activity } = record.work;
  // An agent that a person ended with their own hand has finished, too.
  if (activity.kind === "FINISHED") return false;
  const exit = terminal?.exit ?? null;
  if (exit === null || exit.cause === "stopped" || stop?.cause === "ordered") return false;
  if (terminal?.foreground === true) return false;
  if (restart !== null && restart.problem === null && isOutOfLimit(restart)) return true;
  if (isKilled(exit) || runsOnce(record)) return false;
  return isStanding(limit) && limit.attempts < mostResumes;
}

/** An order of an earlier version shows it only by its cause. */
export const isOutOfLimit = ({ outOfLimit, because }: RestartLife): boolean =>
  outOfLimit === true || because === "limit-over";

/** A program that gives up at a limit exits: no limit explains a crash. Shells pass a signal on as 128 and more. */
export const isKilled = ({ code, signal }: ExitStatus): boolean => signal !== null || (code ?? 0) > 128;
