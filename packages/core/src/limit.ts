import { type DurationMs, type ExitStatus, type MonoMs, minutes, seconds } from "@rouse/contract";
import type { RestartLife } from "./incident.ts";
import { type AgentRecord, isOver } from "./record.ts";
import { jitterOf, runsOnce } from "./restart-rule.ts";
import type { Limit } from "./terminal-facts.ts";

/** Resumes in a row that ran into the limit again, before it is a person's matter. */
export const mostResumes = 8;

/** Everybody's quota is back at the same moment: a fleet goes on one by one within this time, which is shorter after a whole minute was waited for. */
const spreadSeconds = 40;
const spreadAfterMinute = 15;
/** What a program that goes on by itself may take to do so. */
const continuesWithin: DurationMs = minutes(3);

export const isStanding = (limit: Limit | null): limit is Limit => limit !== null && limit.resumedAt === null;

/** Before this nothing is done about an agent at its limit: no question, no nudge, no stop, no start. */
export function heldByLimit({ agentId, seen: { limit } }: AgentRecord): MonoMs | null {
  if (!isStanding(limit)) return null;
  const spread = limit.toMinute === true ? spreadAfterMinute : spreadSeconds;
  return limit.until + seconds(Math.round(spread * jitterOf(`${agentId}/${limit.since}`)));
}

/** The same for one that lives: its own program is left the time to go on. */
export function goesOnUntil(record: AgentRecord): MonoMs | null {
  const held = heldByLimit(record);
  return held === null || record.seen.limit?.continues !== true ? held : held + continuesWithin;
}

/** When something is done about it: whose process ended is started again, whose program lives is told to go on, or a person is. */
export function limitSeenToAt(record: AgentRecord): MonoMs | null {
  if (isOver(record)) return heldByLimit(record);
  return record.seen.limit?.told === true ? null : goesOnUntil(record);
}

/** Its process ended by itself at a limit that stands, or is being started again after it: for that long its end is no matter for anybody. */
export function endedAtLimit(record: AgentRecord): boolean {
  const { terminal, limit } = record.seen;
  const { stop, restart } = record.ending;
  const { activity } = record.work;
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
