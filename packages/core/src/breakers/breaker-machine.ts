import {
  admitCall,
  type Breaker,
  type BreakerRules,
  type BreakerSource,
  type BreakerState,
  closedBreaker,
  type DurationMs,
  endCall,
  type MonoMs,
  resetBreaker,
  wireStates,
} from "@rouse/contract";
import type { Machine } from "../machine.ts";

/** One circuit breaker of one agent, as Rouse knows it. Its name is `AGENT/OPERATION`, such as `worker-1/tool_execution/grep`. */
export interface BreakerRecord {
  readonly agentId: string;
  readonly operation: string;
  /** `agent`: it runs inside the agent, which reports it. `observed`: Rouse runs it over calls that it sees. */
  readonly source: BreakerSource;
  readonly breaker: Breaker;
  /** When it came into this state. */
  readonly since: MonoMs;
  /** How often it opened. */
  readonly trips: number;
  /** The command that tells its agent of a reset, until the agent has heard of it. */
  readonly reset: string | null;
}

export type BreakerSignal =
  | {
      readonly kind: "reported";
      readonly state: BreakerState;
      readonly failures: number;
      /** Of an open one: when it lets something through again. */
      readonly retryIn: DurationMs | null;
    }
  | { readonly kind: "called"; readonly failed: boolean }
  /** `command`: what tells the agent; `null` where nobody has to be told. */
  | { readonly kind: "reset"; readonly command: string | null }
  /** The agent has read these commands. */
  | { readonly kind: "heard"; readonly commands: readonly string[] }
  | { readonly kind: "wake" };

export interface BreakerContext {
  readonly now: MonoMs;
  readonly rules: BreakerRules;
}

export const breakerName = ({ agentId, operation }: Pick<BreakerRecord, "agentId" | "operation">): string =>
  `${agentId}/${operation}`;

export function newBreaker(name: string, source: BreakerSource, now: MonoMs): BreakerRecord {
  const slash = name.indexOf("/");
  const [agentId, operation] = [name.slice(0, slash), name.slice(slash + 1)];
  return { agentId, operation, source, breaker: closedBreaker, since: now, trips: 0, reset: null };
}

/** Breakers outside their agents: what agents report of their own, and what Rouse sees fail without being told. */
export const breakerMachine: Machine<BreakerRecord, BreakerSignal, BreakerContext, null> = {
  name: "breaker",
  step(before, signal, context) {
    const moved = take(before, signal, context);
    const [from, to] = [wireStates[before.breaker.state], wireStates[moved.breaker.state]];
    const record =
      from === to ? moved : { ...moved, since: context.now, trips: before.trips + (to === "OPEN" ? 1 : 0) };
    return {
      record,
      reply: null,
      events:
        from === to
          ? []
          : [{ type: "CIRCUIT_BREAKER_STATE_CHANGED", payload: { name: breakerName(record), from, to } }],
      actions: [],
    };
  },
  /** An agent's own breaker is moved by the agent alone. */
  wakeAt: ({ source, breaker }) => (source === "observed" && breaker.state === "open" ? breaker.reopenAt : null),
  restore: JSON.parse,
  serialise: JSON.stringify,
};

function take(record: BreakerRecord, signal: BreakerSignal, { now, rules }: BreakerContext): BreakerRecord {
  switch (signal.kind) {
    case "reported":
      // It was said before its agent heard of the reset.
      if (record.reset !== null && signal.state !== "CLOSED") return record;
      return { ...record, source: "agent", breaker: asReported(record.breaker, signal, now) };
    case "called":
      // Its agent knows better.
      return record.source === "agent"
        ? record
        : { ...record, breaker: afterCall(record.breaker, signal.failed, now, rules) };
    case "reset":
      return { ...record, breaker: resetBreaker(record.breaker), reset: signal.command };
    case "heard":
      return record.reset !== null && signal.commands.includes(record.reset) ? { ...record, reset: null } : record;
    case "wake":
      return record.source === "observed" && record.breaker.state === "open" && record.breaker.reopenAt <= now
        ? { ...record, breaker: { ...halfOpen(record.breaker, now), openedAt: record.breaker.openedAt } }
        : record;
  }
}

const halfOpen = ({ period }: Breaker, openedAt: MonoMs): Extract<Breaker, { state: "half-open" }> => ({
  state: "half-open",
  period,
  openedAt,
  trials: [],
  passed: 0,
});

function asReported(before: Breaker, said: Extract<BreakerSignal, { kind: "reported" }>, now: MonoMs): Breaker {
  const { period } = before;
  switch (said.state) {
    case "CLOSED":
      return { state: "closed", period, failures: new Array<MonoMs>(Math.min(said.failures, 1000)).fill(now) };
    case "OPEN": {
      const openedAt = before.state === "open" ? before.openedAt : now;
      return { state: "open", period, openedAt, reopenAt: now + (said.retryIn ?? 0) };
    }
    case "HALF_OPEN":
      return before.state === "half-open" ? before : halfOpen(before, before.state === "open" ? before.openedAt : now);
  }
}

/** Nobody asked whether the call may be made: one that is made while it is open says nothing, the first after it is the trial. */
function afterCall(breaker: Breaker, failed: boolean, now: MonoMs, rules: BreakerRules): Breaker {
  const admission = admitCall(breaker, now, rules);
  if (!admission.admitted) return admission.breaker;
  return endCall(admission.breaker, admission.ticket, failed ? "failed" : "succeeded", now, rules);
}
