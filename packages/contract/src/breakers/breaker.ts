import type { DurationMs, MonoMs } from "../time.ts";
import type { BreakerState } from "./breaker-words.ts";

/** What a breaker is run by: `circuit_breaker` of the settings, with durations in milliseconds. */
export interface BreakerRules {
  readonly failureThreshold: number;
  readonly recoveryTimeout: DurationMs;
  readonly halfOpenRequests: number;
}

/** Each opening and each reset begins a `period`: it tells calls of one from those of another. */
export type Breaker =
  | { readonly state: "closed"; readonly period: number; readonly failures: readonly MonoMs[] }
  | { readonly state: "open"; readonly period: number; readonly reopenAt: MonoMs }
  | {
      readonly state: "half-open";
      readonly period: number;
      /** When each trial that is still out began. */
      readonly trials: readonly MonoMs[];
      readonly passed: number;
    };

/** The words for them in events, reports and settings. */
export const wireStates: Readonly<Record<Breaker["state"], BreakerState>> = {
  closed: "CLOSED",
  open: "OPEN",
  "half-open": "HALF_OPEN",
};

/** Holds back Rouse's own attempts to bring an agent back. No agent can report one of this name. */
export const recoveryOperation = "recovery_attempt";

export const closedBreaker: Breaker = { state: "closed", period: 0, failures: [] };

/** Proof that a call was let through, and in which period. */
export interface Ticket {
  readonly period: number;
  /** When the trial began; `null` for a call through a closed breaker. */
  readonly trial: MonoMs | null;
}

export type Admission =
  | { readonly admitted: true; readonly breaker: Breaker; readonly ticket: Ticket }
  | { readonly admitted: false; readonly breaker: Breaker; readonly because: "open" | "trials-used"; retryAt: MonoMs };

/** How a call ended. One that its caller broke off says nothing about what it called. */
export type CallEnd = "succeeded" | "failed" | "aborted";

/** A failure this many recovery times ago says nothing about now. */
const failureCountsFor = 10;

/** After this long without a call a breaker says nothing about now, open or not. */
export const ageOutAfter = ({ recoveryTimeout }: BreakerRules): DurationMs => failureCountsFor * recoveryTimeout;

/** Whether a call may be made now. HALF_OPEN lets only the allowed number of trials out at once. */
export function admitCall(breaker: Breaker, now: MonoMs, rules: BreakerRules): Admission {
  switch (breaker.state) {
    case "closed":
      return { admitted: true, breaker, ticket: { period: breaker.period, trial: null } };
    case "open": {
      const { period, reopenAt } = breaker;
      if (now < reopenAt) return { admitted: false, breaker, because: "open", retryAt: reopenAt };
      return letTry({ state: "half-open", period, trials: [], passed: 0 }, now);
    }
    case "half-open": {
      const current = { ...breaker, trials: stillOut(breaker.trials, now, rules) };
      const [oldest = now] = current.trials;
      // With no trial out one is always let try: rules may have become narrower than what has passed.
      if (current.trials.length === 0 || current.trials.length + current.passed < rules.halfOpenRequests)
        return letTry(current, now);
      return { admitted: false, breaker: current, because: "trials-used", retryAt: nextLook(oldest, now, rules) };
    }
  }
}

function letTry(breaker: Extract<Breaker, { state: "half-open" }>, now: MonoMs): Admission {
  const trials = [...breaker.trials, now];
  return { admitted: true, breaker: { ...breaker, trials }, ticket: { period: breaker.period, trial: now } };
}

/** A trial that never ended (its process died, its caller forgot it) gives its place back once it says nothing any more. */
const stillOut = (trials: readonly MonoMs[], now: MonoMs, rules: BreakerRules): readonly MonoMs[] =>
  trials.filter((began) => began + ageOutAfter(rules) > now);

/**
 * Nobody knows when a trial ends, so this is when it is worth asking again: each full recovery time after it began. The
 * last of these is when its place is given back.
 */
const nextLook = (began: MonoMs, now: MonoMs, { recoveryTimeout }: BreakerRules): MonoMs =>
  began + (Math.floor((now - began) / recoveryTimeout) + 1) * recoveryTimeout;

/** What the end of a call means. A call from before the last trip says nothing about the time after it. */
export function endCall(breaker: Breaker, ticket: Ticket, end: CallEnd, now: MonoMs, rules: BreakerRules): Breaker {
  if (ticket.period !== breaker.period) return breaker;
  if (breaker.state === "closed") return ticket.trial === null ? endOrdinary(breaker, end, now, rules) : breaker;
  if (breaker.state === "open" || ticket.trial === null) return breaker;
  const at = breaker.trials.indexOf(ticket.trial);
  // It had given its place back already.
  if (at === -1 && end !== "failed") return breaker;
  if (end === "failed") return trip(breaker.period, now, rules);
  const trials = breaker.trials.toSpliced(at, 1);
  const passed = breaker.passed + (end === "succeeded" ? 1 : 0);
  return passed < rules.halfOpenRequests
    ? { ...breaker, trials, passed }
    : { state: "closed", period: breaker.period, failures: [] };
}

function endOrdinary(
  breaker: Extract<Breaker, { state: "closed" }>,
  end: CallEnd,
  now: MonoMs,
  rules: BreakerRules,
): Breaker {
  if (end === "aborted") return breaker;
  if (end === "succeeded") return breaker.failures.length === 0 ? breaker : { ...breaker, failures: [] };
  const oldest = now - ageOutAfter(rules);
  const failures = [...breaker.failures.filter((at) => at > oldest), now];
  return failures.length < rules.failureThreshold ? { ...breaker, failures } : trip(breaker.period, now, rules);
}

const trip = (period: number, now: MonoMs, { recoveryTimeout }: BreakerRules): Breaker => ({
  state: "open",
  period: period + 1,
  reopenAt: now + recoveryTimeout,
});

/** A person says that what it guards works again. Calls that are still out belong to the time before. */
export const resetBreaker = ({ period }: Breaker): Breaker => ({ state: "closed", period: period + 1, failures: [] });
