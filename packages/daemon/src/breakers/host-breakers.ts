import {
  type BreakerSettings,
  breakerRulesFrom,
  type CircuitBreakerStatus,
  type Command,
  type DurationMs,
  Fault,
  type Heartbeat,
  type MonoMs,
  minutes,
  recoveryOperation,
  seconds,
  toIso,
  wireStates,
} from "@rouse/contract";
import {
  type AgentRecord,
  type BreakerRecord,
  breakerMachine,
  breakerName,
  type EndedCall,
  failuresOf,
  howOver,
  newBreaker,
  noteBreaker,
  tellAgent,
  withSeen,
} from "@rouse/core";
import type { BreakerLetter } from "../agents/host-agents.ts";
import { type PolicySubject, policySubject } from "../config/choose-policy.ts";
import { nearestName } from "../config/nearest-name.ts";
import { hostMachine } from "../engine/host-machine.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { type By, orderLine } from "../orders/note-orders.ts";
import type { KeptMachine } from "../ports/store.ts";
import type { SharedServices } from "../shared-services.ts";

type Parts = Pick<SharedServices, "engine" | "commits" | "roster" | "agents" | "config" | "toWall">;

/** An agent that made up names could fill the memory of everybody. */
const mostPerAgent = 200;
/** Events are kept for long, and one request can bring thousands of changes. */
const mostTold = 60;
const stretch: DurationMs = minutes(1);
/** With these a name that nobody knows is compared; it takes some milliseconds. */
const mostCompared = 200;

const agentOf = (name: string): string => name.slice(0, name.indexOf("/"));

/**
 * The circuit breakers of all agents: told with heartbeats, seen in steps and streams, listed, and reset by people. The
 * one in front of bringing an agent back is kept with the agent.
 */
export function hostBreakers({ engine, commits, roster, agents, config, toWall }: Parts) {
  const byAgent = new Map<string, Set<string>>();
  const unheard = new Set<string>();
  /** How many changes of each agent's breakers were told in the minute that ends then. */
  const toldLately = new Map<string, { readonly until: MonoMs; count: number }>();
  let resets = 0;
  const breakers = hostMachine({
    ...{ engine, commits, machine: breakerMachine, wakeSignal: { kind: "wake" } as const },
    begin: (name, now) => newBreaker(name, "observed", now),
    agentOf,
    contextOf: (now, name) => ({ now, rules: rulesOf(name), mutedUntil: mutedUntil(agentOf(name), now) }),
    noteEvents(name, count, { now }) {
      const known = toldLately.get(agentOf(name));
      if (known === undefined || known.until <= now) toldLately.set(agentOf(name), { until: now + stretch, count });
      else known.count += count;
    },
    hear(letter, moment) {
      const { agentId, ...told } = letter as BreakerLetter;
      if (told.kind === "tools-ended") for (const call of told.calls) observe(agentId, call, told.seen, moment);
      else for (const name of byAgent.get(agentId) ?? []) breakers.run(name, { kind: "life-began" }, moment);
    },
  });

  /** Until when changes of an agent's breakers are kept and not told. */
  function mutedUntil(agentId: string, now: MonoMs): MonoMs | null {
    const known = toldLately.get(agentId);
    if (known === undefined) return null;
    if (known.until <= now) toldLately.delete(agentId);
    else if (known.count >= mostTold) return known.until;
    return null;
  }

  function rulesOf(name: string) {
    const [agentId, operation] = [name.slice(0, name.indexOf("/")), name.slice(name.indexOf("/") + 1)];
    const record = roster.find(agentId)?.record;
    const subject = record === undefined ? { agentId, agentType: null, taskId: null } : policySubject(record);
    return breakerRulesFrom(settingsFor(subject), operation);
  }

  const settingsFor = (subject: PolicySubject): BreakerSettings => config().settingsFor(subject).circuit_breaker;

  /** Runs the breakers of an agent's tools over what is seen of its calls. */
  function observe(agentId: string, { tool, failed }: EndedCall, seen: boolean, moment: Moment): void {
    const own = tool === null ? [] : [`${agentId}/tool_execution/${tool.replaceAll(/[^\w.:@+-]/g, "_").slice(0, 150)}`];
    for (const name of [`${agentId}/tool_execution`, ...own])
      if (admit(agentId, name)) breakers.run(name, { kind: "called", tool, failed, seen }, moment);
  }

  /** Whether this agent may have a breaker of this name. */
  function admit(agentId: string, name: string): boolean {
    const own = byAgent.get(agentId) ?? new Set();
    if (own.has(name)) return true;
    if (own.size >= mostPerAgent) return false;
    byAgent.set(agentId, own.add(name));
    return true;
  }

  function isAgentOver(agentId: string): boolean {
    const record = roster.find(agentId)?.record;
    return record === undefined || howOver(record, config().policyFor(policySubject(record))) !== null;
  }

  function describe(record: BreakerRecord): CircuitBreakerStatus {
    const { agentId, operation, source, breaker, since, trips, reset } = record;
    return {
      name: breakerName(record),
      state: wireStates[breaker.state],
      agentId,
      operation,
      source,
      since: toIso(toWall(since)),
      failures: failuresOf(record),
      trips,
      retryAt: breaker.state === "open" ? toIso(toWall(breaker.reopenAt)) : null,
      resetPending: reset !== null,
      agentOver: isAgentOver(agentId),
    };
  }

  /** The one in front of bringing an agent back, once that was tried. */
  function describeGate({ agentId, recovery: { gate } }: AgentRecord): CircuitBreakerStatus[] {
    if (gate === null) return [];
    const { breaker, since, trips } = gate;
    const operation = recoveryOperation;
    const known = { agentId, operation, breaker, since, trips, reset: null };
    return [{ ...describe({ ...known, source: "observed" }), source: "rouse" }];
  }

  const gateOf = (agentId: string): CircuitBreakerStatus[] => {
    const record = roster.find(agentId)?.record;
    return record === undefined ? [] : describeGate(record);
  };

  function describeAll(): CircuitBreakerStatus[] {
    const all = [...byAgent.keys()].flatMap((agentId) => of(agentId).map(describe));
    for (const { record } of roster.all()) if (record.recovery.gate !== null) all.push(...describeGate(record));
    return all;
  }

  /** The agent of this name, if the name is that of the breaker in front of bringing it back. */
  const gatedBy = (name: string): string | null => {
    const agentId = name.slice(0, -recoveryOperation.length - 1);
    return name === `${agentId}/${recoveryOperation}` && gateOf(agentId).length > 0 ? agentId : null;
  };

  function of(agentId: string): BreakerRecord[] {
    return [...(byAgent.get(agentId) ?? [])].flatMap((name) => breakers.find(name) ?? []);
  }

  /** Agents make up names as long as they like, and comparing takes time that nobody is heard in. */
  function namesNear(name: string): string[] {
    const agentId = name.split("/", 1)[0] ?? "";
    const ids = roster.find(agentId) === undefined ? [...byAgent.keys()].slice(0, mostCompared) : [agentId];
    const names = ids.flatMap((id) => [...gateOf(id).map((gate) => gate.name), ...(byAgent.get(id) ?? [])]);
    return names.slice(0, mostCompared);
  }

  function mustFind(name: string): BreakerRecord {
    const record = breakers.find(name);
    if (record !== null) return record;
    const nearest = nearestName(name, namesNear(name));
    throw new Fault(
      "breaker-unknown",
      `no breaker has this name${nearest === undefined ? "; `rouse breakers` lists all" : `; did you mean ${nearest}?`}`,
    );
  }

  function noteUnheard(agentId: string): void {
    if (of(agentId).some(({ reset }) => reset !== null)) unheard.add(agentId);
    else unheard.delete(agentId);
  }

  /** After a start: an agent's record that was saved by an earlier version knows nothing of its breakers. */
  function tellRecord(agentId: string): void {
    const watched = roster.find(agentId);
    if (watched === undefined) return;
    const known = of(agentId).map(tellAgent).reduce(noteBreaker, watched.record.seen.breakers);
    if (known !== watched.record.seen.breakers) watched.record = withSeen(watched.record, { breakers: known });
  }

  return {
    /** Agents that have not heard of a reset yet. */
    unheard,
    /** What an accepted beat says of its agent's breakers, and that it read of a reset. */
    hear({ agentId, breakers: news = [], seen = [] }: Heartbeat, moment: Moment): void {
      if (seen.length > 0)
        for (const record of of(agentId))
          if (record.reset !== null) breakers.submit(breakerName(record), { kind: "heard", commands: seen }, moment);
      for (const { operation, state, failures = 0, retryInSeconds } of news) {
        // An agent has no say in how often it is brought back.
        if (operation.split("/")[0] === recoveryOperation) continue;
        const name = `${agentId}/${operation}`;
        const retryIn = retryInSeconds === undefined ? null : seconds(retryInSeconds);
        if (admit(agentId, name)) breakers.submit(name, { kind: "reported", state, failures, retryIn }, moment);
      }
      noteUnheard(agentId);
    },
    /** Resets that its agent has not heard of yet. */
    commandsFor(agentId: string): Command[] {
      if (!byAgent.has(agentId)) return [];
      return of(agentId).flatMap(({ reset, operation }) =>
        reset === null ? [] : [{ id: reset, kind: "reset-breaker", because: "a person reset it", breaker: operation }],
      );
    },
    /** What the owner's settings say for this agent's breakers, its own ones included. */
    settingsOf: (agentId: string): BreakerSettings => settingsFor(policySubject(roster.mustFind(agentId).record)),
    of: (agentId: string): CircuitBreakerStatus[] => [...of(agentId).map(describe), ...gateOf(agentId)],
    list: describeAll,
    get: (name: string): CircuitBreakerStatus => gateOf(gatedBy(name) ?? "")[0] ?? describe(mustFind(name)),
    /** By hand, since this run began. */
    resets: (): number => resets,
    /** By a person. Its agent is told with its next acknowledgement. */
    async reset(name: string, by: By & { readonly reason: string }): Promise<CircuitBreakerStatus> {
      const moment = engine.begin();
      const gated = gatedBy(name);
      if (gated === null) mustFind(name);
      engine.addToTrail(orderLine({ order: "reset-breaker", subject: name, ...by }, moment.time));
      resets += 1;
      if (gated !== null) {
        agents.take(roster.mustFind(gated), { kind: "recovery-reset" }, moment);
        await commits.saved();
        return describeGate(roster.mustFind(gated).record)[0] ?? describe(mustFind(name));
      }
      const { agentId, source, breaker, isToldOf = false } = mustFind(name);
      const command = source === "agent" || isToldOf ? `reset/${name}/${breaker.period + 1}` : null;
      breakers.submit(name, { kind: "reset", command }, moment);
      noteUnheard(agentId);
      await commits.saved();
      return describe(mustFind(name));
    },
    forgetAgent(agentId: string): void {
      for (const name of byAgent.get(agentId) ?? []) breakers.forget(name);
      byAgent.delete(agentId);
      toldLately.delete(agentId);
      unheard.delete(agentId);
    },
    restore(machines: readonly KeptMachine[]): void {
      breakers.restore(machines);
      for (const { machine, id } of machines)
        if (machine === breakerMachine.name) admit(id.slice(0, id.indexOf("/")), id);
      for (const agentId of byAgent.keys()) {
        noteUnheard(agentId);
        tellRecord(agentId);
      }
    },
  };
}

export type Breakers = ReturnType<typeof hostBreakers>;
