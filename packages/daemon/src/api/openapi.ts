import { Fault, type FaultCode, Problem } from "@rouse/contract";
import { z } from "zod";
import { keysKept } from "../engine/answer-once.ts";
import type { TokenRole } from "../home/issued-tokens.ts";
import { problemType, statusOf } from "./problem.ts";
import type { Content, Route } from "./route.ts";

const tags: Readonly<Record<string, string>> = {
  agents: "Agents: their heartbeats, how they are, and orders about them",
  steps: "What agents do, call by call",
  tasks: "Tasks, who has them, and how they are brought back",
  checkpoints: "Where tasks stand, as a chain that can be verified",
  escalations: "Questions about agents, answers to them, and nudges",
  breakers: "Circuit breakers of agents: what fails too often to be called",
  "rate-limits": "Rate limits that several processes share",
  incidents: "What is wrong and was, and how agents were brought back",
  events: "What happened",
  audit: "What was done and refused, by whom and why",
  monitor: "The monitor itself",
  mcp: "The same for agents, over MCP",
};

const tokens: Readonly<Record<Exclude<TokenRole, "ping">, string>> = {
  owner: "The operator's token, from $ROUSE_HOME/token, or one made with `rouse token create --role owner`",
  orchestrator: "Reads everything but the configuration, decides escalations and nudges",
  viewer: "Reads everything but the configuration",
  agent:
    "Speaks for one agent, its task and one incarnation of it. Anything else is refused (403 forbidden) and recorded as AGENT_SPEECH_REFUSED",
};

/** What every route may be refused with. */
const always: readonly FaultCode[] = ["bad-request", "host-refused", "origin-refused", "internal"];
const withToken: readonly FaultCode[] = ["unauthorized", "forbidden", "too-many-attempts"];
const withBody: readonly FaultCode[] = ["body-too-large", "media-type-refused", "store-unavailable"];

/** The document at /api/v1/openapi.json, made from the table that is served. */
export function openApiDocument(table: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const line of table) paths[line.path] = { ...paths[line.path], [line.method.toLowerCase()]: operationOf(line) };
  return {
    openapi: "3.1.0",
    info: {
      title: "Rouse",
      version,
      description: "Health monitoring and self-healing for autonomous agents",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/", description: "The daemon that gave you this document" }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    security: [{ owner: [] }],
    paths,
    components: {
      schemas: reachableFrom(paths),
      securitySchemes: Object.fromEntries(
        Object.entries(tokens).map(([role, description]) => [role, { type: "http", scheme: "bearer", description }]),
      ),
    },
  };
}

function operationOf(line: Route): object {
  const { id, tag, about, path, who, request } = line;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => pathParameter(name));
  const inQuery = Object.entries(request?.query ?? {}).map(([name, { about: description, schema }]) => {
    return { name, in: "query", description, schema };
  });
  const roles = [...who.roles.filter((role) => role !== "ping"), ...(who.agent === undefined ? [] : ["agent"])];
  return {
    operationId: id,
    tags: [tag],
    summary: about,
    security: [...(who.nobody ? [{}] : []), ...roles.map((role) => ({ [role]: [] }))],
    parameters: [...inPath, ...inQuery, ...(request?.once ? [keyParameter] : [])],
    ...bodyOf(line),
    responses: answersOf(line),
  };
}

const pathParameter = (name: string): object => ({ name, in: "path", required: true, schema: { type: "string" } });

const keyParameter: object = {
  name: "Idempotency-Key",
  in: "header",
  description: `The same request sent again with the same key is answered as it was answered first, ${keysKept}`,
  schema: { type: "string", minLength: 1, maxLength: 255 },
};

function bodyOf({ request }: Route): object {
  if (request?.body === undefined) return {};
  const one = ref(request.body);
  const isLines = request.as === "lines";
  const json = { schema: isLines ? { oneOf: [one, { type: "array", items: one }] } : one };
  const lines = isLines ? { "application/x-ndjson": { schema: { type: "string" } } } : {};
  const required = !request.body.safeParse({}).success;
  return { requestBody: { required, content: { "application/json": json, ...lines } } };
}

function answersOf({ about, answer, who, request, faults = [], path }: Route): object {
  const common = [...always, ...(who.nobody ? [] : withToken), ...(request?.body === undefined ? [] : withBody)];
  const special: FaultCode[] = path === "/readyz" ? ["store-unavailable"] : request?.once ? ["key-reused"] : [];
  const codes = [...new Set([...common, ...faults, ...special])];
  const refusals = new Map<number, FaultCode[]>();
  for (const code of codes) {
    const status = statusOf(new Fault(code, ""));
    refusals.set(status, [...(refusals.get(status) ?? []), code]);
  }
  const described = new Map<number, { description: string; content: object }>();
  for (const [status, shape] of Object.entries(answer)) {
    const content = "content" in shape && !(shape instanceof z.ZodType) ? contentOf(shape) : json(ref(shape));
    described.set(Number(status), { description: about, content });
  }
  for (const [status, of] of refusals) {
    const before = described.get(status);
    described.set(status, {
      description: `${before === undefined ? "" : "Refused as such, or as: "}${of.join(", ")}`,
      content: { ...before?.content, [problemType]: { schema: ref(Problem) } },
    });
  }
  return Object.fromEntries([...described].sort(([a], [b]) => a - b));
}

const json = (schema: object): object => ({ "application/json": { schema } });

const contentOf = ({ content }: Content): object =>
  Object.fromEntries(
    Object.entries(content).map(([type, schema]) => [
      type,
      { schema: schema === null ? { type: "string" } : ref(schema) },
    ]),
  );

const home = "#/components/schemas/";

function ref(schema: z.ZodType): { $ref: string } {
  const id = schema.meta()?.id;
  if (id === undefined) throw new Error("a schema of the API has an id");
  return { $ref: `${home}${id}` };
}

/** Every schema that is named, by the paths or by another schema. */
function reachableFrom(paths: object): Record<string, object> {
  const { schemas } = z.toJSONSchema(z.globalRegistry, {
    uri: (id) => `${home}${id}`,
    io: "input",
    unrepresentable: "any",
  });
  const found = new Map<string, object>();
  const visit = (part: object): void => {
    for (const [, id = ""] of JSON.stringify(part).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
      if (found.has(id)) continue;
      // JSON Schema allows no id with a fragment, and the document names the dialect once for all.
      const { $id: _, $schema: __, id: ___, ...schema } = schemas[id] as Record<string, unknown>;
      found.set(id, schema);
      visit(schema);
    }
  };
  visit(paths);
  return Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}
