import type { DurationMs } from "@rouse/contract";
import type { Timers } from "../ports/clock.ts";

/** Repeats tasks until the monitor stops. A task that takes time is planned anew only when it is done. */
export function createTimers(timers: Timers) {
  const cancels = new Set<() => void>();
  let stopped = false;

  function later(delay: DurationMs, task: () => void): void {
    if (stopped) return;
    const cancel = timers.after(delay, () => {
      cancels.delete(cancel);
      if (!stopped) task();
    });
    cancels.add(cancel);
  }

  return {
    every(delay: DurationMs, task: () => void): void {
      const again = (): void => {
        later(delay, again);
        task();
      };
      later(delay, again);
    },
    /** `task` returns how long to wait before the next time. */
    again(delay: DurationMs, task: () => Promise<DurationMs>): void {
      later(delay, () => void task().then((next) => this.again(next, task)));
    },
    stop(): void {
      stopped = true;
      for (const cancel of cancels) cancel();
      cancels.clear();
    },
    stopped: (): boolean => stopped,
  };
}

export type RepeatingTimers = ReturnType<typeof createTimers>;
