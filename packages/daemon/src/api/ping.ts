import type { IncomingMessage, ServerResponse } from "node:http";
import { type AgentStatus, Fault, type Heartbeat } from "@rouse/contract";
import type { Monitor } from "../monitor.ts";
import type { Log } from "../ports/log.ts";
import type { PingSpeaker } from "./guard.ts";
import { sendProblem } from "./problem.ts";
import { oneOf, type Route, route, type Who } from "./route.ts";

/** What a ping may say of its agent. */
const states: ReadonlyMap<string, AgentStatus> = new Map<string, AgentStatus>([
  ["start", "STARTING"],
  ["running", "RUNNING"],
  ["idle", "IDLE"],
  ["done", "FINISHED"],
  ["fail", "FAILED"],
]);

const pingers: Who = { roles: ["ping"] };
const ping = (method: "GET" | "POST", about: string): Route =>
  route({
    method,
    path: "/ping/{agent}/{token}",
    // The token in the path is made by `rouse token ping AGENT`; the guard checks it and its agent.
    who: pingers,
    id: method === "GET" ? "ping" : "pingByPost",
    about,
    request: { query: { state: oneOf("a mere sign of life when not given", [...states.keys()]) } },
    answer: { 200: { content: { "text/plain": null } } },
    run: null,
  });
export const pingRoutes: readonly Route[] = [
  ping("GET", "A heartbeat without facts, for whatever can only fetch an address"),
  ping("POST", "The same"),
];

/** Takes pings: beats without facts. A body is not read, and the address, which holds a token, is never logged. */
export function takePings(monitor: Monitor, log: Log) {
  return (request: IncomingMessage, response: ServerResponse, speaker: PingSpeaker): void => {
    request.resume();
    request.on("error", () => response.destroy());
    try {
      if (!methods.includes(request.method ?? "")) {
        response.setHeader("allow", methods.join(", "));
        throw new Fault("method-not-allowed", "a ping is a GET or a POST");
      }
      const beat = readPing(request, speaker);
      monitor.takeBeats(
        [{ beat }],
        ([ack]) =>
          ack?.status === "rejected"
            ? fail(response, new Fault("bad-request", `the ping was not taken: ${ack.because}`), log)
            : answer(response, request.method === "HEAD"),
        (error) => fail(response, error, log),
      );
    } catch (error) {
      fail(response, error, log);
    }
  };
}

const methods = ["GET", "HEAD", "POST"];

function readPing({ url = "" }: IncomingMessage, { agentId, every }: PingSpeaker): Heartbeat {
  const query = [...new URLSearchParams(url.split("?")[1] ?? "")];
  // A misspelt failure must not count as a sign of life.
  if (query.length > 1 || query.some(([name]) => name !== "state"))
    throw new Fault("bad-request", "a ping says its state and nothing else: ?state=…");
  const said = query[0]?.[1];
  const promise = every === null ? {} : { everySeconds: every.seconds, graceSeconds: every.graceSeconds };
  if (said === undefined) return { agentId, ...promise };
  const status = states.get(said.toLowerCase());
  if (status === undefined) throw new Fault("bad-request", `state: one of ${[...states.keys()].join(", ")}`);
  // An agent that promised to run again is idle after a run, not finished.
  return { agentId, ...promise, status: status === "FINISHED" && every !== null ? "IDLE" : status };
}

function answer(response: ServerResponse, isHead: boolean): void {
  const body = "OK\n";
  response.writeHead(200, {
    "content-type": "text/plain; charset=utf-8",
    "content-length": body.length,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
  });
  response.end(isHead ? undefined : body);
}

function fail(response: ServerResponse, error: unknown, log: Log): void {
  if (error instanceof Fault) return sendProblem(response, error);
  log.error({ error: String((error as Error).stack ?? error) }, "a ping failed because of a mistake in Rouse");
  sendProblem(response, new Fault("internal", "something went wrong inside Rouse; its log says what"));
}
