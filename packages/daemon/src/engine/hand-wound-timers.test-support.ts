import type { DurationMs } from "@rouse/contract";
import type { Timers } from "../ports/clock.ts";

/** Timers that go off when the test says so. */
export function handWoundTimers() {
  let now = 0;
  let soon: (() => void)[] = [];
  let later: { at: number; callback: () => void }[] = [];

  const timers: Timers = {
    after(delay, callback) {
      const entry = { at: now + delay, callback };
      later.push(entry);
      return () => {
        later = later.filter((other) => other !== entry);
      };
    },
    soon: (callback) => void soon.push(callback),
  };

  /** Lets promises that are already settled say so. */
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await Promise.resolve();
  };

  return {
    timers,
    settle,
    /** One turn of the event loop: everything that asked to be called soon, once. */
    async turn(): Promise<void> {
      const due = soon;
      soon = [];
      for (const callback of due) callback();
      await settle();
    },
    /** Time passes, in order of the deadlines. */
    async pass(duration: DurationMs): Promise<void> {
      const until = now + duration;
      for (;;) {
        const next = later.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        later = later.filter((entry) => entry !== next);
        now = next.at;
        next.callback();
        await settle();
      }
      now = until;
    },
    waiting: () => ({ soon: soon.length, later: later.map(({ at }) => at - now) }),
  };
}
