import type { DurationMs, GapCause, HoldCause, MonoMs } from "@rouse/contract";

/** A stretch of time in which the monitor could not have heard anybody. */
export interface Gap {
  readonly id: number;
  readonly cause: GapCause;
  readonly from: MonoMs;
  readonly to: MonoMs;
}

/**
 * Many agents are silent at once, so our own path is suspected first. `provenAt`: since then the path is known to work.
 */
export interface Hold {
  readonly because: HoldCause;
  readonly since: MonoMs;
  readonly provenAt: MonoMs | null;
}

/** What the monitor holds against itself when it looks at one agent. */
export interface Doubt {
  /** Oldest first. The newest few are enough, because every agent is looked at often. */
  readonly gaps: readonly Gap[];
  /** How late our own turns have been running lately. Our patience with agents grows by it. */
  readonly lag: DurationMs;
  readonly hold: Hold | null;
  /** How many other agents of its node, or of the fleet, should be heard, and when one of them last was. */
  readonly peers: number;
  readonly peersHeardAt: MonoMs | null;
  /** A person stopped all interventions. */
  readonly frozen: boolean;
  /** Why no agent of this host may be stopped now, although each alone might be; `null` when there is room. */
  readonly brake: Brake | null;
  /**
   * The fleet incident that the agent's silence, or its end, is part of. Alerts and questions about that belong to it.
   */
  readonly silentWith: string | null;
  readonly diedWith: string | null;
  /** The fleet is large enough that the agent's end may be one of many. */
  readonly mayDieWithOthers: boolean;
  /** How many critical tasks wait for a person; 0 when none of them is the agent's own. */
  readonly criticalBlocked: number;
}

/** Too many stops lately, of one host or of the whole fleet; `until`: when there is room again. */
export interface Brake {
  readonly because: "host-budget" | "fleet-budget";
  readonly until: MonoMs;
}

export const noDoubt: Doubt = {
  gaps: [],
  lag: 0,
  hold: null,
  peers: 0,
  peersHeardAt: null,
  frozen: false,
  brake: null,
  silentWith: null,
  diedWith: null,
  mayDieWithOthers: false,
  criticalBlocked: 0,
};

/** For how long since then the monitor could not hear anybody. */
export const blindSince = ({ gaps }: Pick<Doubt, "gaps">, since: MonoMs): DurationMs =>
  gaps.reduce((sum, gap) => sum + newIn(gap, gaps, since), 0);

/** How much of a gap, from `since` on, lies in no earlier gap: a suspend is often noticed as a stall as well. */
export function newIn({ id, from, to }: Gap, gaps: readonly Gap[], since: MonoMs): DurationMs {
  const start = Math.max(from, since);
  const known = gaps.filter((gap) => gap.id < id);
  const covered = known.reduce((sum, gap) => sum + Math.max(0, Math.min(gap.to, to) - Math.max(gap.from, start)), 0);
  return Math.max(0, to - start - covered);
}

export const lastGap = ({ gaps }: Pick<Doubt, "gaps">): Gap | null =>
  gaps.length === 0 ? null : (gaps[gaps.length - 1] ?? null);

/** The three clocks of a machine. Monotonic time stops in a suspend, boot time does not, wall time can be set. */
export interface ClockReading {
  readonly mono: DurationMs;
  readonly boot: DurationMs;
  readonly wall: number;
}

export interface ClockFault {
  readonly cause: Extract<GapCause, "stall" | "suspend" | "clock-step">;
  readonly lasted: DurationMs;
}

interface ClockPolicy {
  /** A longer pause between two readings is a stall: we read far more often than that. */
  readonly stall: DurationMs;
}

/** Boot time has hundredths of a second and clocks are read in turn, so smaller differences are noise. */
const suspendAtLeast = 1000;
/** Clock skew up to here is tolerated everywhere. */
const stepAtLeast = 2000;

/** Compares two readings of our own clocks for what went wrong between them. */
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

/** Steady time between two readings: a suspend counts, a step of the wall clock does not. */
export function steadyElapsed(before: ClockReading, after: ClockReading): DurationMs {
  const mono = after.mono - before.mono;
  const boot = after.boot - before.boot;
  return boot - mono > suspendAtLeast ? boot : Math.max(0, mono);
}
