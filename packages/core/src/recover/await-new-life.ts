import { type DurationMs, type MonoMs, minutes, seconds } from "@rouse/contract";
import { earliest } from "../assess/look.ts";
import type { Context } from "../context.ts";
import { blindSince, type Doubt } from "../doubt.ts";
import type { Intervened } from "../intervene/alert-life.ts";
import { type AgentRecord, isStartingAgain } from "../record.ts";
import { failRestart } from "./restart-life.ts";

/**
 * More than a start may take on a slow machine: a minute and some seconds until the old holder has left and the new one is ready, a second until it is
 * found. After it the order is given again, which starts nothing beside a life that is there after all.
 */
const longestBirth: DurationMs = minutes(2);
/** A freeze or a hold that came and went between two looks would count as time we watched. */
const lookEvery: DurationMs = seconds(10);

/**
 * An order of which nothing is heard ends like one that failed: tried again within the budget, then a person's matter. Only time in which it could
 * have been carried out and heard of counts.
 */
export function awaitNewLife(record: AgentRecord, { now, doubt }: Context): Intervened {
  const { restart } = record.ending;
  const unchanged: Intervened = { record, events: [], actions: [] };
  if (restart === null || !isStartingAgain(record)) return unchanged;
  const awaitedSince = isBound(doubt) ? null : (restart.awaitedSince ?? now);
  if (awaitedSince !== null && now >= dueAfter(awaitedSince, doubt))
    return failRestart(record, `nothing was heard of its new life within ${longestBirth / 1000} s`);
  return awaitedSince === restart.awaitedSince
    ? unchanged
    : { ...unchanged, record: { ...record, ending: { ...record.ending, restart: { ...restart, awaitedSince } } } };
}

/** When to look whether it has come. */
export function lookForNewLife(record: AgentRecord, { now, doubt }: Context): MonoMs | null {
  if (record.ending.restart === null || !isStartingAgain(record)) return null;
  const { awaitedSince } = record.ending.restart;
  return awaitedSince === null ? now + longestBirth : earliest(now + lookEvery, dueAfter(awaitedSince, doubt));
}

/** In a freeze nothing is started, and while we doubt our own path we may not hear of it. */
const isBound = ({ frozen, hold }: Doubt): boolean => frozen || hold !== null;

/** After a gap the order may have been given anew. The first one near its end counts, or a monitor that stumbles again and again would never come to it. */
function dueAfter(awaitedSince: MonoMs, doubt: Doubt): MonoMs {
  const due = awaitedSince + longestBirth + blindSince(doubt, awaitedSince);
  const near = doubt.gaps.find(({ to }) => to > awaitedSince && to + longestBirth > due);
  return (near === undefined ? due : near.to + longestBirth) + doubt.lag;
}
