import { type DurationMs, days, type MonoMs, type Policy, type WorkMs } from "@rouse/contract";
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

/** How long a quiet activity excuses lack of progress: from then on the work clock runs again. `null`: for as long as it lasts. */
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
  // An open model request is work like any other; only a tool may legitimately take long without news.
  if (open === null || open.kind === "model") return since;
  const declared = open.timeoutSeconds === undefined ? 0 : open.timeoutSeconds * 1000 + policy.openToolMargin;
  return open.since + Math.max(policy.openTool, declared);
}

/** The longest an agent can excuse itself for by naming a time: a weekly limit, and a day. */
const longestAnnounced = days(8);

function waitEnds(activity: Extract<Activity, { kind: "WAITING" }>, policy: Policy): MonoMs {
  if (activity.until === null) return activity.since + policy.longestWait[activity.for];
  // That the wait is over, it can say with its next beat at the earliest.
  const margin = Math.max(policy.waitMargin, policy.beatInterval + policy.beatGrace);
  return Math.min(activity.until, activity.since + longestAnnounced) + margin;
}

/** Stops or starts the clock because the activity changed at `now`. */
export function turnClock(clock: WorkClock, activity: Activity, bornAt: MonoMs, { now, policy }: Context): WorkClock {
  const resumesAt = excusedUntil(activity, bornAt, policy);
  return { total: workedUntil(clock, now), resumesAt: resumesAt === null ? null : Math.max(resumesAt, now) };
}

/** Takes a stretch of time out of the clock: nobody is charged for work we could not have seen. */
export function withoutStretch(clock: WorkClock, from: MonoMs, to: MonoMs): WorkClock {
  if (clock.resumesAt === null || clock.resumesAt >= to) return clock;
  return { total: clock.total + Math.max(0, from - clock.resumesAt), resumesAt: to };
}
