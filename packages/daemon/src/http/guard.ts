import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Fault } from "@rouse/contract";

export interface GuardOptions {
  readonly token: string;
  /** Names this server answers to, without port. */
  readonly hosts: readonly string[];
  readonly port: () => number;
  readonly secure: boolean;
}

export type Guard = (request: IncomingMessage) => Fault | null;

/**
 * Who may speak to us. The Host must be one of our names (a web page that points its own name at 127.0.0.1 is refused), an Origin, when a
 * browser sends one, must be ours, and the bearer token must be right on every path but /livez.
 */
export function createGuard(options: GuardOptions): Guard {
  const hosts = new Set(options.hosts.map((host) => host.toLowerCase()));
  const wanted = digest(`Bearer ${options.token}`);
  const scheme = options.secure ? "https" : "http";
  // Connections are kept alive and repeat themselves: what was right once on this one is compared as a plain string.
  const provenOn = new WeakMap<object, string>();

  /** Agents repeat themselves: the last Host that was ours is recognised as it stands. */
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

  const isAuthorised = (request: IncomingMessage): boolean => {
    const given = request.headers.authorization;
    if (given === undefined) return false;
    if (provenOn.get(request.socket) === given) return true;
    if (!timingSafeEqual(digest(given), wanted)) return false;
    provenOn.set(request.socket, given);
    return true;
  };

  return (request) => {
    const { host, origin } = request.headers;
    if (!isOurHost(host))
      return new Fault("host-refused", "this server does not answer to that Host; use the address `rouse up` printed");
    if (origin !== undefined && !isOurOrigin(origin))
      return new Fault("origin-refused", "requests from other web origins are refused");
    if (request.url === "/livez") return null;
    if (!isAuthorised(request)) {
      return new Fault("unauthorized", "send the token from $ROUSE_HOME/token as `Authorization: Bearer TOKEN`");
    }
    return null;
  };
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

function splitHost(host: string): { name: string; port: number | null } {
  const match = /^(\[[0-9a-f:.]+\]|[^:]*)(?::(\d{1,5}))?$/.exec(host);
  if (match === null) return { name: "", port: null };
  return { name: match[1] ?? "", port: match[2] === undefined ? null : Number(match[2]) };
}
