import {
  AckList,
  AgentHealth,
  AgentList,
  AgentRegistration,
  FreezeRequest,
  Heartbeat,
  HeartbeatAck,
  HeartbeatList,
  HistoryReport,
  Problem,
  RemovedAgent,
  RemoveRequest,
  SavedEvent,
  StepEvent,
  StepPage,
  StepsAck,
  SystemStatus,
  WhyReport,
} from "@rouse/contract";
import { z } from "zod";
import { ladderPaths, ladderSchemas } from "./openapi-ladder.ts";
import { taskPaths, taskSchemas } from "./openapi-tasks.ts";

const schemas = {
  Heartbeat,
  HeartbeatAck,
  HeartbeatAcks: AckList,
  AgentRegistration,
  AgentHealth,
  Agents: AgentList,
  History: HistoryReport,
  Heartbeats: HeartbeatList,
  StepEvent,
  StepsAck,
  Steps: StepPage,
  Why: WhyReport,
  Event: SavedEvent,
  FreezeRequest,
  RemoveRequest,
  RemovedAgent,
  SystemStatus,
  Problem,
  ...taskSchemas,
  ...ladderSchemas,
};

const ref = (name: keyof typeof schemas) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: object) => ({ "application/json": { schema } });
const answer = (description: string, schema: object) => ({ description, content: json(schema) });
const refused = { description: "Refused, with what to do about it", content: json(ref("Problem")) };
const agentParameter = { name: "id", in: "path", required: true, schema: { type: "string" } };
const query = (name: string, description: string, type = "string") => ({
  name,
  in: "query",
  description,
  schema: { type },
});

const get = (summary: string, schema: object, parameters: object[] = []) => ({
  get: { summary, parameters, responses: { 200: answer(summary, schema), default: refused } },
});
const post = (summary: string, body: object, schema: object, parameters: object[] = []) => ({
  post: {
    summary,
    parameters,
    requestBody: { required: true, content: body },
    responses: { 200: answer(summary, schema), default: refused },
  },
});

/** Its token stands in the path, so it wants no other. */
const ping = (summary: string) => ({
  summary,
  security: [],
  parameters: [
    { ...agentParameter, name: "agent" },
    { ...agentParameter, name: "token", description: "made by `rouse token ping AGENT`, good for this alone" },
    query("state", "start, running, idle, done or fail; a mere sign of life when not given"),
  ],
  responses: { 200: { description: "Taken and on disk: the text OK" }, default: refused },
});
const pingPath = {
  get: ping("A heartbeat without facts, for whatever can only fetch an address"),
  post: ping("The same"),
};

const tokens = {
  token: {
    type: "http",
    scheme: "bearer",
    description: "The operator's token, from $ROUSE_HOME/token. It may do everything.",
  },
  agentToken: {
    type: "http",
    scheme: "bearer",
    description:
      "A token that speaks for one agent, its task and one incarnation of it: that agent's heartbeats and steps, its announcement and what is known of it. Anything else is refused (403 forbidden) and recorded as AGENT_SPEECH_REFUSED.",
  },
};

const withEitherToken = (operations: Readonly<Record<string, object>>) =>
  Object.fromEntries(
    Object.entries(operations).map(([method, operation]) => [
      method,
      { ...operation, security: [{ token: [] }, { agentToken: [] }] },
    ]),
  );

const writing = { ref, json, get, post, query, withEitherToken };

/** The document at /api/v1/openapi.json, made from the same schemas that check the requests. */
export function openApiDocument(version: string): object {
  const { schemas: components } = z.toJSONSchema(registryOf(), {
    uri: (id) => `#/components/schemas/${id}`,
    io: "input",
    unrepresentable: "any",
  });
  const oneOrMany = (name: "Heartbeat" | "StepEvent") => ({
    ...json({ oneOf: [ref(name), { type: "array", items: ref(name) }] }),
    "application/x-ndjson": { schema: { type: "string" } },
  });
  return {
    openapi: "3.1.0",
    info: { title: "Rouse", version, description: "Health monitoring and self-healing for autonomous agents" },
    security: [{ token: [] }],
    paths: {
      "/ping/{agent}/{token}": pingPath,
      "/api/v1/heartbeats": withEitherToken(
        post("Take one heartbeat, an array of them, or one per line", oneOrMany("Heartbeat"), {
          oneOf: [ref("HeartbeatAck"), ref("HeartbeatAcks")],
        }),
      ),
      "/api/v1/agents": {
        ...get("Every agent's health", ref("Agents"), [
          query(
            "filter",
            "unhealthy: only those that are neither HEALTHY nor over, and those that ended and are a person's matter",
          ),
        ]),
        ...withEitherToken(
          post("Announce an agent, or its next incarnation", json(ref("AgentRegistration")), ref("AgentHealth")),
        ),
      },
      "/api/v1/agents/{id}": {
        ...withEitherToken(get("One agent's health", ref("AgentHealth"), [agentParameter])),
        delete: {
          summary: "Take an agent that is over out of the list; its events and audit lines stay",
          parameters: [agentParameter],
          requestBody: { required: false, content: json(ref("RemoveRequest")) },
          responses: { 200: answer("What was removed", ref("RemovedAgent")), default: refused },
        },
      },
      "/api/v1/agents/{id}/history": withEitherToken(
        get("Its past in even steps", ref("History"), [
          agentParameter,
          query("duration", "such as 1h or 7d; 1h when not given"),
        ]),
      ),
      "/api/v1/agents/{id}/heartbeats": withEitherToken(
        get("Its last heartbeats, newest first", ref("Heartbeats"), [
          agentParameter,
          query("limit", "1 to 1000; 100 when not given", "integer"),
        ]),
      ),
      "/api/v1/agents/{id}/steps": {
        ...withEitherToken(
          post(
            "Take one event of its run, an array of them, or one per line",
            oneOrMany("StepEvent"),
            ref("StepsAck"),
            [agentParameter],
          ),
        ),
        ...withEitherToken(
          get("What is kept of its steps, oldest first", ref("Steps"), [
            agentParameter,
            query("limit", "at most so many, the newest: 1 to 10000; 1000 when not given", "integer"),
            query("after", "only what came after `last` of an earlier answer"),
            query("before", "only what came before `first` of an earlier answer"),
          ]),
        ),
      },
      "/api/v1/agents/{id}/why": withEitherToken(get("Everything behind its verdict", ref("Why"), [agentParameter])),
      ...ladderPaths(writing),
      ...taskPaths(writing),
      "/api/v1/events": {
        get: {
          summary: "Events as they are saved (server-sent, resumable by id), or a page of them as JSON",
          parameters: [
            query("after", "only events after this id", "integer"),
            query("agent", "only this agent's"),
            query("types", "only these types, separated by commas"),
          ],
          responses: {
            200: {
              description: "Events",
              content: {
                "text/event-stream": { schema: ref("Event") },
                ...json({ type: "object", properties: { events: { type: "array", items: ref("Event") } } }),
              },
            },
            default: refused,
          },
        },
      },
      "/api/v1/freeze": post("Stop all interventions", json(ref("FreezeRequest")), ref("SystemStatus")),
      "/api/v1/thaw": post("Allow interventions again", json(ref("FreezeRequest")), ref("SystemStatus")),
      "/api/v1/config": get("The configuration in force", { type: "object" }),
      "/api/health/status": get("The monitor and its fleet in numbers", ref("SystemStatus")),
      "/api/health/agents": get("Agents by state, and each one's health", { type: "object" }),
      "/metrics": {
        get: {
          summary: "Prometheus metrics",
          responses: { 200: { description: "Text exposition", content: { "text/plain": {} } } },
        },
      },
      "/livez": {
        get: {
          summary: "The process is up (no token needed)",
          security: [],
          responses: { 200: { description: "ok" } },
        },
      },
      "/readyz": withEitherToken({
        get: { summary: "It takes beats and can save them", responses: { 200: { description: "ok" }, 503: refused } },
      }),
    },
    components: { schemas: components, securitySchemes: tokens },
  };
}

function registryOf() {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(schemas)) registry.add(schema, { id });
  return registry;
}
