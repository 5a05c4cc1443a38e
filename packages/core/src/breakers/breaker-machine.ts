import {
  admitCall,
  ageOutAfter,
  allTools,
  type Breaker,
  type BreakerRules,
  type BreakerSource,
  type BreakerState,
  type CallEnd,
  closedBreaker,
  type DurationMs,
  endCall,
  endOfTool,
  type MonoMs,
  minutes,
  noToolsSeen,
  type RouseEvent,
  resetBreaker,
  type ToolsSeen,
  wireStates,
} from "@rouse/contract";
import type { Letter, Machine } from "../machine.ts";
import type { BreakerChanged } from "./open-breakers.ts";

/** One circuit breaker of one agent, as Rouse knows it. Its name is `AGENT/OPERATION`, such as `worker-1/tool_execution/grep`. */
export interface BreakerRecord {
  readonly agentId: string;
  readonly operation: string;
  readonly source: Exclude<BreakerSource, "rouse">;
  readonly breaker: Breaker;
  /** When it came into this state. */
  readonly since: MonoMs;
  /** How often it opened. */
  readonly trips: number;
  /** The command that tells its agent of a reset, until the agent has heard of it. */
  readonly reset: string | null;
  /** While it is not closed; absent in records of an earlier version. */
  readonly unsettled?: Unsettled | null;
  /** Of the breaker of all tools, once Rouse saw a call of one. */
  readonly tools?: ToolsSeen;
  /** Its calls are seen in this life, whatever its agent says: by stream, session file or hooks. */
  readonly isSeen?: boolean;
  /** Its agent runs one as well, and told of it in this life. */
  readonly isToldOf?: boolean;
  /** Its changes are not told for now: the state that was told last, and when the present one is. */
  readonly untold?: { readonly told: BreakerState; readonly until: MonoMs } | null;
}

interface Unsettled {
  /** When it was last closed. */
  readonly since: MonoMs;
  /** When the failures began that opened it last. */
  readonly failingSince: MonoMs;
  /** From then on it says nothing about now, unless something is called; `null`: its agent named no time. */
  readonly agesOutAt: MonoMs | null;
  /** In a row, when it last opened; absent in records of an earlier version. */
  readonly failures?: number;
}

export type BreakerSignal =
  | {
      readonly kind: "reported";
      readonly state: BreakerState;
      readonly failures: number;
      /** Of an open one: when it lets something through again. */
      readonly retryIn: DurationMs | null;
    }
  /** A call of this tool; `null`: its name is not known. `seen`: by an eye of the holder, and not told by the agent. */
  | { readonly kind: "called"; readonly tool: string | null; readonly failed: boolean; readonly seen?: boolean }
  /** `command`: what tells the agent; `null` where nobody has to be told. */
  | { readonly kind: "reset"; readonly command: string | null }
  /** The agent has read these commands. */
  | { readonly kind: "heard"; readonly commands: readonly string[] }
  /** The agent begins a new life, which says anew what it knows. */
  | { readonly kind: "life-began" }
  | { readonly kind: "wake" };

export interface BreakerContext {
  readonly now: MonoMs;
  readonly rules: BreakerRules;
  /** So much was told of its agent's breakers that changes are only kept until then. */
  readonly mutedUntil?: MonoMs | null;
}

export const breakerName = ({ agentId, operation }: Pick<BreakerRecord, "agentId" | "operation">): string =>
  `${agentId}/${operation}`;

export function newBreaker(name: string, source: BreakerRecord["source"], now: MonoMs): BreakerRecord {
  const slash = name.indexOf("/");
  const [agentId, operation] = [name.slice(0, slash), name.slice(slash + 1)];
  return { agentId, operation, source, breaker: closedBreaker, since: now, trips: 0, reset: null };
}

/** Breakers outside their agents: what agents report of their own, and what Rouse sees fail without being told. */
export const breakerMachine: Machine<BreakerRecord, BreakerSignal, BreakerContext, null> = {
  name: "breaker",
  step(before, signal, context) {
    const taken = take(before, signal, context);
    const moved = taken === before ? before : { ...taken, unsettled: unsettledAfter(before, taken, signal, context) };
    const [from, to] = [wireStates[before.breaker.state], wireStates[moved.breaker.state]];
    const after = from === to ? moved : { ...moved, since: context.now, trips: before.trips + (to === "OPEN" ? 1 : 0) };
    const { record, events } = tellChange(before, after, context);
    return {
      record,
      reply: null,
      events,
      actions: [],
      letters: lettersAbout(before, record),
    };
  },
  /** An agent's own breaker is moved by the agent alone. */
  wakeAt({ source, breaker, unsettled, untold }) {
    const tellAt = untold?.until ?? null;
    if (source === "agent") return tellAt;
    const changesAt = breaker.state === "open" ? breaker.reopenAt : (unsettled?.agesOutAt ?? null);
    return tellAt === null || changesAt === null ? (tellAt ?? changesAt) : Math.min(tellAt, changesAt);
  },
  restore: readBreaker,
  serialise: JSON.stringify,
};

/** What is told of a change: at once, or, of an agent of which too much was told, the last of several later. */
function tellChange(
  before: BreakerRecord,
  after: BreakerRecord,
  { now, mutedUntil = null }: BreakerContext,
): { readonly record: BreakerRecord; readonly events: readonly RouseEvent[] } {
  const from = before.untold?.told ?? wireStates[before.breaker.state];
  const to = wireStates[after.breaker.state];
  if (from !== to && mutedUntil !== null && mutedUntil > now) {
    if (before.untold?.until === mutedUntil) return { record: after, events: [] };
    return { record: { ...after, untold: { told: from, until: mutedUntil } }, events: [] };
  }
  const record = after.untold ? { ...after, untold: null } : after;
  if (from === to) return { record, events: [] };
  return {
    record,
    events: [{ type: "CIRCUIT_BREAKER_STATE_CHANGED", payload: { name: breakerName(record), from, to } }],
  };
}

/** Reads a saved record, also one of an earlier version, which ages out like any other. */
function readBreaker(json: string): BreakerRecord {
  const saved: BreakerRecord = JSON.parse(json);
  if (saved.unsettled !== undefined || saved.breaker.state === "closed") return saved;
  const { since } = saved;
  return { ...saved, unsettled: { since, failingSince: since, agesOutAt: since + oldestKept } };
}

const oldestKept: DurationMs = minutes(10);

/** Failures in a row; of one that is not closed, those that opened it. */
export const failuresOf = ({ breaker, unsettled }: BreakerRecord): number =>
  breaker.state === "closed" ? breaker.failures.length : (unsettled?.failures ?? 0);

/** What the agent's own record is told. */
export function tellAgent(record: BreakerRecord): BreakerChanged {
  const { operation, source, breaker, since, unsettled } = record;
  const state = wireStates[breaker.state];
  if (state === "CLOSED") return { kind: "breaker-changed", operation, state };
  const retryAt = breaker.state === "open" ? breaker.reopenAt : null;
  const {
    since: unsettledSince,
    failingSince,
    agesOutAt,
  } = unsettled ?? { since, failingSince: since, agesOutAt: null };
  return {
    ...{ kind: "breaker-changed", operation, state, source, since },
    ...{ failingSince, unsettledSince, retryAt, agesOutAt },
  };
}

function lettersAbout(before: BreakerRecord, after: BreakerRecord): readonly Letter[] {
  const told = tellAgent(after);
  if (JSON.stringify(told) === JSON.stringify(tellAgent(before))) return [];
  return [{ machine: "agent", id: after.agentId, signal: told }];
}

function unsettledAfter(
  before: BreakerRecord,
  { source, breaker }: BreakerRecord,
  signal: BreakerSignal,
  { now, rules }: BreakerContext,
): Unsettled | null {
  if (breaker.state === "closed") return null;
  const known = before.unsettled ?? null;
  const isNews = before.breaker.state !== breaker.state;
  const timed = source === "observed" || breaker.state === "half-open" || hasTime(signal);
  const from = breaker.state === "open" ? breaker.reopenAt : now;
  const failures = before.breaker.state === "closed" ? before.breaker.failures : [];
  return {
    since: known?.since ?? now,
    failingSince:
      isNews && breaker.state === "open"
        ? source === "agent"
          ? now
          : (failures[0] ?? now)
        : (known?.failingSince ?? now),
    failures: failuresAfter(before, isNews && breaker.state === "open", signal),
    agesOutAt:
      isNews || signal.kind === "reported" ? (timed ? from + ageOutAfter(rules) : null) : (known?.agesOutAt ?? null),
  };
}

/** An agent that does not say how many is taken by what it said before. */
function failuresAfter(before: BreakerRecord, opens: boolean, signal: BreakerSignal): number {
  if (signal.kind === "reported") return signal.failures || failuresOf(before);
  return failuresOf(before) + (opens ? 1 : 0);
}

const hasTime = (signal: BreakerSignal): boolean => signal.kind === "reported" && signal.retryIn !== null;

function take(record: BreakerRecord, signal: BreakerSignal, { now, rules }: BreakerContext): BreakerRecord {
  switch (signal.kind) {
    case "reported":
      // It was said before its agent heard of the reset.
      if (record.reset !== null && signal.state !== "CLOSED") return record;
      return record.isSeen === true ? besideSeen(record, signal, now) : asTold(record, signal, now);
    case "called":
      if (signal.seen === true) return afterSeenCall(record, signal, now, rules);
      // Its agent knows better.
      return record.source === "agent" ? record : afterCall(record, signal, now, rules);
    case "reset":
      return { ...forgetFailures(record), breaker: resetBreaker(record.breaker), reset: signal.command };
    case "heard":
      return record.reset !== null && signal.commands.includes(record.reset) ? { ...record, reset: null } : record;
    case "life-began":
      return inNewLife(record);
    case "wake":
      return record.source === "observed" ? { ...record, breaker: afterRest(record, now) } : record;
  }
}

type Reported = Extract<BreakerSignal, { kind: "reported" }>;
type Called = Extract<BreakerSignal, { kind: "called" }>;

const asTold = (record: BreakerRecord, said: Reported, now: MonoMs): BreakerRecord => ({
  ...record,
  source: "agent",
  isToldOf: true,
  breaker: asReported(record.breaker, said, now),
});

/**
 * Where its calls are seen, an agent's word opens its breaker and takes that back, and no other word of it makes better
 * what was seen.
 */
function besideSeen(record: BreakerRecord, said: Reported, now: MonoMs): BreakerRecord {
  if (said.state === "OPEN") return asTold(record, said, now);
  if (record.source === "observed") return record.isToldOf === true ? record : { ...record, isToldOf: true };
  // The failures that it counts itself are seen as well.
  return { ...asTold(record, { ...said, failures: 0 }, now), source: "observed" };
}

/** An agent that says OPEN is taken at its word; from anything better the calls that are seen go on by themselves. */
function afterSeenCall(record: BreakerRecord, call: Called, now: MonoMs, rules: BreakerRules): BreakerRecord {
  const { source, breaker, isSeen } = record;
  const isTold = source === "agent";
  if (isTold && breaker.state === "open") return isSeen === true ? record : { ...record, isSeen: true };
  const from = isTold && breaker.state === "closed" ? { ...breaker, failures: [] } : breaker;
  return afterCall({ ...record, isSeen: true, source: "observed", breaker: from }, call, now, rules);
}

/**
 * The new life may be another program, which tells nothing of its breakers: Rouse watches until it does. A reset that the
 * former life did not hear of is for this one.
 */
function inNewLife(record: BreakerRecord): BreakerRecord {
  const { source, breaker, isSeen = false } = record;
  const isFresh = breaker.state === "closed" && breaker.failures.length === 0;
  if (isFresh && source === "observed" && !isSeen && record.tools === undefined) return record;
  return {
    ...forgetTools(record),
    isSeen: false,
    isToldOf: false,
    source: "observed",
    breaker: isFresh ? breaker : resetBreaker(breaker),
  };
}

/** Nobody called for long: an open one waits for a trial, and what nobody tries does not stay unsettled for ever. */
function afterRest({ breaker, unsettled }: BreakerRecord, now: MonoMs): Breaker {
  if (breaker.state === "open" && breaker.reopenAt <= now) return halfOpen(breaker);
  const agesOutAt = unsettled?.agesOutAt ?? null;
  return breaker.state === "half-open" && agesOutAt !== null && agesOutAt <= now ? resetBreaker(breaker) : breaker;
}

const halfOpen = ({ period }: Breaker): Breaker => ({
  state: "half-open",
  period,
  trials: [],
  passed: 0,
});

function asReported(before: Breaker, said: Reported, now: MonoMs): Breaker {
  const { period } = before;
  switch (said.state) {
    case "CLOSED":
      return { state: "closed", period, failures: new Array<MonoMs>(Math.min(said.failures, 1000)).fill(now) };
    case "OPEN":
      return { state: "open", period, reopenAt: now + (said.retryIn ?? 0) };
    case "HALF_OPEN":
      return halfOpen(before);
  }
}

/** Nobody asked whether the call may be made: one that is made while it is open says nothing, the first after it is the trial. */
function afterCall(record: BreakerRecord, { tool, failed }: Called, now: MonoMs, rules: BreakerRules): BreakerRecord {
  const how: CallEnd = failed ? "failed" : "succeeded";
  const { seen, end } =
    record.operation === allTools
      ? endOfTool(record.tools ?? noToolsSeen, { tool: tool ?? "", end: how, now }, rules)
      : { seen: record.tools, end: how };
  const admission = admitCall(record.breaker, now, rules);
  const breaker = admission.admitted
    ? endCall(admission.breaker, admission.ticket, end, now, rules)
    : admission.breaker;
  if (breaker === record.breaker && seen === record.tools) return record;
  return { ...record, breaker, ...(seen === undefined ? {} : { tools: seen }) };
}

function forgetTools({ tools: _, ...record }: BreakerRecord): BreakerRecord {
  return record;
}

const forgetFailures = (record: BreakerRecord): BreakerRecord =>
  record.tools === undefined ? record : { ...record, tools: { ...record.tools, failed: [] } };
