import { Fault } from "@rouse/contract";
import type { Timers } from "../ports/clock.ts";

/** This many beats or steps take a few milliseconds. */
export const mostPerSlice = 100;

/** Takes what one request brought a slice at a time; at once where it fits into one slice. */
export type EachSlice = <T>(all: readonly T[], take: (slice: readonly T[], from: number) => void) => Promise<void>;

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

  return async (all, take) => {
    if (all.length <= mostPerSlice) return take(all, 0);
    for (let from = 0; from < all.length; from += mostPerSlice) {
      await turnOfItsOwn();
      // Nothing may follow the last seal of a run.
      if (repeating.stopped()) throw new Fault("store-unavailable", "Rouse is stopping", { retryable: true });
      take(all.slice(from, from + mostPerSlice), from);
    }
  };
}
