import type { IncomingMessage } from "node:http";
import { Fault, FreezeRequest, isUnhealthy, OrderRequest, parseDuration, RemoveRequest } from "@rouse/contract";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { durationWanted } from "../agents/read-history.ts";
import { findOverreach } from "../home/agent-token.ts";
import type { Monitor } from "../monitor.ts";
import { givenBy } from "../orders/note-orders.ts";
import { addAuditRoutes } from "./audit.ts";
import { addCheckpointRoutes } from "./checkpoints.ts";
import { addEscalationRoutes } from "./escalations.ts";
import { readEventFilter, streamEvents } from "./events.ts";

import { forbid } from "./guard.ts";
import { createMetrics } from "./metrics.ts";
import { openApiDocument } from "./openapi.ts";
import { leaveForeignTask } from "./own-task.ts";
import { readRequest } from "./read-request.ts";
import { type AgentSpeaker, onlookerOf } from "./speaker.ts";
import { addStepRoutes } from "./steps.ts";
import { addTaskRoutes } from "./tasks.ts";

type Query = Record<string, string | undefined>;
type WithId = { Params: { id: string }; Querystring: Query };

/** Whose token a request was made with; `null` for one that is no agent's. */
export type AgentOf = (request: IncomingMessage) => AgentSpeaker | null;

/** Who made a request, by its token. What a request says of that itself is a name beside it. */
export type PrincipalOf = (request: IncomingMessage) => string;

export interface RouteOptions {
  readonly version: string;
  readonly secret: string;
  readonly agentOf: AgentOf;
  readonly principalOf: PrincipalOf;
  readonly isStillWelcome: (request: IncomingMessage) => boolean;
}

/** Every route but the hot one. Each is a line of translation between HTTP and the monitor. */
export function addRoutes(app: FastifyInstance, monitor: Monitor, options: RouteOptions): void {
  const { secret, agentOf, principalOf } = options;
  addAgentRoutes(app, monitor, agentOf);
  addOrderRoutes(app, monitor, principalOf);
  addEventRoutes(app, monitor, options);
  addMonitorRoutes(app, monitor, options);
  const { noteRefusedSpeaker } = monitor;
  const { words, escalations, checkpoints, tasks } = monitor.help;
  addCheckpointRoutes(app, { checkpoints, agentOf, noteRefusedSpeaker, holdsTask: tasks.isWorkOf });
  addTaskRoutes(app, monitor.help.service, { agentOf, principalOf, noteRefusedSpeaker });
  addAuditRoutes(app, monitor.audit);
  addEscalationRoutes(
    app,
    { ...words, escalationNotice: escalations.notice, howItEnded: escalations.howItEnded },
    { agentOf, principalOf, secret, now: () => monitor.readClock().time, noteBadSignature: monitor.noteBadSignature },
  );
}

function addOrderRoutes(app: FastifyInstance, monitor: Monitor, principalOf: PrincipalOf): void {
  const orderIn = ({ raw, body }: FastifyRequest) => givenBy(principalOf(raw), readRequest(OrderRequest, body));
  app.post<WithId>("/api/v1/agents/:id/terminate", (request) => monitor.terminate(request.params.id, orderIn(request)));
  app.post<WithId>("/api/v1/agents/:id/recover", (request) => monitor.recover(request.params.id, orderIn(request)));
  app.delete<WithId>("/api/v1/agents/:id", ({ raw, body, params }) =>
    monitor.remove(params.id, givenBy(principalOf(raw), readRequest(RemoveRequest, body))),
  );
  app.post<WithId>("/api/v1/tasks/:id/recover", (request) =>
    monitor.help.recovery.recoverTask(request.params.id, orderIn(request)),
  );
  app.get<WithId>("/api/v1/tasks/:id/recovery", (request) => monitor.help.recovery.recoveryStatus(request.params.id));
}

function addAgentRoutes(app: FastifyInstance, monitor: Monitor, agentOf: AgentOf): void {
  app.post("/api/v1/agents", async (request, reply) => {
    const agent = agentOf(request.raw);
    const registration = agent === null ? request.body : announceOwnLife(monitor, agent, request.body);
    return reply.code(201).send(await monitor.register(registration));
  });
  app.get<{ Querystring: Query }>("/api/v1/agents", (request) => {
    const { filter } = request.query;
    if (filter !== undefined && filter !== "unhealthy")
      throw new Fault("bad-request", "filter: only `unhealthy` is known");
    const reader = agentOf(request.raw);
    const all = monitor.agents();
    const agents = reader === null ? all : all.filter(({ agentId }) => isInSight(monitor, reader, agentId));
    return { agents: filter === undefined ? agents : agents.filter(isUnhealthy), monitor: monitor.doubts() };
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
  addStepRoutes(app, monitor, agentOf);
}

const isInSight = (monitor: Monitor, reader: AgentSpeaker, agentId: string): boolean =>
  agentId === reader.agentId || monitor.maySee(onlookerOf(reader), agentId);

/** An agent announces the life its token is for and no other; without a number it would be the next one. */
function announceOwnLife(monitor: Monitor, agent: AgentSpeaker, body: unknown): unknown {
  if (typeof body !== "object" || body === null) return body;
  const { isWorkOf } = monitor.help.tasks;
  const said = leaveForeignTask(agent, body as Record<string, unknown>, isWorkOf);
  const overreach = findOverreach(agent, said, isWorkOf);
  if (overreach === null) return agent.incarnation === null ? said : { incarnation: agent.incarnation, ...said };
  monitor.noteRefusedSpeaker({ agentId: agent.agentId, ...overreach });
  throw forbid(agent);
}

function addEventRoutes(app: FastifyInstance, monitor: Monitor, { isStillWelcome }: RouteOptions): void {
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
    streamEvents({ monitor, filter, isStillWelcome }, request.raw, reply.raw);
    return reply;
  });
}

function addMonitorRoutes(app: FastifyInstance, monitor: Monitor, { version, principalOf }: RouteOptions): void {
  const metrics = createMetrics(monitor);
  const openApi = openApiDocument(version);
  app.post("/api/v1/freeze", async (request) => {
    const { actor, reason } = readRequest(FreezeRequest, request.body);
    await monitor.freeze(principalOf(request.raw), reason, actor);
    return monitor.status();
  });
  app.post("/api/v1/thaw", async (request) => {
    const { actor, reason } = readRequest(FreezeRequest, request.body);
    await monitor.thaw(principalOf(request.raw), reason, actor);
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

export function readLimit(given: string | undefined, otherwise: number, most = 1000): number {
  if (given === undefined) return otherwise;
  const limit = Number(given);
  if (!Number.isInteger(limit) || limit < 1 || limit > most)
    throw new Fault("bad-request", `limit: a whole number from 1 to ${most}`);
  return limit;
}
