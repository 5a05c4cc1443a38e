import type { WallClock } from "@rouse/core";

/** One timer that can be moved. */
export interface Alarm {
  /** At that time, whatever was asked before. */
  ringIn(ms: number): void;
  /** At that time or earlier, if it is to ring anyway. */
  ringWithin(ms: number): void;
  stop(): void;
}

/** It is put off for every piece of output: putting off moves a number, and the timer looks at it when it goes off. */
export function createAlarm(ring: () => void): Alarm {
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
    ringIn(ms) {
      at = performance.now() + ms;
      start();
    },
    ringWithin(ms) {
      const wanted = performance.now() + ms;
      if (at !== null && at <= wanted) return;
      at = wanted;
      start();
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
      at = null;
    },
  };
}

/** The wall clock of this machine, for reading what is written on it. */
export const readClock = (): WallClock => ({
  now: Date.now(),
  utcOffset: -new Date().getTimezoneOffset(),
  offsetAt: (instant) => -new Date(instant).getTimezoneOffset(),
});
