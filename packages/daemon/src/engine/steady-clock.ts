import type { DurationMs, EpochMs, MonoMs } from "@rouse/contract";
import { type ClockFault, type ClockReading, doubtClocks, steadyElapsed } from "@rouse/core";
import type { Clock } from "../ports/clock.ts";

/** One moment, read once per turn. `now` is for judging, `time` for people. */
export interface Moment {
  readonly now: MonoMs;
  readonly time: EpochMs;
}

/** The monitor's last sign of life, kept in the store: the steady moment, and what the other clocks showed then. */
export interface AliveMark {
  readonly at: MonoMs;
  readonly time: EpochMs;
  readonly boot: DurationMs;
}

/**
 * The monitor's own timeline. It starts at the wall clock on the very first run, and a restart continues it by the time
 * that passed. While running it follows monotonic time. Setting the wall clock moves only the dates people read.
 */
export function startSteadyClock(clock: Clock, alive: AliveMark | null) {
  let last = clock.read();
  let steady: number = alive === null ? last.wall : alive.at + Math.max(1, passedSince(alive, last));
  let lastMono = last.mono;
  let offset = keepOffset(alive === null ? null : alive.time - alive.at, last.wall - steady);

  const advance = (mono: DurationMs): void => {
    steady += Math.max(0, mono - lastMono);
    lastMono = mono;
  };

  return {
    /** Cheap: monotonic time only. */
    read(): Moment {
      advance(clock.mono());
      return { now: Math.floor(steady), time: clock.wall() };
    },

    /** Reads all clocks and says what went wrong with us since the last such reading. */
    inspect(stall: DurationMs): { moment: Moment; before: MonoMs; faults: ClockFault[] } {
      const reading: ClockReading = clock.read();
      const faults = doubtClocks(last, reading, { stall });
      const before = Math.floor(steady - Math.max(0, lastMono - last.mono));
      advance(reading.mono);
      steady += steadyElapsed(last, reading) - Math.max(0, reading.mono - last.mono);
      last = reading;
      offset = keepOffset(offset, reading.wall - steady);
      return { moment: { now: Math.floor(steady), time: reading.wall }, before, faults };
    },

    aliveMark(): AliveMark {
      const at = Math.floor(steady);
      // `last` was read some time before `steady`: the uptime is moved on by the difference.
      return { at, time: at + offset, boot: last.boot + Math.max(0, lastMono - last.mono) };
    },

    /** The date to show for a moment of the steady timeline. */
    toWall: (at: MonoMs): EpochMs => Math.round(at + offset),
  };
}

/** Clocks are read one after the other and have a grain: a difference below this does not mean that one was set. */
const sameOffset: DurationMs = 50;

/** Keeps the offset while it hardly changes: the date of a moment must be the same each time it is asked for. */
const keepOffset = (shown: DurationMs | null, seen: DurationMs): DurationMs =>
  shown !== null && Math.abs(seen - shown) < sameOffset ? shown : Math.round(seen);

/** Within one boot the machine's uptime is the better witness; after a reboot there is only the wall clock. */
function passedSince(alive: AliveMark, reading: ClockReading): DurationMs {
  return reading.boot >= alive.boot ? reading.boot - alive.boot : reading.wall - alive.time;
}

export type SteadyClock = ReturnType<typeof startSteadyClock>;
