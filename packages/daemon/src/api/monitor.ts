import {
  AgentsHealth,
  BreakerSource,
  BreakerState,
  ConfigReport,
  Fault,
  FreezeRequest,
  healthStates,
  OpenApi,
  Probe,
  SystemStatus,
} from "@rouse/contract";
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Monitor } from "../monitor.ts";
import { openApiDocument } from "./openapi.ts";
import { get, owner, post, type Route, readers, readersAnd } from "./route.ts";

/** The monitor itself: how it is, what it is told, and what it is. */
export function monitorRoutes(monitor: Monitor, version: string, table: () => readonly Route[]): Route[] {
  const metrics = createMetrics(monitor);
  let openApi: object | null = null;
  return [
    ...(["freeze", "thaw"] as const).map((id) =>
      post(`/api/v1/${id}`, {
        who: owner,
        id,
        about: id === "freeze" ? "Stop all interventions" : "Allow interventions again",
        request: { body: FreezeRequest },
        answer: { 200: SystemStatus },
        async run({ body: { actor, reason }, principal }) {
          await monitor[id](principal, reason, actor);
          return monitor.status();
        },
      }),
    ),
    get("/api/v1/config", {
      // Addresses of webhooks stand in it, and their paths are often secrets.
      who: owner,
      id: "getConfig",
      about: "The configuration in force",
      answer: { 200: ConfigReport },
      run() {
        const { preset, sources, settings, policyFor } = monitor.config();
        return { preset, policy: policyFor({ agentId: "", agentType: null, taskId: null }).id, sources, settings };
      },
    }),
    get("/api/v1/openapi.json", {
      who: readers,
      id: "getOpenApi",
      about: "This document",
      answer: { 200: OpenApi },
      run() {
        openApi ??= openApiDocument(table(), version);
        return openApi;
      },
    }),
    get("/api/health/status", {
      // An agent gets what its policy lets it see of the fleet.
      who: readersAnd("fleet"),
      id: "getStatus",
      about: "The monitor and its fleet in numbers",
      answer: { 200: SystemStatus },
      run: () => monitor.status(),
    }),
    get("/api/health/agents", {
      who: readers,
      id: "getAgentsHealth",
      about: "Agents by state, and each one's health",
      answer: { 200: AgentsHealth },
      run() {
        const { total_agents, active_agents, degraded_agents, agents_by_state } = monitor.status();
        return { total_agents, active_agents, degraded_agents, agents_by_state, agents: monitor.agents() };
      },
    }),
    get("/metrics", {
      who: readers,
      id: "getMetrics",
      about: "Prometheus metrics",
      answer: { 200: { content: { "text/plain": null } } },
      run: async ({ reply }) => reply.type(metrics.contentType).send(await metrics.print()),
    }),
    get("/livez", {
      who: { ...readersAnd("any"), nobody: true },
      id: "isAlive",
      about: "The process is up (no token needed)",
      answer: { 200: Probe },
      run: () => ({ status: "ok" }),
    }),
    get("/readyz", {
      who: readersAnd("any"),
      id: "isReady",
      about: "It takes beats and can save them",
      answer: { 200: Probe },
      run() {
        if (monitor.counters().storeDown)
          throw new Fault("store-unavailable", "the store cannot be written", { retryable: true });
        return { status: "ok" };
      },
    }),
  ];
}

/** Prometheus metrics, read from the monitor when asked: the hot path counts nothing for them. */
function createMetrics(monitor: Monitor): { contentType: string; print(): Promise<string> } {
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
  new Gauge({
    name: "rouse_breakers",
    help: "Circuit breakers by state, and by who keeps them",
    labelNames: ["state", "source"],
    registers,
    collect() {
      for (const state of BreakerState.options)
        for (const source of BreakerSource.options) this.set({ state, source }, 0);
      for (const { state, source } of monitor.help.breakers.list()) this.inc({ state, source });
    },
  });
  let trips = 0;
  monitor.onEvents((events) => {
    for (const { type, payload } of events)
      if (type === "CIRCUIT_BREAKER_STATE_CHANGED" && payload.to === "OPEN") trips += 1;
  });
  counter("rouse_breaker_trips_total", "Circuit breakers that opened since the start", () => trips);
  counter(
    "rouse_breaker_resets_total",
    "Circuit breakers closed by hand since the start",
    monitor.help.breakers.resets,
  );
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
