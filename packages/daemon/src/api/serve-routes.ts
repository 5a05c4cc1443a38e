import type { IncomingMessage, RequestListener, Server } from "node:http";
import { Fault } from "@rouse/contract";
import fastify, {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from "fastify";
import type { AnswerOnce } from "../engine/answer-once.ts";
import type { Log } from "../ports/log.ts";
import { principalOf, type Speaker } from "./guard.ts";
import { parseJson, parseState } from "./parse-json.ts";
import { answerProblem, sendProblem, sendProblemEarly, sendProblemUnparsed } from "./problem.ts";
import {
  type Ask,
  type GivenQuery,
  isLines,
  type Route,
  readQuery,
  readRequest,
  refuseType,
  routerPath,
  Sent,
  takesType,
} from "./route.ts";
import { refuseSpeaker, type WhoMayParts } from "./who-may.ts";

interface ServeParts extends WhoMayParts {
  /** Who made a request, as the guard found. */
  readonly speakerOf: (request: IncomingMessage) => Speaker;
  readonly log: Pick<Log, "error">;
  readonly once: AnswerOnce;
  /** Makes the server that passes requests to the router; a plain one when not given. */
  readonly serverFactory?: (route: RequestListener) => Server;
}

const largestBody = 1024 * 1024;

/** Serves the routes of a table, and nothing else. */
export function serveRoutes(table: readonly Route[], parts: ServeParts): FastifyInstance {
  const { speakerOf, serverFactory } = parts;
  const settings: FastifyServerOptions = {
    bodyLimit: largestBody,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 400, querystringParser: splitQuery },
    // A path that cannot even be decoded never reaches the error handler below.
    frameworkErrors: (error, { raw, method }, reply) => {
      reply.hijack();
      const refused = refuseSpeaker(speakerOf(raw), { method, path: pathOf(raw), route: null, id: "" }, parts);
      sendProblem(reply.raw, refused ?? new Fault("bad-request", error.message));
    },
    clientErrorHandler: sendProblemUnparsed,
    ...(serverFactory === undefined ? {} : { serverFactory }),
  };
  const app = fastify(settings);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (request, body, done) => {
    try {
      done(null, parseBody(request, String(body)));
    } catch (error) {
      done(error as Error);
    }
  });
  const methodsOf = knowPaths(table);
  const answerUnknown = ({ method, raw }: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const methods = methodsOf(pathOf(raw));
    if (methods.length === 0)
      return answerProblem(reply, new Fault("not-found", "no such path; /api/v1/openapi.json lists them"));
    // A route that is served before the router gets here only with a query, which it does not take.
    if (methods.includes(method)) return answerProblem(reply, new Fault("bad-request", "this path takes no query"));
    const allowed = methods.join(", ");
    reply.header("allow", allowed);
    return answerProblem(reply, new Fault("method-not-allowed", `${method} is not for this path: it takes ${allowed}`));
  };
  app.setNotFoundHandler(answerUnknown);
  app.setErrorHandler((error, request, reply) => answerFault(faultOf(error, request, parts), request, reply));
  app.addHook("onRequest", async (request, reply) => {
    const { raw, method } = request;
    const line = lineOf(request);
    const speaker = speakerOf(raw);
    const refused = refuseSpeaker(speaker, { method, path: pathOf(raw), route: line, id: idOf(request) }, parts);
    if (refused !== null) throw refused;
    // Left to the router, a QUERY without a Content-Type would be answered with 400.
    if (line === null) return answerUnknown(request, reply);
    if (!takesType(line, raw.headers["content-type"])) throw refuseType(line);
    if (method !== "HEAD") line.request?.begin?.(raw, reply.raw, speaker.kind === "agent" ? speaker.agentId : null);
    return undefined;
  });
  for (const line of table) if (line.run !== null) addLine(app, line, parts);
  return app;
}

/** The methods that a path takes, whatever id is in it. */
function knowPaths(table: readonly Route[]): (path: string) => readonly string[] {
  const known = table.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }));
  return (path) => known.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
}

function addLine(app: FastifyInstance, line: Route, parts: ServeParts): void {
  const { method, request: shape, answer, run } = line;
  const status = Number(Object.keys(answer)[0]);
  app.route({
    method,
    url: routerPath(line),
    config: { line },
    bodyLimit: shape?.limit?.bytes ?? largestBody,
    async handler(request, reply) {
      const query = readQuery(shape?.query ?? {}, request.query as GivenQuery);
      const isParsed = shape?.body !== undefined && shape.read !== "inside" && shape.as !== "text";
      const body = isParsed ? readRequest(shape.body, request.body) : request.body;
      reply.code(status);
      const ask = { ...whoAsks(request, reply, parts), query, body };
      const key = shape?.once === true ? keyOf(request) : null;
      if (key === null) return run?.({ ...ask, keep: undefined });
      const sent = body instanceof Sent ? body.text : JSON.stringify(body);
      const keyed = { principal: ask.principal, key, request: `${method} ${request.url}\n${sent}` };
      return parts.once(keyed, async (keep) => run?.({ ...ask, keep }));
    },
  });
}

function keyOf({ headers }: FastifyRequest): string | null {
  const key = headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key === "string" && /^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new Fault("bad-request", "Idempotency-Key: 1 to 255 visible ASCII characters, new for each request");
}

function whoAsks(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ServeParts,
): Omit<Ask, "query" | "body" | "keep"> {
  const speaker = parts.speakerOf(request.raw);
  return {
    id: idOf(request),
    agent: speaker.kind === "agent" ? speaker : null,
    principal: principalOf(speaker),
    raw: request.raw,
    reply,
  };
}

/** The route that the router found; `null` when there is none. */
const lineOf = ({ routeOptions }: FastifyRequest): Route | null =>
  (routeOptions.config as { readonly line?: Route }).line ?? null;

const idOf = ({ params }: FastifyRequest): string => (params as { readonly id?: string } | null)?.id ?? "";

const pathOf = ({ url = "" }: IncomingMessage): string => url.split("?", 1)[0] ?? "";

/** What is wrong with a query is found where it is read: the router does not answer for what is thrown here. */
function splitQuery(text: string): GivenQuery {
  const query: Record<string, string | null> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    query[name] = query[name] === undefined ? value : null;
  }
  return query;
}

function parseBody(request: FastifyRequest, text: string): unknown {
  const as = lineOf(request)?.request?.as ?? "json";
  if (as === "text" || (as === "lines" && isLines(request.headers["content-type"]))) return new Sent(text);
  if (text === "") return undefined;
  return as === "state" ? parseState(text) : parseJson(text);
}

function answerFault(fault: Fault, { raw }: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (fault.code !== "body-too-large") return answerProblem(reply, fault);
  reply.hijack();
  sendProblemEarly(raw, reply.raw, fault);
  return reply;
}

function faultOf(error: unknown, request: FastifyRequest, parts: ServeParts): Fault {
  if (error instanceof Fault) return error;
  const { statusCode, message } = error as { statusCode?: number; message: string };
  if (statusCode === 413) return refuseLarge(request, parts);
  if (statusCode !== undefined && statusCode < 500) return new Fault("bad-request", message);
  const { log } = parts;
  log.error({ error: String((error as Error).stack ?? error) }, "a request failed because of a mistake in Rouse");
  return new Fault("internal", "something went wrong inside Rouse; its log says what");
}

function refuseLarge(request: FastifyRequest, parts: ServeParts): Fault {
  const { limit, tooLarge } = lineOf(request)?.request ?? {};
  try {
    tooLarge?.(whoAsks(request, null as never, parts));
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  return new Fault("body-too-large", limit?.told ?? `at most ${largestBody / 1024 / 1024} MiB in one request`);
}
