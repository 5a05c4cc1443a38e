import { uptime } from "node:os";
import type { Clock, Timers } from "../../ports/clock.ts";

/** The machine's clocks: monotonic time stops in a suspend, `uptime` counts it, and `Date.now` can be set. */
export const systemClock: Clock = {
  mono: () => performance.now(),
  wall: () => Date.now(),
  read: () => ({ mono: performance.now(), boot: uptime() * 1000, wall: Date.now() }),
};

export const systemTimers: Timers = {
  after(delay, callback) {
    const timer = setTimeout(callback, delay);
    return () => clearTimeout(timer);
  },
  soon: (callback) => void setImmediate(callback),
};
