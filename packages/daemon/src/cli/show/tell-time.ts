import { describeDuration, type EpochMs, seconds } from "@rouse/contract";

/** "12 s ago"; a moment ahead of us by a skewed clock is now. */
export const ago = (iso: string, now: EpochMs): string => `${lasting(iso, now)} ago`;

/** "12 s": how long something has lasted. */
export const lasting = (since: string, now: EpochMs): string => describeDuration(now - Date.parse(since));

export const inTime = (iso: string, now: EpochMs): string =>
  Date.parse(iso) <= now ? "now" : `in ${describeDuration(Date.parse(iso) - now)}`;

/** To the second, in the same timeline as the API: 2026-02-05T10:30:07Z. */
export const stamp = (iso: string): string => iso.replace(/\.\d+Z$/, "Z");

export const stampAndAge = (iso: string, now: EpochMs): string => `${stamp(iso)} (${ago(iso, now)})`;

export const describeSeconds = (count: number): string => describeDuration(seconds(count));
