import { type BreakerState, breakerRulesFrom, type DurationMs, settingsOf } from "@rouse/contract";
import { ms, type Story } from "../story.test-support.ts";
import { type BreakerRecord, type BreakerSignal, breakerMachine, newBreaker } from "./breaker-machine.ts";
import type { BreakerChanged } from "./open-breakers.ts";

/** The breakers of a story's agent, by the default settings: they tell it of every change, as the monitor's do. */
export function breakersOf(agent: Story) {
  const records = new Map<string, BreakerRecord>();
  const settings = settingsOf("default").circuit_breaker;

  function step(operation: string, signal: BreakerSignal): void {
    const name = `${agent.record.agentId}/${operation}`;
    const before = records.get(operation) ?? newBreaker(name, "observed", agent.now);
    const rules = breakerRulesFrom(settings, operation);
    const { record, letters = [] } = breakerMachine.step(before, signal, { now: agent.now, rules });
    records.set(operation, breakerMachine.restore(breakerMachine.serialise(record)));
    for (const { id, signal: told } of letters) {
      if (id === agent.record.agentId) agent.take(told as BreakerChanged);
    }
  }

  /** Time passes as `pass` lets it, and breakers are woken when they ask for it. */
  function passes(duration: string | DurationMs, pass: (duration: DurationMs) => void = agent.silentFor): void {
    const until = agent.now + ms(duration);
    while (agent.now < until) {
      const due = [...records.values()].flatMap((record) => breakerMachine.wakeAt(record) ?? []);
      const next = Math.min(until, ...due.map((at) => Math.max(at, agent.now + 1)));
      pass(next - agent.now);
      for (const [operation, record] of records)
        if ((breakerMachine.wakeAt(record) ?? Number.POSITIVE_INFINITY) <= agent.now) step(operation, { kind: "wake" });
    }
  }

  return {
    passes,
    reports: (operation: string, state: BreakerState, retryIn: string | null = null): void =>
      step(operation, {
        kind: "reported",
        state,
        failures: state === "CLOSED" ? 0 : 3,
        retryIn: retryIn === null ? null : ms(retryIn),
      }),
    /** Calls that end now, one after the other, each seen by the breaker of all tools and that of its own. */
    calls(tool: string, ...ends: ("well" | "failed")[]): void {
      for (const end of ends)
        for (const operation of ["tool_execution", `tool_execution/${tool}`])
          step(operation, { kind: "called", tool, failed: end === "failed" });
    },
    resets: (operation: string): void => step(operation, { kind: "reset", command: null }),
    state: (operation: string): string => records.get(operation)?.breaker.state ?? "unknown",
  };
}
