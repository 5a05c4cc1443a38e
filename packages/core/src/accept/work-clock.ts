import { type DurationMs, days, hours, type MonoMs, minutes, type Policy, type WorkMs } from "@rouse/contract";
import type { Context } from "../context.ts";
import type { Activity, Mark, WorkClock } from "../facts.ts";
import type { AgentRecord } from "../record.ts";

export function workedUntil(clock: WorkClock, now: MonoMs): WorkMs {
  return clock.resumesAt === null ? clock.total : clock.total + Math.max(0, now - clock.resumesAt);
}

/** When the clock will show `target`; `null` while it stands still with no end in sight. */
export function whenWorked(clock: WorkClock, target: WorkMs): MonoMs | null {
  return clock.resumesAt === null ? null : clock.resumesAt + Math.max(0, target - clock.total);
}

export const markNow = (clock: WorkClock, now: MonoMs): Mark => ({ at: now, worked: workedUntil(clock, now) });

export const workedSince = (record: AgentRecord, mark: Mark, now: MonoMs): DurationMs =>
  workedUntil(record.work.clock, now) - mark.worked;

/**
 * Until when an activity excuses lack of progress; from then on the work clock runs. `null`: for as long as it lasts.
 */
export function excusedUntil(activity: Activity, bornAt: MonoMs, policy: Policy): MonoMs | null {
  switch (activity.kind) {
    case "STARTING":
      return bornAt + policy.startupGrace;
    case "RUNNING":
      return openWorkEnds(activity, policy);
    case "WAITING":
      return waitEnds(activity, policy);
    case "IDLE":
    case "FINISHED":
      return null;
  }
}

function openWorkEnds(activity: Extract<Activity, { kind: "RUNNING" }>, policy: Policy): MonoMs {
  const { open, since } = activity;
  // An open model request is ordinary work; only a tool may take long without news.
  if (open === null || open.kind === "model") return since;
  const declared = open.timeoutSeconds === undefined ? 0 : open.timeoutSeconds * 1000 + policy.openToolMargin;
  return open.since + Math.max(policy.openTool, declared);
}

/** The longest wait that an agent can announce: a weekly limit and a day. */
const longestAnnounced = days(8);

function waitEnds(activity: Extract<Activity, { kind: "WAITING" }>, policy: Policy): MonoMs {
  if (activity.until === null) return activity.since + policy.longestWait[activity.for];
  // The agent can tell the end of its wait with its next beat at the earliest.
  const margin = Math.max(policy.waitMargin, policy.beatInterval + policy.beatGrace);
  return Math.min(activity.until, activity.since + longestAnnounced) + margin;
}

/** Stops or starts the clock because the activity changed at `now`. */
export function turnClock(clock: WorkClock, activity: Activity, bornAt: MonoMs, { now, policy }: Context): WorkClock {
  const resumesAt = excusedUntil(activity, bornAt, policy);
  return { total: workedUntil(clock, now), resumesAt: resumesAt === null ? null : Math.max(resumesAt, now) };
}

/** Takes a stretch out of the clock: no agent is charged for work that nobody could have seen. */
export function withoutStretch(clock: WorkClock, from: MonoMs, to: MonoMs): WorkClock {
  if (clock.resumesAt === null || clock.resumesAt >= to) return clock;
  return { total: clock.total + Math.max(0, from - clock.resumesAt), resumesAt: to };
}

/** Shorter pauses are ordinary. */
const worthNoting: DurationMs = minutes(5);
/** No agent gets more patience than this for a quiet of its past. */
const longestKept: DurationMs = hours(4);

/**
 * Keeps the longest stretch of work without news that an agent ended by itself: not after a nudge, and not with its
 * exit.
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

/** The policy's patience, or a quarter more than the longest quiet that the agent came back from. */
export const patienceWith = ({ work: { longestQuiet } }: AgentRecord, granted: DurationMs): DurationMs =>
  Math.max(granted, longestQuiet * 1.25);
