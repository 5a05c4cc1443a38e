import { type DurationMs, hours, minutes } from "@rouse/contract";
import type { Mark } from "../facts.ts";
import type { AgentRecord } from "../record.ts";

/** Shorter pauses are ordinary. */
const worthNoting: DurationMs = minutes(5);
/** However long an agent was once quiet, nobody waits longer than this because of it. */
const longestKept: DurationMs = hours(4);

/**
 * Keeps the longest stretch of work without news from which an agent came back by itself. Who was nudged meanwhile may have come back because of
 * that, and whose processes are over did not come back.
 */
export function noteQuiet(before: AgentRecord, after: AgentRecord): AgentRecord {
  const was = newestMark(before);
  const is = newestMark(after);
  if (was === null || is === null || is.at <= was.at) return after;
  const quiet = Math.min(is.worked - was.worked, longestKept);
  if (quiet < worthNoting || quiet <= after.work.longestQuiet) return after;
  const helped = before.ladder.nudge?.sent != null && before.ladder.nudge.sent.at > was.at;
  const isOver = after.seen.terminal?.exit != null;
  return helped || isOver || after.life.incarnation !== before.life.incarnation
    ? after
    : { ...after, work: { ...after.work, longestQuiet: quiet } };
}

function newestMark({ seen: { facts, terminal } }: AgentRecord): Mark | null {
  let newest: Mark | null = null;
  for (const mark of [facts.progress, facts.checkpoint, terminal?.output ?? null])
    if (mark !== null && (newest === null || mark.at > newest.at)) newest = mark;
  return newest;
}

/** Patience with one agent: what the policy grants, or a quarter more than it was quiet before and came back. */
export const patienceWith = ({ work: { longestQuiet } }: AgentRecord, granted: DurationMs): DurationMs =>
  Math.max(granted, longestQuiet * 1.25);
