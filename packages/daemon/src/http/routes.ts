import { describeIssues, Fault, FreezeRequest, parseDuration } from "@rouse/contract";
import type { FastifyInstance } from "fastify";
import type { Monitor } from "../runtime/monitor.ts";
import { durationWanted } from "../runtime/read-history.ts";
import { createMetrics } from "./metrics.ts";
import { openApiDocument } from "./openapi.ts";
import { readEventFilter, streamEvents } from "./stream-events.ts";

type Query = Record<string, string | undefined>;
type WithId = { Params: { id: string }; Querystring: Query };

/** Every route but the hot one. Each is a line of translation between HTTP and the monitor. */
export function addRoutes(app: FastifyInstance, monitor: Monitor, version: string): void {
  addAgentRoutes(app, monitor);
  addEventRoutes(app, monitor);
  addMonitorRoutes(app, monitor, version);
}

function addAgentRoutes(app: FastifyInstance, monitor: Monitor): void {
  app.post("/api/v1/agents", async (request, reply) => reply.code(201).send(await monitor.register(request.body)));
  app.get<{ Querystring: Query }>("/api/v1/agents", (request) => {
    const { filter } = request.query;
    if (filter !== undefined && filter !== "unhealthy")
      throw new Fault("bad-request", "filter: only `unhealthy` is known");
    const agents = monitor.agents();
    return { agents: filter === undefined ? agents : agents.filter((agent) => agent.state !== "HEALTHY") };
  });
  app.get<WithId>("/api/v1/agents/:id", (request) => monitor.agent(request.params.id));
  app.get<WithId>("/api/v1/agents/:id/why", (request) => monitor.why(request.params.id));
  app.get<WithId>("/api/v1/agents/:id/history", (request) => {
    const duration = parseDuration(request.query["duration"] ?? "1h");
    if (duration === null) throw new Fault("bad-request", durationWanted);
    return monitor.history(request.params.id, duration);
  });
  app.get<WithId>("/api/v1/agents/:id/heartbeats", async (request) => {
    const limit = readLimit(request.query["limit"], 100);
    return { heartbeats: await monitor.heartbeats(request.params.id, limit) };
  });
}

function addEventRoutes(app: FastifyInstance, monitor: Monitor): void {
  app.get<{ Querystring: Query }>("/api/v1/events", async (request, reply) => {
    const lastSeen = request.headers["last-event-id"];
    const filter = readEventFilter(request.query, typeof lastSeen === "string" ? lastSeen : undefined);
    if (request.headers.accept?.includes("application/json")) {
      const { after, agentId, types } = filter;
      const events = await monitor.events({
        limit: readLimit(request.query["limit"], 100),
        newestFirst: after === null,
        ...(after === null ? {} : { after }),
        ...(agentId === null ? {} : { agentId }),
        ...(types === null ? {} : { types }),
      });
      return { events: after === null ? events.reverse() : events };
    }
    reply.hijack();
    streamEvents(monitor, filter, request.raw, reply.raw);
    return reply;
  });
}

function addMonitorRoutes(app: FastifyInstance, monitor: Monitor, version: string): void {
  const metrics = createMetrics(monitor);
  const openApi = openApiDocument(version);
  const readOrder = (body: unknown): FreezeRequest => {
    const parsed = FreezeRequest.safeParse(body ?? {});
    if (parsed.success) return parsed.data;
    throw new Fault("bad-request", describeIssues(parsed.error.issues, "request"));
  };
  app.post("/api/v1/freeze", async (request) => {
    const { actor, reason } = readOrder(request.body);
    await monitor.freeze(actor, reason);
    return monitor.status();
  });
  app.post("/api/v1/thaw", async (request) => {
    const { actor, reason } = readOrder(request.body);
    await monitor.thaw(actor, reason);
    return monitor.status();
  });
  app.get("/api/v1/config", () => {
    const { preset, sources, settings, policyFor } = monitor.config();
    return { preset, policy: policyFor({ agentId: "", agentType: null, taskId: null }).id, sources, settings };
  });
  app.get("/api/v1/openapi.json", () => openApi);
  app.get("/api/health/status", () => monitor.status());
  app.get("/api/health/agents", () => {
    const { total_agents, active_agents, degraded_agents, agents_by_state } = monitor.status();
    return { total_agents, active_agents, degraded_agents, agents_by_state, agents: monitor.agents() };
  });
  app.get("/metrics", async (_, reply) => reply.type(metrics.contentType).send(await metrics.print()));
  app.get("/livez", () => ({ status: "ok" }));
  app.get("/readyz", () => {
    if (monitor.counters().storeDown)
      throw new Fault("store-unavailable", "the store cannot be written", { retryable: true });
    return { status: "ok" };
  });
}

function readLimit(given: string | undefined, otherwise: number): number {
  if (given === undefined) return otherwise;
  const limit = Number(given);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000)
    throw new Fault("bad-request", "limit: a whole number from 1 to 1000");
  return limit;
}
