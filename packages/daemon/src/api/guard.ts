import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { type EpochMs, Fault } from "@rouse/contract";
import { agentTokenPrefix, readAgentToken, type SpokenFor } from "../home/agent-token.ts";
import {
  findIssuedToken,
  hasExpired,
  type IssuedToken,
  issuedTokenPrefix,
  type PingRhythm,
  type TokenRole,
} from "../home/issued-tokens.ts";

export type AgentSpeaker = { readonly kind: "agent" } & SpokenFor;

/** The bearer of a ping address, which can only say that this agent lives. */
export type PingSpeaker = { readonly kind: "ping"; readonly agentId: string; readonly every: PingRhythm | null };

/** Who asks, as far as a token shows it. Without a name, `owner` is whoever has `$ROUSE_HOME/token`. */
export type Speaker =
  | { readonly kind: Exclude<TokenRole, "agent" | "ping">; readonly name: string | null }
  | AgentSpeaker
  | PingSpeaker
  | { readonly kind: "anyone" };

const owner: Speaker = { kind: "owner", name: null };
export const anyone: Speaker = { kind: "anyone" };

function speakerWith({ role, name, agentId, every }: IssuedToken): Speaker | null {
  if (role !== "agent" && role !== "ping") return { kind: role, name };
  if (role === "ping") return agentId === null ? null : { kind: "ping", agentId, every: every ?? null };
  return agentId === null ? null : { kind: "agent", agentId, taskId: null, incarnation: null };
}

/** The name of a speaker in events and in the audit trail. */
export function principalOf(speaker: Speaker): string {
  if (speaker.kind === "anyone") return "anyone";
  if (speaker.kind === "agent" || speaker.kind === "ping") return `${speaker.kind}:${speaker.agentId}`;
  return speaker.name === null ? speaker.kind : `${speaker.kind}:${speaker.name}`;
}

interface GuardOptions {
  readonly token: string;
  /** The data folder. Issued tokens are looked up there each time, so that a revoked one is refused at once. */
  readonly home: string;
  readonly now: () => EpochMs;
  /** Names this server answers to, without port. */
  readonly hosts: readonly string[];
  readonly port: () => number;
  readonly secure: boolean;
  /** Paths that are answered without a token. */
  readonly open: ReadonlySet<string>;
}

export interface Guard {
  (request: IncomingMessage): Speaker | Fault;
  /** Whether the token of a request that is still being answered is still good. */
  isStillWelcome(request: IncomingMessage): boolean;
}

/** A token that was read, and whether it is good for as long as this daemon runs. */
interface Recognised {
  readonly speaker: Speaker;
  readonly lasts: boolean;
}

/**
 * Decides who may speak to us. The Host must be one of our names: a web page that points its own name at 127.0.0.1 is
 * refused. An Origin, when a browser sends one, must be ours. The bearer token must be right on every path that is not
 * open to anybody.
 */
export function createGuard(options: GuardOptions): Guard {
  const hosts = new Set(options.hosts.map((host) => host.toLowerCase()));
  const wanted = digest(`Bearer ${options.token}`);
  const scheme = options.secure ? "https" : "http";
  // A kept-alive connection repeats its header: one that was right before is compared as a plain string.
  const provenOn = new WeakMap<object, { readonly given: string; readonly speaker: Speaker }>();

  /** The last Host header that was ours. Agents repeat it, so it is compared as it stands. */
  let lastOurs: string | null = null;

  const isOurHost = (host: string | undefined): boolean => {
    if (host === undefined) return false;
    if (host === lastOurs) return true;
    const { name, port } = splitHost(host.toLowerCase());
    const expected = options.port();
    const isOurs = hosts.has(name) && (port === null ? expected === (options.secure ? 443 : 80) : port === expected);
    if (isOurs) lastOurs = host;
    return isOurs;
  };

  const isOurOrigin = (origin: string): boolean =>
    origin.startsWith(`${scheme}://`) && isOurHost(origin.slice(scheme.length + 3));

  const recognise = (given: string): Recognised | null => {
    if (timingSafeEqual(digest(given), wanted)) return { speaker: owner, lasts: true };
    const token = given.startsWith("Bearer ") ? given.slice("Bearer ".length) : "";
    if (token.startsWith(issuedTokenPrefix)) return recogniseIssued(token);
    if (!token.startsWith(agentTokenPrefix)) return null;
    const claims = readAgentToken(options.token, token);
    return claims === null ? null : { speaker: { kind: "agent", ...claims }, lasts: true };
  };

  const recogniseIssued = (token: string): Recognised | null => {
    const issued = findIssuedToken(options.home, token);
    const speaker = issued === null || hasExpired(issued, options.now()) ? null : speakerWith(issued);
    return speaker === null ? null : { speaker, lasts: false };
  };

  const identify = (request: IncomingMessage): Speaker | null => {
    const given = request.headers.authorization;
    if (given === undefined) return null;
    const proven = provenOn.get(request.socket);
    if (proven?.given === given) return proven.speaker;
    const recognised = recognise(given);
    if (recognised === null) return null;
    if (recognised.lasts) provenOn.set(request.socket, { given, speaker: recognised.speaker });
    return recognised.speaker;
  };

  /** A ping has its token in the path; any other token of the request does not count. */
  const identifyPing = (url: string): Speaker | null => {
    const said = readPingPath(url);
    const speaker = said === null ? undefined : recogniseIssued(said.token)?.speaker;
    return speaker?.kind === "ping" && speaker.agentId === said?.agentId ? speaker : null;
  };

  const guard = (request: IncomingMessage): Speaker | Fault => {
    const { host, origin } = request.headers;
    if (!isPlain(request) || host === undefined)
      return new Fault("bad-request", "one Host header, and a path that begins with /: nothing else is answered");
    if (!isOurHost(host))
      return new Fault("host-refused", "this server does not answer to that Host; use the address `rouse up` printed");
    if (origin !== undefined && !isOurOrigin(origin))
      return new Fault("origin-refused", "requests from other web origins are refused");
    if (options.open.has(request.url ?? "")) return anyone;
    if (isPing(request))
      return (
        identifyPing(request.url ?? "") ??
        new Fault("unauthorized", "no such ping address; `rouse token ping AGENT` makes one")
      );
    return (
      identify(request) ??
      new Fault("unauthorized", "send the token from $ROUSE_HOME/token as `Authorization: Bearer TOKEN`")
    );
  };
  return Object.assign(guard, { isStillWelcome: (request: IncomingMessage) => identify(request) !== null });
}

/** Of two Host headers, or a Host and an absolute address, a proxy before us may have gone by the one we do not see. */
function isPlain({ url, rawHeaders }: IncomingMessage): boolean {
  if (url?.startsWith("/") !== true) return false;
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") hosts += 1;
  }
  return hosts <= 1;
}

const pingFolder = "/ping/";

export const isPing = ({ url }: Pick<IncomingMessage, "url">): boolean => url?.startsWith(pingFolder) === true;

/** The agent that a ping is for, and its token; `null` when the path is malformed. */
function readPingPath(url: string): { agentId: string; token: string } | null {
  const [path = ""] = url.slice(pingFolder.length).split("?", 1);
  const [agent = "", token = "", ...rest] = path.split("/");
  try {
    return rest.length > 0 ? null : { agentId: decodeURIComponent(agent), token: decodeURIComponent(token) };
  } catch {
    return null;
  }
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

function splitHost(host: string): { name: string; port: number | null } {
  const match = /^(\[[0-9a-f:.]+\]|[^:]*)(?::(\d{1,5}))?$/.exec(host);
  if (match === null) return { name: "", port: null };
  return { name: match[1] ?? "", port: match[2] === undefined ? null : Number(match[2]) };
}
