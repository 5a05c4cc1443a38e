import type { DurationMs, EpochMs, Sight } from "@rouse/contract";
import { dayMs } from "./read-reset.ts";
import type { WallClock } from "./reading.ts";

/** The last texts as digests, oldest first. A digest that has fallen out is new again. */
export type SeenLately = ReadonlySet<string>;

export const nothingSeen: SeenLately = new Set();
const most = 500;

/** Counts new digests and remembers them. Without news nothing is copied. */
export function notice(seen: SeenLately, digests: readonly string[]): { seen: SeenLately; novel: number } {
  let next: Set<string> | null = null;
  let novel = 0;
  for (const digest of digests) {
    if ((next ?? seen).has(digest)) continue;
    next ??= new Set(seen);
    next.add(digest);
    novel++;
    if (next.size > most) for (const oldest of next) if (next.delete(oldest)) break;
  }
  return { seen: next ?? seen, novel };
}

/** When something was told, and the reset it named. At most `mostTold`, oldest first. */
export interface Told {
  readonly key: string;
  readonly at: EpochMs;
  readonly resetAt: EpochMs | null;
}

const mostTold = 50;
const limitAgainAfter: DurationMs = 30_000;
const contextAgainAfter: DurationMs = 60_000;
/** One failing command repeats the same error many times: that is one failure. */
const errorAgainAfter: DurationMs = 5_000;
/** Programs round and count down by seconds, so this close it is the same reset. */
const sameReset: DurationMs = 5_000;
/** Text stays when its reset has come; for this long it does not mean tomorrow's. */
const staleFor: DurationMs = 3_600_000;

type Repeated = Extract<Sight, { kind: "rate-limited" | "context-limit" | "error" }>;

/** The list with this sight added; `null` when it was told just now and says nothing new. */
export function tellOnce(told: readonly Told[], sight: Repeated, clock: WallClock): readonly Told[] | null {
  const key = keyOf(sight);
  const resetsIn = sight.kind === "rate-limited" ? sight.resetsInMs : null;
  const resetAt = resetsIn === null ? null : clock.now + resetsIn;
  const before = told.find((entry) => entry.key === key);
  if (before !== undefined && !saysMore(before, sight, resetAt, clock.now)) return null;
  const others = told.filter((entry) => entry.key !== key);
  return [...others.slice(-(mostTold - 1)), { key, at: clock.now, resetAt }];
}

function keyOf(sight: Repeated): string {
  return sight.kind === "error" ? `error ${sight.digest}` : `${sight.kind} ${sight.pattern}`;
}

function saysMore(before: Told, sight: Repeated, resetAt: EpochMs | null, now: EpochMs): boolean {
  // A wall clock may be set back, so a time in the future counts as now.
  const since = Math.abs(now - before.at);
  switch (sight.kind) {
    case "error":
      return since >= errorAgainAfter;
    case "context-limit":
      return since >= contextAgainAfter;
    case "rate-limited":
      if (isStale(before, resetAt, now)) return false;
      return since >= limitAgainAfter || (resetAt !== null && differs(before.resetAt, resetAt));
  }
}

/** "resets 3pm", read again at 3:01 pm, is about a reset that is over, although it now seems to mean tomorrow. */
const isStale = (before: Told, resetAt: EpochMs | null, now: EpochMs): boolean =>
  before.resetAt !== null &&
  resetAt !== null &&
  now >= before.resetAt &&
  now - before.resetAt < staleFor &&
  (resetAt <= now || Math.abs(resetAt - before.resetAt - dayMs) <= sameReset);

const differs = (before: EpochMs | null, resetAt: EpochMs): boolean =>
  before === null || Math.abs(resetAt - before) > sameReset;
