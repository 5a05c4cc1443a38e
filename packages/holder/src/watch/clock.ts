import type { WallClock } from "@rouse/core";

/** One timer that can be moved. Every piece of output puts it off, so that only changes a number. */
export function createAlarm(ring: () => void) {
  let timer: NodeJS.Timeout | null = null;
  let timerAt = 0;
  let at: number | null = null;

  function start(): void {
    if (at === null) return;
    if (timer !== null && timerAt <= at) return;
    if (timer !== null) clearTimeout(timer);
    timerAt = at;
    timer = setTimeout(goOff, Math.max(0, at - performance.now()));
  }

  function goOff(): void {
    timer = null;
    if (at === null) return;
    // Timers may go off a moment early.
    if (at - performance.now() > 1) return start();
    at = null;
    ring();
  }

  return {
    /** Rings at that time, whatever was asked for before. */
    ringIn(ms: number): void {
      at = performance.now() + ms;
      start();
    },
    /** Rings at that time, or earlier if that was asked for before. */
    ringWithin(ms: number): void {
      const wanted = performance.now() + ms;
      if (at !== null && at <= wanted) return;
      at = wanted;
      start();
    },
    stop(): void {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      at = null;
    },
  };
}

/** What `work` resolves to, or `late` after `ms`. */
export function within<T, L>(ms: number, work: Promise<T>, late: L): Promise<T | L> {
  let timer: NodeJS.Timeout;
  const patience = new Promise<L>((resolve) => {
    timer = setTimeout(() => resolve(late), ms);
  });
  return Promise.race([work, patience]).finally(() => clearTimeout(timer));
}

/** The wall clock of this machine, for reading times that programs print. */
export const readClock = (): WallClock => ({
  now: Date.now(),
  utcOffset: -new Date().getTimezoneOffset(),
  offsetAt: (instant) => -new Date(instant).getTimezoneOffset(),
});
