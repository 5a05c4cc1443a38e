import type { DurationMs, GapCause } from "@rouse/contract";

/** The three clocks of a machine, read together. Monotonic time stops in a suspend, boot time does not, wall time can be set. */
export interface ClockReading {
  readonly mono: DurationMs;
  readonly boot: DurationMs;
  readonly wall: number;
}

export interface ClockFault {
  readonly cause: Extract<GapCause, "stall" | "suspend" | "clock-step">;
  readonly lasted: DurationMs;
}

export interface ClockPolicy {
  /** A longer pause between two readings is a stall: we read far more often than that. */
  readonly stall: DurationMs;
}

/** Boot time comes in hundredths of a second and clocks are read one after the other, so small differences are noise. */
const suspendAtLeast = 1000;
/** Clock skew up to here is tolerated everywhere. */
const stepAtLeast = 2000;

/** Compares two readings of our own clocks: what went wrong with us between them? */
export function doubtClocks(before: ClockReading, after: ClockReading, policy: ClockPolicy): ClockFault[] {
  const mono = after.mono - before.mono;
  const boot = after.boot - before.boot;
  const wall = after.wall - before.wall;
  const faults: ClockFault[] = [];
  if (mono > policy.stall) faults.push({ cause: "stall", lasted: mono });
  if (boot - mono > suspendAtLeast) faults.push({ cause: "suspend", lasted: boot - mono });
  const step = wall - Math.max(mono, boot);
  if (Math.abs(step) > stepAtLeast) faults.push({ cause: "clock-step", lasted: step });
  return faults;
}

/** How much steady time passed between two readings: a suspend counts, a step of the wall clock does not. */
export function steadyElapsed(before: ClockReading, after: ClockReading): DurationMs {
  const mono = after.mono - before.mono;
  const boot = after.boot - before.boot;
  return boot - mono > suspendAtLeast ? boot : Math.max(0, mono);
}
