import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, isIP, type Socket } from "node:net";
import { Fault } from "@rouse/contract";
import fastify, { type FastifyInstance } from "fastify";
import type { Monitor } from "../monitor.ts";
import type { Log } from "../ports/log.ts";
import { type AgentOf, addRoutes } from "./agents.ts";

import { boundConnections, boundsFor, readOpenFiles } from "./bound-connections.ts";
import { createGuard, findTrespass, forbid, type Guard } from "./guard.ts";
import { type TakeHeartbeats, takeHeartbeats } from "./heartbeats.ts";
import { addMcpRoute } from "./mcp.ts";
import { parseJson } from "./parse-json.ts";
import { isPing, takePings } from "./ping.ts";
import { sendProblem, sendProblemEarly, statusOf, toProblem } from "./problem.ts";
import { slowWrongTokens } from "./slow-wrong-tokens.ts";
import { anyone, onlookerOf, principalOf, type Speaker } from "./speaker.ts";
import { mayAsk, refuseRole, refuseUnnamed } from "./who-may.ts";

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** The data folder, where tokens that were issued are kept. */
  readonly home: string;
  /** What signed decisions of the orchestrator are checked with. */
  readonly secret: string;
  readonly version: string;
  /** Without it only loopback addresses are bound. */
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer; readonly names: readonly string[] } | undefined;
}

export interface Listening {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

const loopback = ["127.0.0.1", "localhost", "[::1]"];

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

const isEvery = (host: string): boolean => host === "0.0.0.0" || host === "::";

export function refuseInTheClear({ host, tls }: Pick<ListenOptions, "host" | "tls">): void {
  if (isLoopback(host) || tls !== undefined) return;
  throw new Fault(
    "tls-required",
    `refusing to listen on ${host} without TLS: the token would cross the network in the clear. Give --tls-cert and --tls-key, or stay on 127.0.0.1 behind a tunnel`,
  );
}

/** Opens the HTTP API. Everything passes the guard first; heartbeats go straight to their handler, the rest through the router. */
export async function listen(monitor: Monitor, options: ListenOptions, log: Log): Promise<Listening> {
  refuseInTheClear(options);
  let port = options.port;
  const bracketed = isIP(options.host) === 6 ? `[${options.host}]` : options.host;
  const guard = createGuard({
    token: options.token,
    home: options.home,
    now: () => monitor.readClock().time,
    hosts: [...loopback, bracketed, ...(options.tls?.names ?? [])],
    port: () => port,
    secure: options.tls !== undefined,
  });
  const app = createApp(monitor, guard, options, log);
  await app.ready();
  await bind(app, options);
  port = (app.server.address() as AddressInfo).port;
  return {
    // "Every address" is nothing one can connect to, and no certificate is made out to it.
    url: `${options.tls === undefined ? "http" : "https"}://${isEvery(options.host) ? "localhost" : bracketed}:${port}`,
    port,
    async close() {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

function createApp(monitor: Monitor, guard: Guard, options: ListenOptions, log: Log): FastifyInstance {
  const takeBeats = takeHeartbeats(monitor, log);
  const takePing = takePings(monitor, log);
  const speakers = new WeakMap<IncomingMessage, Speaker>();
  const speakerOf = (request: IncomingMessage): Speaker => speakers.get(request) ?? anyone;
  let door: RequestListener = () => {};
  const app = fastify({
    bodyLimit: 1024 * 1024,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 400, querystringParser: readQuery },
    // A path that cannot even be decoded never reaches the error handler below.
    frameworkErrors: (error, _, reply) => {
      reply.hijack();
      sendProblem(reply.raw, new Fault("bad-request", error.message));
    },
    serverFactory(route) {
      const server = createHttpServer(options);
      const admit = boundConnections(server, boundsFor(readOpenFiles()));
      door = guarded({ guard, admit, monitor, takeBeats, takePing, speakers, route });
      return server.on("request", door);
    },
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_, body, done) => {
    try {
      done(null, body === "" ? undefined : parseJson(String(body)));
    } catch (error) {
      done(error as Error);
    }
  });
  app.setNotFoundHandler((_, reply) =>
    reply.code(404).send(toProblem(new Fault("not-found", "no such path; /api/v1/openapi.json lists them"))),
  );
  app.setErrorHandler((error, request, reply) => {
    const fault = faultOf(error, log);
    if (fault.code !== "body-too-large") return reply.code(statusOf(fault)).send(toProblem(fault));
    reply.hijack();
    sendProblemEarly(request.raw, reply.raw, fault);
    return reply;
  });
  admitByRole(app, monitor, speakerOf);
  const agentOf: AgentOf = (request) => {
    const speaker = speakerOf(request);
    return speaker.kind === "agent" ? speaker : null;
  };
  addMcpRoute(app, { door: () => door, agentOf, now: () => monitor.readClock().time });
  addRoutes(app, monitor, {
    version: options.version,
    secret: options.secret,
    agentOf,
    principalOf: (request) => principalOf(speakerOf(request)),
    isStillWelcome: guard.isStillWelcome,
  });
  return app;
}

/** By the route that was found, not by the path that was typed: only the router knows which of them are the same. */
function admitByRole(app: FastifyInstance, monitor: Monitor, speakerOf: (request: IncomingMessage) => Speaker): void {
  app.addHook("onRoute", ({ method, url }) => {
    for (const one of [method].flat()) refuseUnnamed(one, url);
  });
  app.addHook("onRequest", async ({ raw, method, routeOptions: { url } }) => {
    const speaker = speakerOf(raw);
    if (url === undefined || speaker.kind === "anyone" || mayAsk(speaker.kind, method, url)) return;
    throw refuse(monitor, speaker, `${method} ${url}`);
  });
}

function refuse(monitor: Monitor, speaker: Exclude<Speaker, { kind: "anyone" }>, asked: string): Fault {
  monitor.noteRefusedRole(principalOf(speaker), asked);
  return refuseRole(speaker.kind, asked);
}

/** A name that is given twice becomes a list, as it is written everywhere else: `types=A&types=B` is `types=A,B`. */
function readQuery(text: string): Record<string, string> {
  const query: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    query[name] = query[name] === undefined ? value : `${query[name]},${value}`;
  }
  return query;
}

interface Door {
  readonly guard: Guard;
  /** Told of the connection of each request with a right token. */
  readonly admit: (connection: Socket) => void;
  readonly monitor: Monitor;
  readonly takeBeats: TakeHeartbeats;
  readonly takePing: ReturnType<typeof takePings>;
  /** Who made a request, for the routes that have to know. */
  readonly speakers: WeakMap<IncomingMessage, Speaker>;
  readonly route: RequestListener;
}

const beats = "/api/v1/heartbeats";

function guarded({ guard, admit, monitor, takeBeats, takePing, speakers, route }: Door): RequestListener {
  const refuseStranger = refuseSlowly();
  return (request, response) => {
    const speaker = guard(request);
    // Whoever shows no right token has a connection for one answer: kept open, they would add up.
    if (speaker instanceof Fault || speaker.kind === "anyone") response.shouldKeepAlive = false;
    else admit(request.socket);
    if (speaker instanceof Fault) return refuseStranger(request, response, speaker);
    if (speaker.kind === "ping" && isPing(request)) return takePing(request, response, speaker);
    const agent = speaker.kind === "agent" ? speaker : null;
    if (agent !== null) {
      const trespass = findTrespass(agent, request, (other) => monitor.maySee(onlookerOf(agent), other));
      if (trespass !== null) {
        monitor.noteRefusedSpeaker({ agentId: agent.agentId, ...trespass });
        return sendProblem(response, forbid(agent), hasBody(request));
      }
    }
    speakers.set(request, speaker);
    if (request.method !== "POST" || request.url !== beats) return route(request, response);
    if (speaker.kind === "anyone" || mayAsk(speaker.kind, "POST", beats)) return takeBeats(request, response, agent);
    sendProblem(response, refuse(monitor, speaker, `POST ${beats}`), true);
  };
}

/** Whoever guesses waits longer and longer for each answer, and connects anew for each guess. */
function refuseSlowly(): (request: IncomingMessage, response: ServerResponse, fault: Fault) => void {
  const treat = slowWrongTokens();
  return (request, response, fault) => {
    const showsToken = request.headers.authorization !== undefined || isPing(request);
    const isGuess = fault.code === "unauthorized" && showsToken;
    const treatment = isGuess ? treat(request.socket.remoteAddress ?? "", performance.now()) : null;
    if (treatment === null || treatment.kind === "answer") return sendProblem(response, fault);
    if (treatment.kind === "too-many") return sendProblem(response, tooManyAttempts());
    const timer = setTimeout(() => sendProblem(response, fault), treatment.delay);
    response.once("close", () => {
      clearTimeout(timer);
      treatment.over();
    });
  };
}

const tooManyAttempts = (): Fault =>
  new Fault("too-many-attempts", "too many wrong tokens from this address; right ones are still answered");

const hasBody = (request: IncomingMessage): boolean =>
  request.headers["transfer-encoding"] !== undefined || Number(request.headers["content-length"] ?? 0) > 0;

function createHttpServer(options: ListenOptions): Server {
  // Agents keep their connection open between beats; slow or silent senders of a request are cut off.
  const settings = {
    keepAliveTimeout: 75_000,
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    maxHeaderSize: 16 * 1024,
  };
  if (options.tls === undefined) return createServer(settings);
  const secure = { cert: options.tls.cert, key: options.tls.key, minVersion: "TLSv1.2" } as const;
  return createSecureServer({ ...settings, ...secure, handshakeTimeout: 10_000 }) as Server;
}

async function bind(app: FastifyInstance, options: ListenOptions): Promise<void> {
  try {
    await app.listen({ host: options.host, port: options.port });
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "EADDRINUSE") {
      throw new Fault("port-taken", `port ${options.port} on ${options.host} is taken; choose another with --port`, {
        cause: error,
      });
    }
    if (code === "EACCES" || code === "EADDRNOTAVAIL") {
      throw new Fault(
        "port-taken",
        `cannot listen on ${options.host}:${options.port} (${code}); choose another --host or --port`,
        { cause: error },
      );
    }
    throw error;
  }
}

function faultOf(error: unknown, log: Log): Fault {
  if (error instanceof Fault) return error;
  const { statusCode, message } = error as { statusCode?: number; message: string };
  if (statusCode === 413) return new Fault("body-too-large", "at most 1 MiB in one request");
  if (statusCode !== undefined && statusCode < 500) return new Fault("bad-request", message);
  log.error({ error: String((error as Error).stack ?? error) }, "a request failed because of a mistake in Rouse");
  return new Fault("internal", "something went wrong inside Rouse; its log says what");
}
