import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, isIP, type Socket } from "node:net";
import { Fault } from "@rouse/contract";
import type { FastifyInstance } from "fastify";
import type { Onlooker } from "../fleet/fleet-matters.ts";
import type { Monitor } from "../monitor.ts";
import type { Log } from "../ports/log.ts";
import type { MaySee } from "./agents.ts";
import { boundConnections, boundsFor, readOpenFiles } from "./bound-connections.ts";
import { type AgentSpeaker, anyone, createGuard, type Guard, isPing, type Speaker } from "./guard.ts";
import { type TakeHeartbeats, takeHeartbeats } from "./heartbeats.ts";
import { takePings } from "./ping.ts";
import { sendProblem } from "./problem.ts";
import type { Route } from "./route.ts";
import { serveRoutes } from "./serve-routes.ts";
import { slowWrongTokens } from "./slow-wrong-tokens.ts";
import { apiTable } from "./table.ts";
import { refuseSpeaker, type WhoMayParts } from "./who-may.ts";

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** The data folder, where tokens that were issued are kept. */
  readonly home: string;
  /** Checks the signature of the orchestrator's decisions. */
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

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));

const isEvery = (host: string): boolean => host === "0.0.0.0" || host === "::";

export function refuseInTheClear({ host, tls }: Pick<ListenOptions, "host" | "tls">): void {
  if (isLoopback(host) || tls !== undefined) return;
  throw new Fault(
    "tls-required",
    `refusing to listen on ${host} without TLS: the token would cross the network in the clear. Give --tls-cert and --tls-key, or stay on 127.0.0.1 behind a tunnel`,
  );
}

/** Opens the HTTP API. Every request passes the guard; heartbeats then skip the router. */
export async function listen(monitor: Monitor, options: ListenOptions, log: Log): Promise<Listening> {
  refuseInTheClear(options);
  let port = options.port;
  const app = createApp(monitor, options, log, () => port);
  await app.ready();
  await bind(app, options);
  port = (app.server.address() as AddressInfo).port;
  return {
    // Nobody can connect to "every address", and no certificate is made out to it.
    url: `${options.tls === undefined ? "http" : "https"}://${isEvery(options.host) ? "localhost" : bracketed(options.host)}:${port}`,
    port,
    async close() {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

function createApp(monitor: Monitor, options: ListenOptions, log: Log, port: () => number) {
  const maySee: MaySee = (agent, other) => monitor.maySee(onlookerOf(agent), other);
  const speakers = new WeakMap<IncomingMessage, Speaker>();
  let door: RequestListener = () => {};
  const { table, close } = apiTable(monitor, {
    version: options.version,
    secret: options.secret,
    isStillWelcome: (request) => guard.isStillWelcome(request),
    maySee,
    door: () => door,
  });
  const guard = createGuard({
    token: options.token,
    home: options.home,
    now: () => monitor.readClock().time,
    hosts: [...loopback, bracketed(options.host), ...(options.tls?.names ?? [])],
    port,
    secure: options.tls !== undefined,
    open: new Set(table.flatMap(({ path, who }) => (who.nobody ? [path] : []))),
  });
  const { noteRefusedSpeaker, noteRefusedRole } = monitor;
  const parts = { maySee, noteRefusedSpeaker, noteRefusedRole, log, once: monitor.answerOnce };
  const app = serveRoutes(table, {
    ...parts,
    speakerOf: (request) => speakers.get(request) ?? anyone,
    serverFactory(route) {
      const server = createHttpServer(options);
      const admit = boundConnections(server, boundsFor(readOpenFiles()));
      const beats = beatsOf(table);
      const takeBeats = takeHeartbeats(monitor, beats, log);
      const takePing = takePings(monitor, log);
      door = guarded({ guard, admit, parts, beats, takeBeats, takePing, speakers, route });
      // An Expect that Node does not know would be answered with 417 and nothing else; it may be ignored (RFC 9110).
      return server.on("request", door).on("checkExpectation", door);
    },
  });
  app.addHook("onClose", close);
  return app;
}

const bracketed = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

/** A token for one life was made where its agent runs; any other may be used elsewhere. */
const onlookerOf = ({ agentId, incarnation }: AgentSpeaker): Onlooker => ({
  agentId,
  elsewhere: incarnation === null,
});

function beatsOf(table: readonly Route[]): Route {
  const line = table.find(({ path }) => path === "/api/v1/heartbeats");
  if (line === undefined) throw new Error("heartbeats are in the table");
  return line;
}

interface Door {
  readonly guard: Guard;
  /** Called with the connection of each request that has a right token. */
  readonly admit: (connection: Socket) => void;
  readonly parts: WhoMayParts;
  /** The route of heartbeats, the one path that is not left to the router. */
  readonly beats: Route;
  readonly takeBeats: TakeHeartbeats;
  readonly takePing: ReturnType<typeof takePings>;
  /** Who made a request, for the routes that have to know. */
  readonly speakers: WeakMap<IncomingMessage, Speaker>;
  readonly route: RequestListener;
}

function guarded({ guard, admit, parts, beats, takeBeats, takePing, speakers, route }: Door): RequestListener {
  const refuseStranger = refuseSlowly();
  return (request, response) => {
    const speaker = guard(request);
    // A connection without a right token is closed after one answer: kept open, such connections would add up.
    if (speaker instanceof Fault || speaker.kind === "anyone") response.shouldKeepAlive = false;
    else admit(request.socket);
    if (speaker instanceof Fault) return refuseStranger(request, response, speaker);
    if (speaker.kind === "ping" && isPing(request)) return takePing(request, response, speaker);
    if (request.method !== "POST" || request.url !== beats.path) {
      speakers.set(request, speaker);
      return route(request, response);
    }
    const asked = { method: "POST", path: beats.path, route: beats, id: "" };
    const refused = refuseSpeaker(speaker, asked, parts);
    if (refused !== null) return sendProblem(response, refused, true);
    takeBeats(request, response, speaker.kind === "agent" ? speaker : null);
  };
}

/** A client that guesses tokens waits longer for each answer, and has to connect anew for each guess. */
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

function createHttpServer(options: ListenOptions): Server {
  // Agents keep their connection open between beats; slow or silent senders of a request are cut off.
  const settings = {
    keepAliveTimeout: 75_000,
    requestTimeout: 30_000,
    headersTimeout: 10_000,
    maxHeaderSize: 16 * 1024,
    requireHostHeader: false, // the guard refuses a request without one, with a problem
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
