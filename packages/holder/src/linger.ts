import { setTimeout as pause } from "node:timers/promises";

/** How long a monitor may take to acknowledge the end, and how long one may take to come. */
export interface Patience {
  readonly watchedMs: number;
  readonly aloneMs: number;
}

/** Nobody waits at a detached holder, but somebody does in front of `rouse run`. Those who come later find the exit file. */
export const patienceOf = (foreground: boolean): Patience =>
  foreground ? { watchedMs: 2000, aloneMs: 0 } : { watchedMs: 60_000, aloneMs: 2000 };

const lookMs = 50;

/** Until the end was heard, or nobody is going to. */
export async function linger(
  { watchedMs, aloneMs }: Patience,
  isHeard: () => boolean,
  isWatched: () => boolean,
): Promise<void> {
  const begun = performance.now();
  let aloneSince = begun;
  while (!isHeard()) {
    const now = performance.now();
    if (isWatched()) aloneSince = now;
    if (now - begun >= watchedMs || (!isWatched() && now - aloneSince >= aloneMs)) return;
    await pause(lookMs);
  }
}
