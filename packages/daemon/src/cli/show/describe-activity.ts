import type { ActivityReport, EpochMs, LimitReport } from "@rouse/contract";
import { countdown, stamp } from "../text/tell-time.ts";

/** "RUNNING tool npm-test", "WAITING for provider", "IDLE". A wait that only words speak of is told as what it is, and one whose time is up as over. */
export function describeActivity({ kind, open, for: what, by, until }: ActivityReport, now: EpochMs): string {
  if (open !== undefined) return `${kind} ${open.kind}${open.name === undefined ? "" : ` ${open.name}`}`;
  if (until !== undefined && Date.parse(until) < now) return `waited for ${what} until ${stamp(until)}`;
  if (by === "text") return `says it waits for its provider${until === undefined ? "" : ` until ${stamp(until)}`}`;
  return what === undefined ? kind : `${kind} for ${what}`;
}

/** "limit, resets in 2h 05m"; where no reset was named, when it is tried again; after the reset, when Rouse sees to it, and then that it has not been seen to go on. */
export function describeLimit({ named, until, resetsAt = until, seenToAt = until }: LimitReport, now: EpochMs): string {
  const left = Date.parse(named ? resetsAt : seenToAt) - now;
  if (left > 0) return `limit, ${named ? "resets" : "tried again"} in ${countdown(left)}`;
  const rest = Date.parse(seenToAt) - now;
  return rest > 0 ? `limit is over, seen to in ${countdown(rest)}` : "limit is over";
}
