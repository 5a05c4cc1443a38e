import { type DurationMs, describeDuration, type EpochMs, seconds } from "@rouse/contract";

/** "12 s ago"; a moment ahead of us by a skewed clock is now. */
export const ago = (iso: string, now: EpochMs): string => `${lasting(iso, now)} ago`;

/** "12 s": how long something has lasted. */
export const lasting = (since: string, now: EpochMs): string => describeDuration(now - Date.parse(since));

export const inTime = (iso: string, now: EpochMs): string =>
  Date.parse(iso) <= now ? "now" : `in ${describeDuration(Date.parse(iso) - now)}`;

/** To the second, in the same timeline as the API: 2026-02-05T10:30:07Z. */
export const stamp = (iso: string): string => iso.replace(/\.\d+Z$/, "Z");

export const stampAndAge = (iso: string, now: EpochMs): string => `${stamp(iso)} (${ago(iso, now)})`;

/** The same for a moment to come: 2026-02-05T10:30:07Z (in 12 min). */
export const stampAhead = (iso: string, now: EpochMs): string => `${stamp(iso)} (${inTime(iso, now)})`;

export const describeSeconds = (count: number): string => describeDuration(seconds(count));

/** "2h 05m", "12m 30s", "45s": to the part that is waited for. */
export function countdown(left: DurationMs): string {
  const s = Math.max(0, Math.ceil(left / 1000));
  if (s < 60) return `${s}s`;
  const [whole, part] = s < 3600 ? [60, 1] : [3600, 60];
  const rest = Math.floor((s % whole) / part);
  return `${Math.floor(s / whole)}${whole === 60 ? "m" : "h"} ${String(rest).padStart(2, "0")}${part === 1 ? "s" : "m"}`;
}
