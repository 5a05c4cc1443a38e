import { Fault } from "@rouse/contract";
import type { Line } from "./open-line.ts";
import { type Answer, parseOrNull, type Send, send, textOf, unreachable } from "./send.ts";

/** As much of `node:http` and `node:https` as is used here. */
export interface NodeHttp {
  Agent: new (options: { keepAlive: boolean }) => ConnectionPool;
  request(options: object, onAnswer: (answer: IncomingAnswer) => void): OutgoingRequest;
}

interface ConnectionPool {
  createConnection(...given: unknown[]): Connection;
  keepSocketAlive(connection: Connection): boolean;
  reuseSocket(connection: Connection, request: OutgoingRequest): void;
}

interface Connection {
  ref(): void;
  unref(): void;
  setTimeout(ms: number): void;
}

interface OutgoingRequest {
  reusedSocket: boolean;
  on(event: "error", hear: (error: Error & { code?: string }) => void): void;
  on(event: "socket", hear: (connection: Connection) => void): void;
  end(text?: string): void;
  destroy(error?: Error): void;
}

interface IncomingAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  on(event: "data", hear: (piece: Bytes) => void): void;
  on(event: "end", hear: () => void): void;
  on(event: "error", hear: (error: Error) => void): void;
}

type Bytes = Uint8Array & { toString(encoding?: "utf8"): string };

interface Buffers {
  byteLength(text: string): number;
  concat(pieces: readonly Bytes[]): Bytes;
}

/** A state of 16 MiB, and what stands around it. */
const mostBytes = 24 * 1024 * 1024;
/** A connection that was not used for longer may be gone without a word: a router forgets it. */
const longestIdleMs = 55_000;

interface NodeProcess {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly versions?: Readonly<Record<string, string | undefined>>;
  readonly release?: { readonly name?: string };
  readonly execArgv?: readonly string[];
  getBuiltinModule?(name: string): unknown;
}

/**
 * Over `node:http` on Node itself, not on what passes for it: elsewhere `fetch` is the cheaper way. Where Node was told
 * to use a proxy, `fetch` knows how.
 */
export function sendByTheBestWay(host = (globalThis as { process?: NodeProcess }).process): Send {
  const { bun, deno } = host?.versions ?? {};
  const isNode = host?.release?.name === "node" && bun === undefined && deno === undefined;
  const isProxied = host?.env["NODE_USE_ENV_PROXY"] || host?.execArgv?.includes("--use-env-proxy");
  if (!isNode || isProxied || host.getBuiltinModule?.("node:http") === undefined) return send;
  return sendOverHttp((name) => host.getBuiltinModule?.(name) as NodeHttp);
}

/**
 * `send` for calls that repeat, on Node: a third of the processor time of `fetch`. One connection is kept for them and
 * keeps no process alive, neither idle nor while an answer is waited for, unless the call says that somebody waits.
 */
export function sendOverHttp(load: (name: "node:http" | "node:https") => NodeHttp): Send {
  let road: Road | null = null;

  return (line, call) =>
    new Promise((resolve, reject) => {
      if (road?.line !== line) road = openRoad(line, load);
      const { http, options, head, prefix } = road;
      const text = textOf(call);
      const headers = [...head];
      if (call.key !== undefined) headers.push("idempotency-key", call.key);
      if (text !== undefined) headers.push("content-length", String(buffers().byteLength(text)));
      const method = text === undefined ? "GET" : (call.method ?? "POST");
      const asked = { ...options, path: prefix + call.path, method, headers };
      let request: OutgoingRequest;
      let isOver = false;
      const patience: unknown = setTimeout(() => giveUp(tooSlow()), line.timeout);
      (patience as { unref(): void }).unref();

      function end(): void {
        isOver = true;
        clearTimeout(patience as number);
      }
      function fail(error: Error): void {
        end();
        reject(error instanceof Fault ? error : unreachable(line, error));
      }
      function giveUp(error: Error): void {
        fail(error);
        request.destroy();
      }
      function ask(): void {
        let isAnswered = false;
        request = http.request(asked, (answer) => {
          isAnswered = true;
          readAnswer(answer, line, giveUp, (read) => {
            end();
            resolve(read);
          });
        });
        request.on("error", (error) => {
          if (isOver) return;
          // The other side closed it while nothing was under way: that says nothing of it.
          if (!isAnswered && request.reusedSocket && isGone(error)) ask();
          else fail(asFetchFails(error));
        });
        if (call.background !== true) request.on("socket", (connection) => connection.ref());
        request.end(text);
      }
      try {
        ask();
      } catch (error) {
        // A path that is none, such as one made of an id that the other side has sent.
        fail(asFetchFails(error as Error));
      }
    });
}

interface Road {
  readonly line: Line;
  readonly http: NodeHttp;
  readonly options: object;
  readonly head: readonly string[];
  readonly prefix: string;
}

function openRoad(line: Line, load: Parameters<typeof sendOverHttp>[0]): Road {
  const { protocol, hostname, host, port, pathname } = new URL(line.base);
  const http = load(protocol === "https:" ? "node:https" : "node:http");
  const head = ["host", host, "authorization", `Bearer ${line.token}`];
  head.push("accept", "application/json", "content-type", "application/json");
  return {
    ...{ line, http, head },
    options: { protocol, host: hostname.replace(/^\[|\]$/g, ""), port: port || undefined, agent: poolOf(http) },
    prefix: pathname === "/" ? "" : pathname,
  };
}

/** One for the whole process. */
const pools = new Map<NodeHttp, ConnectionPool>();

function poolOf(http: NodeHttp): ConnectionPool {
  const known = pools.get(http);
  if (known !== undefined) return known;
  const pool = new http.Agent({ keepAlive: true });
  const { createConnection: create, reuseSocket: reuse } = pool;
  pool.createConnection = function (...given) {
    const connection = create.apply(this, given);
    // The pool closes those that time out while nothing is under way.
    connection.setTimeout(longestIdleMs);
    connection.unref();
    return connection;
  };
  // Node's own does more with every call: a call of the system, and all headers are read for a hint.
  pool.keepSocketAlive = (connection) => {
    connection.unref();
    return true;
  };
  pool.reuseSocket = (connection, request) => {
    reuse.call(pool, connection, request);
    connection.unref();
  };
  pools.set(http, pool);
  return pool;
}

function readAnswer(
  answer: IncomingAnswer,
  line: Line,
  giveUp: (error: Error) => void,
  settle: (answer: Answer) => void,
): void {
  const pieces: Bytes[] = [];
  let length = 0;
  answer.on("data", (piece) => {
    pieces.push(piece);
    length += piece.length;
    if (length > mostBytes) giveUp(tooLarge(line));
  });
  answer.on("error", (error) => giveUp(asFetchFails(error)));
  answer.on("end", () => {
    const [first] = pieces;
    const text = (pieces.length === 1 ? first : buffers().concat(pieces))?.toString("utf8") ?? "";
    const { statusCode: status } = answer;
    const ok = status >= 200 && status < 300;
    settle({ ok, status, body: parseOrNull(text), retryAfter: ok ? null : (answer.headers["retry-after"] ?? null) });
  });
}

const buffers = (): Buffers => (globalThis as unknown as { Buffer: Buffers }).Buffer;

const isGone = ({ code }: { readonly code?: string }): boolean => code === "ECONNRESET" || code === "EPIPE";

const asFetchFails = (error: Error): Error => new TypeError("fetch failed", { cause: error });

const tooSlow = (): Error => Object.assign(new Error("no answer in time"), { name: "TimeoutError" });

const tooLarge = ({ base }: Line): Fault =>
  new Fault("daemon-unreachable", `what answers at ${base} sends more than ${mostBytes / 1024 / 1024} MiB`, {
    retryable: true,
  });
