import type { ActivityReport, EpochMs, LimitReport } from "@rouse/contract";
import { countdown, stamp } from "./tell-time.ts";

/** "RUNNING tool npm-test", "WAITING for provider", "IDLE". A wait that only words speak of is told as what it is. */
export function describeActivity({ kind, open, for: what, by, until }: ActivityReport): string {
  if (open !== undefined) return `${kind} ${open.kind}${open.name === undefined ? "" : ` ${open.name}`}`;
  if (by === "text") return `says it waits for its provider${until === undefined ? "" : ` until ${stamp(until)}`}`;
  return what === undefined ? kind : `${kind} for ${what}`;
}

/** "limit, resets in 2h 05m"; where no reset was named, when it is tried again; once it is over, that it has not been seen to go on. */
export function describeLimit({ named, until }: LimitReport, now: EpochMs): string {
  const left = Date.parse(until) - now;
  return left <= 0 ? "limit is over" : `limit, ${named ? "resets" : "tried again"} in ${countdown(left)}`;
}
