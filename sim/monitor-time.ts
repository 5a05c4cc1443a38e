import type { Clock, Timers } from "../packages/daemon/src/ports/clock.ts";
import type { Random } from "./random.ts";
import type { MonitorWorld } from "./simulate.ts";
import type { Timeline } from "./virtual-time.ts";

/** What every clock shows at the beginning. */
export const wallAtStart = Date.UTC(2026, 0, 5);

/** The clocks of the machine that the monitor runs on: one does not count a suspend, one can be set. */
export function clockOf(timeline: Timeline, world: MonitorWorld): Clock {
  const mono = (): number => (world.suspendedSince ?? timeline.now()) - world.suspended;
  const wall = (): number => wallAtStart + timeline.now() + world.wallOffset;
  return { mono, wall, read: () => ({ mono: mono(), boot: timeline.now(), wall: wall() }) };
}

interface Parts {
  readonly timeline: Timeline;
  readonly world: MonitorWorld;
  readonly random: Random;
  readonly isDead: () => boolean;
  readonly soon: (callback: () => void) => void;
}

/** Timers of one life of the monitor: late under load, held up by a stall, gone with it. */
export function timersOf({ timeline, world, random, isDead, soon }: Parts): Timers {
  const run = (callback: () => void): void => {
    if (isDead()) return;
    if (timeline.now() < world.stalledUntil) return timeline.plan(world.stalledUntil, () => run(callback));
    callback();
  };
  return {
    after(delay, callback) {
      let cancelled = false;
      const late = world.load === 0 ? 0 : random.between(0, world.load);
      timeline.after(delay + late, () => {
        if (!cancelled) run(callback);
      });
      return () => {
        cancelled = true;
      };
    },
    soon(callback) {
      if (!isDead()) soon(callback);
    },
  };
}
