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

export interface BreakerOptions<T> extends Partial<BreakerRules> {
  readonly name: string;
  /** Whether what a call threw, or returned, counts against what it called. Everything thrown does, when not given. */
  readonly isFailure?: (outcome: { readonly error: unknown } | { readonly value: T }) => boolean;
  /** Called instead when the breaker lets nothing through: an older answer, a simpler way. */
  readonly fallback?: (refused: BreakerOpenError) => T | Promise<T>;
  readonly onChange?: (change: BreakerChange) => void;
  /** Milliseconds that only go forward. */
  readonly now?: () => number;
}

export interface BreakerChange {
  readonly name: string;
  readonly from: BreakerState;
  readonly to: BreakerState;
}

export interface CallOptions {
  /** A call that is broken off by it counts neither for nor against what it called. */
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
    this.retryAfterMs = retryAfterMs;
  }
}

const defaults: BreakerRules = { failureThreshold: 3, recoveryTimeout: 60_000, halfOpenRequests: 1 };

/** A circuit breaker around calls of one kind. After too many failures in a row nothing is called for a while, then a few are let try. */
export function createBreaker<T = unknown>(options: BreakerOptions<T>) {
  const rules = checkRules(options);
  const { name, isFailure, fallback, onChange, now = () => performance.now() } = options;
  let breaker: Breaker = closedBreaker;

  function become(next: Breaker): void {
    const [from, to] = [wireStates[breaker.state], wireStates[next.state]];
    breaker = next;
    if (from !== to) onChange?.({ name, from, to });
  }

  function end(ticket: Ticket, how: CallEnd): void {
    // Nearly every call: nothing has failed, and it went well.
    if (how === "succeeded" && breaker.state === "closed" && breaker.failures.length === 0) return;
    become(endCall(breaker, ticket, how, now(), rules));
  }

  async function run<V extends T>(call: () => V | Promise<V>, { signal }: CallOptions = {}): Promise<V> {
    signal?.throwIfAborted();
    const ticket = enter();
    if (ticket instanceof BreakerOpenError) {
      if (fallback === undefined) throw ticket;
      return (await fallback(ticket)) as V;
    }
    try {
      const value = await call();
      end(ticket, isFailure?.({ value }) === true ? "failed" : "succeeded");
      return value;
    } catch (error) {
      end(ticket, howItEnded(error, signal));
      throw error;
    }
  }

  const closedTicket = { period: 0, trial: null as null };

  function enter(): Ticket | BreakerOpenError {
    if (breaker.state === "closed") {
      return breaker.period === closedTicket.period ? closedTicket : { period: breaker.period, trial: null };
    }
    const admission = admitCall(breaker, now(), rules);
    become(admission.breaker);
    return admission.admitted ? admission.ticket : new BreakerOpenError(name, Math.max(0, admission.retryAt - now()));
  }

  const howItEnded = (error: unknown, signal: AbortSignal | undefined): CallEnd => judgeError(error, signal, isFailure);

  return {
    name,
    run,
    /** For calls behind several breakers: each `enter` that gives a ticket is followed by one `leave`. */
    enter,
    leave: end,
    state: (): BreakerState => wireStates[breaker.state],
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

/** Neither what its caller broke off nor a breaker inside the call says anything about what was called. */
export function judgeError<T>(
  error: unknown,
  signal: AbortSignal | undefined,
  isFailure: BreakerOptions<T>["isFailure"] | undefined,
): CallEnd {
  if (signal?.aborted === true || error instanceof BreakerOpenError) return "aborted";
  return (isFailure?.({ error }) ?? true) ? "failed" : "succeeded";
}

export type CircuitBreaker<T = unknown> = ReturnType<typeof createBreaker<T>>;

/** Monotonic clocks of two processes have nothing in common: times are saved relative to the moment of saving. */
function movedTo(breaker: Breaker, by: number): Breaker {
  if (breaker.state === "closed") return { ...breaker, failures: breaker.failures.map((at) => at + by) };
  const openedAt = breaker.openedAt + by;
  if (breaker.state === "open") return { ...breaker, openedAt, reopenAt: breaker.reopenAt + by };
  return { ...breaker, openedAt, trials: breaker.trials.map((at) => at + by) };
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
