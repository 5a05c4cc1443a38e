import { healthStates } from "@rouse/contract";
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Monitor } from "../monitor.ts";

/** Prometheus metrics, read from the monitor when asked: nothing is counted twice and the hot path knows nothing of them. */
export function createMetrics(monitor: Monitor): { contentType: string; print(): Promise<string> } {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "rouse_" });
  const registers = [registry];

  new Counter({
    name: "rouse_heartbeats_total",
    help: "Heartbeats by what became of them",
    labelNames: ["status"],
    registers,
    collect() {
      this.reset();
      for (const [status, count] of Object.entries(monitor.counters().beats)) this.inc({ status }, count);
    },
  });
  new Gauge({
    name: "rouse_agents",
    help: "Agents by health state",
    labelNames: ["state"],
    registers,
    collect() {
      const byState = monitor.status().agents_by_state;
      for (const state of healthStates) this.set({ state }, byState[state] ?? 0);
    },
  });
  counter("rouse_turns_total", "Turns of judgement", () => monitor.counters().turns);
  counter("rouse_wakes_total", "Turns because a deadline came", () => monitor.counters().wakes);
  counter("rouse_events_total", "Events saved since the start", () => monitor.counters().events);
  gauge("rouse_outbox_actions", "Actions whose outcome is not known yet", () => monitor.counters().outbox);
  gauge("rouse_store_down", "1 while the store cannot be written", () => (monitor.counters().storeDown ? 1 : 0));
  gauge("rouse_holds", "Holds in force", () => monitor.status().monitor.holds.length);
  gauge("rouse_frozen", "1 while a person has frozen all interventions", () =>
    monitor.status().monitor.frozen === null ? 0 : 1,
  );
  gauge("rouse_lag_seconds", "How late our own turns have been running", () => monitor.status().monitor.lagSeconds);

  function counter(name: string, help: string, read: () => number): void {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }
  function gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
  return { contentType: registry.contentType, print: () => registry.metrics() };
}
