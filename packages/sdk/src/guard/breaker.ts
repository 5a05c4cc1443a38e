import {
  admitCall,
  type Breaker,
  type BreakerRules,
  type BreakerState,
  type CallEnd,
  closedBreaker,
  endCall,
  resetBreaker,
  type Ticket,
  wireStates,
} from "@rouse/contract";
import { steady } from "./steady.ts";

export interface BreakerOptions<T> extends Partial<BreakerRules> {
  readonly name: string;
  /**
   * Whether what a call threw, or returned, counts against what it called. Everything thrown does, when not given, and when this throws: the caller gets
   * what came of the call in any case.
   */
  readonly isFailure?: (outcome: { readonly error: unknown } | { readonly value: T }) => boolean;
  /** Called instead when the breaker lets nothing through: an older answer, a simpler way. */
  readonly fallback?: (refused: BreakerOpenError) => T | Promise<T>;
  /** What it throws is nobody's concern who calls. */
  readonly onChange?: (change: BreakerChange) => void;
  /** Milliseconds that only go forward; the clock of this process when not given. */
  readonly now?: () => number;
}

export interface BreakerChange {
  readonly name: string;
  readonly from: BreakerState;
  readonly to: BreakerState;
}

export interface CallOptions {
  /** A call that is broken off by it counts neither for nor against what it called, unless its time ran out (`AbortSignal.timeout`). */
  readonly signal?: AbortSignal;
}

/** The breaker is open: nothing was called. */
export class BreakerOpenError extends Error {
  override readonly name = "BreakerOpenError";
  readonly breaker: string;
  readonly retryAfterMs: number;

  constructor(breaker: string, retryAfterMs: number) {
    super(`${breaker} is open: nothing is called for another ${Math.ceil(retryAfterMs / 1000)} s`);
    this.breaker = breaker;
    // Whole ones: timers cut off the rest, and would be early.
    this.retryAfterMs = Math.ceil(retryAfterMs);
  }
}

const defaults: BreakerRules = { failureThreshold: 3, recoveryTimeout: 60_000, halfOpenRequests: 1 };

/** A circuit breaker around calls of one kind. After too many failures in a row nothing is called for a while, then a few are let try. */
export function createBreaker<T = unknown>(options: BreakerOptions<T>) {
  let rules = checkRules(options);
  const { name, isFailure, fallback, onChange } = options;
  const now = steady(options.now ?? (() => performance.now()));
  let breaker: Breaker = closedBreaker;
  let ordinary: Ticket = { period: breaker.period, trial: null };

  function become(next: Breaker): void {
    const before = breaker.state;
    breaker = next;
    if (next.period !== ordinary.period) ordinary = { period: next.period, trial: null };
    if (next.state === before) return;
    try {
      onChange?.({ name, from: wireStates[before], to: wireStates[next.state] });
    } catch {
      // A trial that was let out must begin, and a call that went well must be answered.
    }
  }

  function end(ticket: Ticket, how: CallEnd): void {
    // Nearly every call: nothing has failed, and it went well.
    if (how === "succeeded" && breaker.state === "closed" && breaker.failures.length === 0) return;
    become(endCall(breaker, ticket, how, now(), rules));
  }

  async function run<V extends T>(call: () => V | Promise<V>, options?: CallOptions): Promise<V> {
    const signal = options?.signal;
    signal?.throwIfAborted();
    const ticket = enter();
    if (ticket instanceof BreakerOpenError) {
      if (fallback === undefined) throw ticket;
      return (await fallback(ticket)) as V;
    }
    let value: V;
    try {
      value = await call();
    } catch (error) {
      end(ticket, judgeError(error, signal, isFailure));
      throw error;
    }
    end(ticket, isFailure === undefined ? "succeeded" : judgeValue(value, isFailure));
    return value;
  }

  function enter(): Ticket | BreakerOpenError {
    if (breaker.state === "closed") return ordinary;
    const at = now();
    const admission = admitCall(breaker, at, rules);
    become(admission.breaker);
    return admission.admitted ? admission.ticket : new BreakerOpenError(name, admission.retryAt - at);
  }

  return {
    name,
    run,
    /** For calls behind several breakers: each `enter` that gives a ticket is followed by one `leave`. */
    enter,
    leave: end,
    state: (): BreakerState => wireStates[breaker.state],
    /** Closed, and nothing has failed of late. */
    isUntroubled: (): boolean => breaker.state === "closed" && breaker.failures.length === 0,
    /** Other rules from now on. How it stands stays as it is: an open one is tried when it was to be. */
    setRules(next: Partial<BreakerRules>): void {
      rules = checkRules(next);
    },
    /** Closed again, by a person's word. */
    reset: (): void => become(resetBreaker(breaker)),
    /** As it was when an earlier process of this agent saved it; `elapsed`: how long ago that was. */
    restore(saved: Breaker, elapsed = 0): void {
      become(movedTo(saved, now() - elapsed));
    },
    /** To be restored later: times count from now. */
    save: (): Breaker => movedTo(breaker, -now()),
  };
}

/** Neither what its caller broke off nor a breaker inside the call says anything about what was called. A time that ran out does: it took too long. */
export function judgeError<T>(
  error: unknown,
  signal: AbortSignal | undefined,
  isFailure: BreakerOptions<T>["isFailure"] | undefined,
): CallEnd {
  if (isBrokenOff(signal) || error instanceof BreakerOpenError) return "aborted";
  try {
    return (isFailure?.({ error }) ?? true) ? "failed" : "succeeded";
  } catch {
    return "failed";
  }
}

/** By its caller's will, and not because its time ran out, as `AbortSignal.timeout` words it. */
export const isBrokenOff = (signal: AbortSignal | undefined): boolean =>
  signal?.aborted === true && !(signal.reason instanceof Error && signal.reason.name === "TimeoutError");

export function judgeValue<T>(value: T, isFailure: BreakerOptions<T>["isFailure"] | undefined): CallEnd {
  try {
    return isFailure?.({ value }) === true ? "failed" : "succeeded";
  } catch {
    return "succeeded";
  }
}

export type CircuitBreaker<T = unknown> = ReturnType<typeof createBreaker<T>>;

/** Monotonic clocks of two processes have nothing in common: times are saved relative to the moment of saving. */
function movedTo(breaker: Breaker, by: number): Breaker {
  if (breaker.state === "closed") return { ...breaker, failures: breaker.failures.map((at) => at + by) };
  if (breaker.state === "open") return { ...breaker, reopenAt: breaker.reopenAt + by };
  return { ...breaker, trials: breaker.trials.map((at) => at + by) };
}

export function checkRules(given: Partial<BreakerRules>): BreakerRules {
  const rules = {
    failureThreshold: given.failureThreshold ?? defaults.failureThreshold,
    recoveryTimeout: given.recoveryTimeout ?? defaults.recoveryTimeout,
    halfOpenRequests: given.halfOpenRequests ?? defaults.halfOpenRequests,
  };
  for (const [rule, value] of Object.entries(rules)) {
    const isRight =
      rule === "recoveryTimeout" ? value > 0 && Number.isFinite(value) : Number.isInteger(value) && value > 0;
    if (!isRight)
      throw new RangeError(
        `${rule} of a breaker is a ${rule === "recoveryTimeout" ? "" : "whole "}number above 0, not ${value}`,
      );
  }
  return rules;
}
