import type { IncomingMessage, ServerResponse } from "node:http";
import { describeIssues, Fault, type FaultCode } from "@rouse/contract";
import type { FastifyReply } from "fastify";
import type { z } from "zod";
import type { Keep } from "../engine/answer-once.ts";
import type { TokenRole } from "../home/issued-tokens.ts";
import type { AgentSpeaker } from "./guard.ts";

/**
 * One line of the API. Who may call it, how a request is read, what the OpenAPI document says and what is checked of the client all come from here; a path
 * that is in no table is not served.
 */
export interface Route<Q extends Params = Params, B = unknown> {
  readonly method: "GET" | "POST" | "DELETE";
  /** As OpenAPI writes it, such as /api/v1/agents/{id}. */
  readonly path: string;
  readonly who: Who;
  /** Its name in the OpenAPI document. */
  readonly id: string;
  readonly about: string;
  /** The resource it is about; the table of all says. */
  readonly tag?: string;
  readonly request?: RequestShape<Q, B>;
  readonly answer: Answers;
  /** What it may be refused with, besides what every route may be refused with. */
  readonly faults?: readonly FaultCode[];
  /** `null`: it is served before the router, on the hot path. */
  readonly run: ((ask: Ask<Q, B>) => unknown) | null;
}

/** Roles whose token is enough, and what of a request must be an agent's own where its token is enough as well. */
export interface Who {
  readonly roles: readonly TokenRole[];
  readonly agent?: Reach;
  /** Also without any token. */
  readonly nobody?: true;
}

/**
 * What an agent's own token reaches. `any`: what it names is compared where it is read. `fleet`: its policy lets it see others. `itself`: the agent in the path
 * is its own. `seen`: or one that it may see. `its-task`: the task in the path is the one its token names, if it names one. `queue`: its token names no task.
 */
type Reach = "any" | "fleet" | "itself" | "seen" | "its-task" | "queue";

export const owner: Who = { roles: ["owner"] };
export const deciders: Who = { roles: ["owner", "orchestrator"] };
export const readers: Who = { roles: ["owner", "orchestrator", "viewer"] };
export const ownerAnd = (agent: Reach): Who => ({ ...owner, agent });
export const readersAnd = (agent: Reach): Who => ({ ...readers, agent });

interface RequestShape<Q extends Params, B> {
  readonly query?: Q;
  /** What is sent. `run` gets it parsed; where `read` is `inside`, as it was sent, because the room it goes to parses it for other callers as well. */
  readonly body?: z.ZodType<B>;
  readonly read?: "inside";
  /** JSON where nothing is said. `lines`: also one value per line. `text`: as it was sent. `state`: JSON with many values. */
  readonly as?: "json" | "lines" | "text" | "state";
  /** With an `Idempotency-Key`, the same request sent again is answered as it was answered first. */
  readonly once?: true;
  /** The largest body in bytes, and what whoever sends more is told. */
  readonly limit?: { readonly bytes: number; readonly told: string };
  /** Called when a request begins; what it throws is answered. */
  readonly begin?: (request: IncomingMessage, response: ServerResponse) => void;
  /** Called for a body that is too large. */
  readonly tooLarge?: (ask: Omit<Ask, "query" | "body" | "keep">) => void;
}

/** By status, what is answered: JSON by its schema, or other kinds of content. The first is what `run` answers with when it says nothing else. */
export type Answers = Readonly<Record<number, z.ZodType | Content>>;
export interface Content {
  readonly content: Readonly<Record<string, z.ZodType | null>>;
}

/** A request as `run` gets it. */
export interface Ask<Q extends Params = Params, B = unknown> {
  /** Of the path: whom or what it is about. */
  readonly id: string;
  readonly query: Asked<Q>;
  readonly body: B;
  /** Whose token it was made with; `null` for one that is no agent's. */
  readonly agent: AgentSpeaker | null;
  /** Who made it, by its token. What a request says of that itself is a name beside it. */
  readonly principal: string;
  /** Only of one that came with a key, for what is obeyed once: keeps what came of it. */
  readonly keep: Keep | undefined;
  readonly raw: IncomingMessage;
  readonly reply: FastifyReply;
}

/** Keeps the types of one line while it stands in a list of all kinds. */
export const route = <const Q extends Params, B = undefined>(line: Route<Q, B>): Route => line as unknown as Route;

/** As the router writes it, such as /api/v1/agents/:id. */
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

/** Separated by commas, or the parameter more than once. */
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

/** The same where it is more than a number; the list itself reads it. */
export const cursorText: Param<string> = text(cursor.about);

/** Of a list that grows at its end: on from `after`, oldest first, or back from the newest. */
export function stretchOf({
  after,
  cursor,
}: {
  readonly after?: number | undefined;
  readonly cursor?: number | undefined;
}) {
  if (after !== undefined) return { after: Math.max(after, cursor ?? 0) };
  return { newestFirst: true, ...(cursor === undefined ? {} : { before: cursor }) };
}

/** What was found, one more than was asked for where there is more. */
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

/** What is known of a query; a parameter that nobody reads is refused, because whoever sends it expects something of it. */
export function readQuery<Q extends Params>(known: Q, given: Readonly<Record<string, string>>): Asked<Q> {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(known, name)) continue;
    const names = Object.keys(known);
    const there = names.length === 0 ? "this path takes none" : `this path takes ${names.join(", ")}`;
    throw new Fault("bad-request", `${JSON.stringify(name.slice(0, 100))} is no query parameter here; ${there}`);
  }
  const asked: Record<string, unknown> = {};
  for (const [name, param] of Object.entries(known)) {
    const value = given[name];
    asked[name] = value === undefined ? param.otherwise : param.read(value, name);
  }
  return asked as Asked<Q>;
}

/** Nobody has to say that it is JSON, but whoever says that it is something else is not understood. */
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

/** A body as it was sent: a signature is over these very bytes, and lines are parsed one by one. */
export class Sent {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
