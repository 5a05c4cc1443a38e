import { AgentsHealth, ConfigReport, Fault, FreezeRequest, OpenApi, Probe, SystemStatus } from "@rouse/contract";
import type { Monitor } from "../monitor.ts";
import { createMetrics } from "./metrics.ts";
import { openApiDocument } from "./openapi.ts";
import { owner, type Route, readers, readersAnd, route } from "./route.ts";

/** The monitor itself: how it is, what it is told, and what it is. */
export function monitorRoutes(monitor: Monitor, version: string, table: () => readonly Route[]): Route[] {
  const metrics = createMetrics(monitor);
  let openApi: object | null = null;
  return [
    route({
      method: "POST",
      path: "/api/v1/freeze",
      who: owner,
      id: "freeze",
      about: "Stop all interventions",
      request: { body: FreezeRequest },
      answer: { 200: SystemStatus },
      async run({ body: { actor, reason }, principal }) {
        await monitor.freeze(principal, reason, actor);
        return monitor.status();
      },
    }),
    route({
      method: "POST",
      path: "/api/v1/thaw",
      who: owner,
      id: "thaw",
      about: "Allow interventions again",
      request: { body: FreezeRequest },
      answer: { 200: SystemStatus },
      async run({ body: { actor, reason }, principal }) {
        await monitor.thaw(principal, reason, actor);
        return monitor.status();
      },
    }),
    route({
      method: "GET",
      path: "/api/v1/config",
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
    route({
      method: "GET",
      path: "/api/v1/openapi.json",
      who: readers,
      id: "getOpenApi",
      about: "This document",
      answer: { 200: OpenApi },
      run() {
        openApi ??= openApiDocument(table(), version);
        return openApi;
      },
    }),
    route({
      method: "GET",
      path: "/api/health/status",
      // Of an agent, what its policy lets it see of the fleet.
      who: readersAnd("fleet"),
      id: "getStatus",
      about: "The monitor and its fleet in numbers",
      answer: { 200: SystemStatus },
      run: () => monitor.status(),
    }),
    route({
      method: "GET",
      path: "/api/health/agents",
      who: readers,
      id: "getAgentsHealth",
      about: "Agents by state, and each one's health",
      answer: { 200: AgentsHealth },
      run() {
        const { total_agents, active_agents, degraded_agents, agents_by_state } = monitor.status();
        return { total_agents, active_agents, degraded_agents, agents_by_state, agents: monitor.agents() };
      },
    }),
    route({
      method: "GET",
      path: "/metrics",
      who: readers,
      id: "getMetrics",
      about: "Prometheus metrics",
      answer: { 200: { content: { "text/plain": null } } },
      run: async ({ reply }) => reply.type(metrics.contentType).send(await metrics.print()),
    }),
    route({
      method: "GET",
      path: "/livez",
      who: { ...readersAnd("any"), nobody: true },
      id: "isAlive",
      about: "The process is up (no token needed)",
      answer: { 200: Probe },
      run: () => ({ status: "ok" }),
    }),
    route({
      method: "GET",
      path: "/readyz",
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
