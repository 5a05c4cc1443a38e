import { steady } from "./steady.ts";

export interface RetryBudgetOptions {
  /** How much of the recent calls may be retries of them; a fifth when not given. */
  readonly share?: number;
  /** So many retries are let through however few calls there are; 10 when not given. */
  readonly least?: number;
  /** What is recent; ten seconds when not given. */
  readonly perMs?: number;
  /** Milliseconds that only go forward; the clock of this process when not given. */
  readonly now?: () => number;
}

interface Slot {
  readonly begins: number;
  calls: number;
  retries: number;
}

const slotsInTime = 10;

/**
 * Keeps the retries of many calls from becoming the load that keeps a service down. In the `perMs` before
 * each one no more are let through than `share` of the calls that began in it, or `least`.
 */
export function createRetryBudget({ share = 0.2, least = 10, perMs = 10_000, now }: RetryBudgetOptions = {}) {
  if (!(share >= 0 && share <= 1)) throw new RangeError(`share of a retry budget is from 0 to 1, not ${share}`);
  if (!(Number.isInteger(least) && least >= 0))
    throw new RangeError(`least of a retry budget is a whole number, not ${least}`);
  if (!(perMs > 0 && Number.isFinite(perMs)))
    throw new RangeError(`perMs of a retry budget is a number above 0, not ${perMs}`);
  const clock = steady(now ?? (() => performance.now()));
  const slotMs = perMs / slotsInTime;
  let slots: Slot[] = [];

  /** What is over is forgotten before anything is counted. */
  function slotAt(at: number): Slot {
    // A retry counts until its whole slot is over.
    slots = slots.filter(({ begins }) => begins + slotMs + perMs > at);
    const last = slots.at(-1);
    if (last !== undefined && at < last.begins + slotMs) return last;
    const slot: Slot = { begins: at, calls: 0, retries: 0 };
    slots.push(slot);
    return slot;
  }

  return {
    /** A call begins, its first try. */
    noteCall(): void {
      slotAt(clock()).calls += 1;
    },
    /** Whether it may be tried again; true is counted. */
    takeRetry(): boolean {
      const at = clock();
      const slot = slotAt(at);
      let [calls, retries] = [0, 1];
      for (const one of slots) {
        // A call counts only while its whole slot is recent.
        if (one.begins + perMs > at) calls += one.calls;
        retries += one.retries;
      }
      if (retries > Math.max(least, share * calls)) return false;
      slot.retries += 1;
      return true;
    },
  };
}

export type RetryBudget = ReturnType<typeof createRetryBudget>;
