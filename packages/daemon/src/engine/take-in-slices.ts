import { Fault } from "@rouse/contract";
import type { Timers } from "../ports/clock.ts";

/** This many beats or steps take a few milliseconds. */
export const mostPerSlice = 100;

/**
 * Takes what one request brought a slice at a time; at once where it fits into one slice. `weigh`: how many ordinary ones
 * one of them is worth.
 */
export type EachSlice = <T>(
  all: readonly T[],
  take: (slice: readonly T[], from: number) => void,
  weigh?: (one: T) => number,
) => Promise<void>;

interface SliceParts {
  readonly timers: Timers;
  readonly repeating: { stopped(): boolean };
}

/**
 * No long request keeps the monitor from hearing others: each turn of the event loop takes one slice of one of them, in
 * turn. A stall of our own would be an amnesty for everybody, and an agent could cause one whenever it likes.
 */
export function takeInSlices({ timers, repeating }: SliceParts): EachSlice {
  let waiting: (() => void)[] = [];

  function letOneGoOn(): void {
    const [first, ...others] = waiting;
    waiting = others;
    first?.();
    if (waiting.length > 0) timers.soon(letOneGoOn);
  }

  const turnOfItsOwn = (): Promise<void> =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) timers.soon(letOneGoOn);
    });

  return async (all, take, weigh) => {
    if (endOfSlice(all, 0, weigh) === all.length) return take(all, 0);
    for (let from = 0; from < all.length; ) {
      await turnOfItsOwn();
      // Nothing may follow the last seal of a run.
      if (repeating.stopped()) throw new Fault("store-unavailable", "Rouse is stopping", { retryable: true });
      const to = endOfSlice(all, from, weigh);
      take(all.slice(from, to), from);
      from = to;
    }
  };
}

/** One that is worth more than a whole slice is a slice of its own. */
export function endOfSlice<T>(all: readonly T[], from: number, weigh: (one: T) => number = () => 1): number {
  let to = from;
  for (let weight = 0; to < all.length; to++) {
    weight += weigh(all[to] as T);
    if (weight > mostPerSlice && to > from) break;
  }
  return to;
}
