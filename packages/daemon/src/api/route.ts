import type { IncomingMessage, ServerResponse } from "node:http";
import { describeIssues, Fault, type FaultCode, printable } from "@rouse/contract";
import type { FastifyReply } from "fastify";
import type { z } from "zod";
import type { Keep } from "../engine/answer-once.ts";
import type { TokenRole } from "../home/issued-tokens.ts";
import type { AgentSpeaker } from "./guard.ts";

/**
 * One line of the API. Who may call it, how a request is read, the OpenAPI document and the check of the client all
 * come from here. A path that is in no table is not served.
 */
export interface Route<Q extends Params = Params, B = unknown> extends RouteLine<Q, B> {
  readonly method: "GET" | "POST" | "DELETE";
  /** As OpenAPI writes it, such as /api/v1/agents/{id}. */
  readonly path: string;
  /** The resource, set by the table of all routes. */
  readonly tag?: string;
}

interface RouteLine<Q extends Params, B> {
  readonly who: Who;
  /** Its name in the OpenAPI document. */
  readonly id: string;
  readonly about: string;
  readonly request?: RequestShape<Q, B>;
  readonly answer: Answers;
  /** The faults beside those that every route may answer with. */
  readonly faults?: readonly FaultCode[];
  /** `null`: it is served before the router, on the hot path. */
  readonly run: ((ask: Ask<Q, B>) => unknown) | null;
}

/** The roles whose token is enough, and how far an agent's own token reaches, where it is enough as well. */
export interface Who {
  readonly roles: readonly TokenRole[];
  readonly agent?: Reach;
  /** Also without any token. */
  readonly nobody?: true;
}

/**
 * How far an agent's own token reaches.
 * - `any`: the names in the request are compared where it is read.
 * - `fleet`: its policy lets it see others.
 * - `itself`: the agent in the path is its own. `seen`: or one that it may see.
 * - `its-task`: the task in the path is the one its token names, if it names one. `queue`: its token names no task.
 */
type Reach = "any" | "fleet" | "itself" | "seen" | "its-task" | "queue";

export const owner: Who = { roles: ["owner"] };
export const deciders: Who = { roles: ["owner", "orchestrator"] };
export const readers: Who = { roles: ["owner", "orchestrator", "viewer"] };
export const ownerAnd = (agent: Reach): Who => ({ ...owner, agent });
export const readersAnd = (agent: Reach): Who => ({ ...readers, agent });

interface RequestShape<Q extends Params, B> {
  readonly query?: Q;
  /** `run` gets it parsed; with `read: "inside"` as it was sent, because the room parses it for other callers too. */
  readonly body?: z.ZodType<B>;
  readonly read?: "inside";
  /** JSON when not given. `lines`: also one value per line. `text`: as it was sent. `state`: JSON with many values. */
  readonly as?: "json" | "lines" | "text" | "state";
  /** With an `Idempotency-Key`, the same request sent again is answered as it was answered first. */
  readonly once?: true;
  /** The largest body in bytes, and the answer to a larger one. */
  readonly limit?: { readonly bytes: number; readonly told: string };
  /** Called when a request begins; what it throws is answered. `agentId`: whose token it came with, if an agent's. */
  readonly begin?: (request: IncomingMessage, response: ServerResponse, agentId: string | null) => void;
  /** Called for a body that is too large. */
  readonly tooLarge?: (ask: Omit<Ask, "query" | "body" | "keep">) => void;
}

/** The answers by status: JSON by its schema, or other content. The first is the status when `run` sets none. */
export type Answers = Readonly<Record<number, z.ZodType | Content>>;
export interface Content {
  readonly content: Readonly<Record<string, z.ZodType | null>>;
}

/** A request as `run` gets it. */
export interface Ask<Q extends Params = Params, B = unknown> {
  /** The id in the path. */
  readonly id: string;
  readonly query: Asked<Q>;
  readonly body: B;
  /** The agent whose token it came with; `null` for a token that is no agent's. */
  readonly agent: AgentSpeaker | null;
  /** Who authenticated. A name in the request is only kept beside it. */
  readonly principal: string;
  /** Keeps the outcome of a request that came with an `Idempotency-Key`. */
  readonly keep: Keep | undefined;
  readonly raw: IncomingMessage;
  readonly reply: FastifyReply;
}

/** Keeps the types of one line while it stands in a list of all kinds. */
export const route = <const Q extends Params, B = undefined>(line: Route<Q, B>): Route => line as unknown as Route;

const routeBy =
  (method: Route["method"]) =>
  <const Q extends Params, B = undefined>(path: string, line: RouteLine<Q, B>): Route =>
    route({ method, path, ...line });

export const get = routeBy("GET");
export const post = routeBy("POST");
export const del = routeBy("DELETE");

/** The path as the router writes it, such as /api/v1/agents/:id. */
export const routerPath = ({ path }: Pick<Route, "path">): string => path.replaceAll(/\{(\w+)\}/g, ":$1");

/** One parameter of a query: how it is read, and how the OpenAPI document describes it. */
export interface Param<T> {
  readonly about: string;
  readonly schema: object;
  /** Throws a `bad-request` that names it. */
  read(given: string, name: string): T;
  /** When it is not given. */
  readonly otherwise?: T;
}
export type Params = Readonly<Record<string, Param<unknown>>>;
export type Asked<Q extends Params> = {
  readonly [N in keyof Q]: Q[N] extends Param<infer T> ? (Q[N] extends { otherwise: T } ? T : T | undefined) : never;
};

const wanted = (name: string, what: string): Fault => new Fault("bad-request", `${name}: ${what}`);

export const text = (about: string): Param<string> => ({ about, schema: { type: "string" }, read: (given) => given });

export const oneOf = <T extends string>(about: string, values: readonly T[]): Param<T> => ({
  about,
  schema: { type: "string", enum: values },
  read(given, name) {
    if (values.includes(given as T)) return given as T;
    throw wanted(name, `one of ${values.join(", ")}`);
  },
});

/** Separated by commas. */
export const someOf = <T extends string>(about: string, values: readonly T[]): Param<readonly T[]> => ({
  about: `${about}, separated by commas`,
  schema: { type: "string", examples: [values.slice(0, 2).join(",")] },
  read: (given, name) =>
    given.split(",").map((one) => {
      const value = one.trim() as T;
      if (values.includes(value)) return value;
      throw wanted(name, `one or more of ${values.join(", ")}, separated by commas`);
    }),
});

export const wholeNumber = (about: string, what: string): Param<number> => ({
  about,
  schema: { type: "integer", minimum: 0 },
  read(given, name) {
    if (/^\d{1,15}$/.test(given)) return Number(given);
    throw wanted(name, what);
  },
});

export const limit = (otherwise: number, most: number) => ({
  about: `at most so many; ${otherwise} when not given`,
  schema: { type: "integer", minimum: 1, maximum: most, default: otherwise },
  read(given: string, name: string): number {
    const count = /^\d{1,6}$/.test(given) ? Number(given) : 0;
    if (count >= 1 && count <= most) return count;
    throw wanted(name, `a whole number from 1 to ${most}`);
  },
  otherwise,
});

const nextWanted = "`next` of the page before";

/** Where the page before ended, as a number. */
export const cursor: Param<number> = {
  about: `${nextWanted}; the first page when not given`,
  schema: { type: "string" },
  read: placeIn,
};

export function placeIn(given: string): number {
  if (/^\d{1,15}$/.test(given)) return Number(given);
  throw wanted("cursor", nextWanted);
}

/** The same where it is more than a number: the list itself reads it. */
export const cursorText: Param<string> = text(cursor.about);

/** The part of a list that grows at its end: from `after` on, oldest first, or back from the newest. */
export function stretchOf({ after, cursor }: { after?: number | undefined; cursor?: number | undefined }) {
  if (after !== undefined) return { after: Math.max(after, cursor ?? 0) };
  return { newestFirst: true, before: cursor };
}

/** `found` holds one more than `limit` where there is another page. */
export function pageOf<T>(found: readonly T[], limit: number, place: (last: T) => number | string) {
  const page = found.slice(0, limit);
  const last = page[page.length - 1];
  return { page, next: found.length > limit && last !== undefined ? String(place(last)) : null };
}

/** An empty body asks for the defaults. */
export function readRequest<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  throw new Fault("bad-request", describeIssues(parsed.error.issues, "request"));
}

/** A query as it was sent. `null`: the name was given more than once. */
export type GivenQuery = Readonly<Record<string, string | null>>;

/**
 * Reads the known parameters of a query. An unknown one is refused, and one that is given twice: their sender expects
 * something of them.
 */
export function readQuery<Q extends Params>(known: Q, given: GivenQuery): Asked<Q> {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    const there = names.length === 0 ? "this path takes none" : `this path takes ${names.join(", ")}`;
    throw new Fault("bad-request", `${printable(JSON.stringify(name), 100)} is no query parameter here; ${there}`);
  }
  const asked: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(known)) {
    const value = given[name];
    if (value === null) throw wanted(name, "it is given more than once");
    asked[name] = value === undefined ? param.otherwise : param.read(value, name);
  }
  return asked as Asked<Q>;
}

/** A body without a Content-Type is taken as JSON; another type is refused. */
export const takesType = ({ request }: Route, type: string | undefined): boolean =>
  type === undefined ||
  request?.body === undefined ||
  /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type) ||
  (request.as === "lines" && isLines(type));

export const refuseType = ({ request }: Route): Fault =>
  new Fault(
    "media-type-refused",
    `what is sent here is ${request?.as === "lines" ? "application/json or application/x-ndjson" : "application/json"}; say so in Content-Type`,
  );

export const isLines = (type: string | undefined): boolean => /^application\/(?:x-)?ndjson\s*(?:;|$)/i.test(type ?? "");

/** A body as it was sent: a signature covers these very bytes, and lines are parsed one by one. */
export class Sent {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
