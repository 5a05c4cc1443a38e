import type { DurationMs, Policy } from "@rouse/contract";
import type { Activity } from "../facts.ts";

/** How long an agent may be silent, by what it is doing. */
export interface Rhythm {
  /** One missed beat: worth a warning. */
  readonly interval: DurationMs;
  /** Two: DEGRADED. */
  readonly degradedAfter: DurationMs;
  /** Three, the time to live: UNRESPONSIVE. */
  readonly ttl: DurationMs;
}

/** A timeout meant for working agents never makes an idle agent DEGRADED before its second missed beat. */
export function beatRhythm(activity: Activity, policy: Policy): Rhythm {
  const isIdle = activity.kind === "IDLE";
  const interval = isIdle ? policy.idleBeatInterval : policy.beatInterval;
  if (policy.beatsPromised) return { interval, degradedAfter: interval, ttl: interval };
  const timeout = policy.degradedAfterSilence ?? 2 * interval;
  const degradedAfter = Math.max(timeout, isIdle ? 2 * interval : interval);
  return { interval, degradedAfter, ttl: Math.max(3 * interval, degradedAfter + interval) };
}
