import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type PreparedRequest, prepareRequest, type RequestPlan } from "./beat-requests.ts";
import { percentile } from "./report.ts";

export interface LoadPlan extends RequestPlan {
  readonly connections: number;
  /** A good answer has status 200 and contains this once per beat. */
  readonly expected: string;
  readonly warmupSeconds: number;
  readonly seconds: number;
  /** Stops after this many requests, however long they take. */
  readonly requests: number | null;
  /** `null`: each connection sends its next request as soon as the last was answered. */
  readonly requestsPerSecond: number | null;
}

export interface LoadResult {
  readonly requests: number;
  readonly beats: number;
  readonly seconds: number;
  readonly beatsPerSecond: number;
  /** Milliseconds; under a paced load since the request was due, so that a stalled server does not hide its queue. */
  readonly p50: number;
  readonly p99: number;
  readonly slowest: number;
  /** Answers that were not what was expected, warm-up included. */
  readonly wrong: number;
  readonly firstWrong: string | null;
}

interface Connection {
  readonly socket: Socket;
  readonly request: PreparedRequest;
  readonly number: number;
  sent: number;
  /** When the request under way was due; `null` when none is. */
  since: number | null;
  readonly waiting: number[];
}

/** Loads one server over raw keep-alive connections, one request at a time on each, and measures what comes back. */
export async function runLoad(plan: LoadPlan): Promise<LoadResult> {
  checkPlan(plan);
  const connections = await openConnections(plan);
  try {
    return await measure(plan, connections);
  } finally {
    for (const { socket } of connections) socket.destroy();
  }
}

/** Every agent stays on one connection: its beats then arrive in order, and none is refused for coming late. */
function checkPlan({ agents, connections, beatsPerRequest }: LoadPlan): void {
  if (agents % (connections * beatsPerRequest) !== 0) {
    throw new Error(`${agents} agents are no multiple of ${connections} connections × ${beatsPerRequest} beats`);
  }
}

function openConnections(plan: LoadPlan): Promise<Connection[]> {
  const open = (number: number): Promise<Connection> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port: plan.port, noDelay: true });
      const opened = { socket, request: prepareRequest(plan), number, sent: 0, since: null, waiting: [] };
      socket.once("connect", () => resolve(opened));
      socket.once("error", reject);
    });
  return Promise.all(Array.from({ length: plan.connections }, (_, number) => open(number)));
}

function measure(plan: LoadPlan, connections: readonly Connection[]): Promise<LoadResult> {
  const started = performance.now();
  const from = started + plan.warmupSeconds * 1000;
  const until = plan.requests === null ? from + plan.seconds * 1000 : Number.POSITIVE_INFINITY;
  const most = plan.requests ?? Number.POSITIVE_INFINITY;
  const latencies: number[] = [];
  let sent = 0;
  let underWay = 0;
  let wrong = 0;
  let firstWrong: string | null = null;

  return new Promise((resolve, reject) => {
    let isOver = false;

    /** Which request of all is this connection's next. */
    const nextOf = (connection: Connection): number => connection.sent * plan.connections + connection.number;

    function send(connection: Connection, due: number): void {
      connection.request.address(nextOf(connection) * plan.beatsPerRequest);
      connection.since = due;
      connection.sent++;
      sent++;
      underWay++;
      connection.socket.write(connection.request.bytes);
    }

    function take(connection: Connection, status: number, body: Buffer): void {
      const now = performance.now();
      if (connection.since === null) throw new Error("an answer came that nobody asked for");
      if (now >= from && now < until) latencies.push(now - connection.since);
      if (status !== 200 || countIn(body, plan.expected) !== plan.beatsPerRequest) {
        wrong++;
        firstWrong ??= `status ${status}: ${body.toString("latin1", 0, 400)}`;
      }
      connection.since = null;
      underWay--;
      goOn(connection, now);
    }

    function goOn(connection: Connection, now: number): void {
      const due = plan.requestsPerSecond === null ? now : connection.waiting.shift();
      if (due !== undefined && now < until && nextOf(connection) < most) send(connection, due);
      else if (underWay === 0 && (now >= until || sent >= most)) finish(now);
    }

    function finish(now: number): void {
      if (isOver) return;
      isOver = true;
      const seconds = (Math.min(now, until) - from) / 1000;
      resolve({ ...summarise(latencies, plan.beatsPerRequest, seconds), wrong, firstWrong });
    }

    for (const connection of connections) {
      const { socket } = connection;
      const takeIn = readResponses((status, body) => take(connection, status, body));
      socket.on("data", (chunk) => {
        try {
          takeIn(chunk);
        } catch (error) {
          reject(error);
        }
      });
      socket.on("error", reject);
      socket.on("close", () => reject(new Error("the server closed a connection in the middle of the load")));
    }
    if (plan.requestsPerSecond === null) {
      for (const connection of connections) if (nextOf(connection) < most) send(connection, started);
      return;
    }
    pace(plan.requestsPerSecond, started, (nth, due, now) => {
      if (isOver) return false;
      if (now >= until || sent >= most) {
        if (underWay === 0) finish(now);
        return false;
      }
      const connection = connections[nth % connections.length];
      if (connection === undefined) throw new Error("there are connections");
      if (connection.since === null) send(connection, due);
      else connection.waiting.push(due);
      return true;
    }).catch(reject);
  });
}

/** Calls `turn` for each request when it is due, until it says no. Timers are coarse: several may be due at once. */
async function pace(
  perSecond: number,
  started: number,
  turn: (nth: number, due: number, now: number) => boolean,
): Promise<void> {
  for (let nth = 0; ; nth++) {
    const due = started + (nth * 1000) / perSecond;
    for (let now = performance.now(); now < due; now = performance.now()) await sleep(Math.max(1, due - now));
    if (!turn(nth, due, performance.now())) return;
  }
}

function summarise(latencies: readonly number[], beatsPerRequest: number, seconds: number) {
  const beats = latencies.length * beatsPerRequest;
  return {
    requests: latencies.length,
    beats,
    seconds,
    beatsPerSecond: beats / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    slowest: percentile(latencies, 1),
  };
}

/** Tells whole HTTP/1.1 responses apart in what a keep-alive connection delivers, by their Content-Length. */
export function readResponses(onResponse: (status: number, body: Buffer) => void): (chunk: Buffer) => void {
  let unfinished: Buffer | null = null;
  /** Bytes without which there is no point in looking again. */
  let needed = 0;

  return (chunk) => {
    let data: Buffer = unfinished === null ? chunk : Buffer.concat([unfinished, chunk]);
    unfinished = null;
    while (data.length > 0) {
      const bodyAt = data.length < needed ? 0 : data.indexOf("\r\n\r\n") + 4;
      const { status, length } = bodyAt < 4 ? unknown : readHead(data.toString("latin1", 0, bodyAt));
      needed = bodyAt < 4 ? needed : bodyAt + length;
      if (bodyAt < 4 || data.length < needed) {
        unfinished = data;
        return;
      }
      onResponse(status, data.subarray(bodyAt, needed));
      data = data.subarray(needed);
      needed = 0;
    }
  };
}

const unknown = { status: 0, length: 0 };

function readHead(head: string): { status: number; length: number } {
  const status = Number(head.slice(9, 12));
  const length = /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`a response without Content-Length cannot be counted: ${head}`);
  return { status, length: Number(length) };
}

function countIn(body: Buffer, words: string): number {
  let count = 0;
  for (let at = body.indexOf(words); at !== -1; at = body.indexOf(words, at + words.length)) count++;
  return count;
}
