import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault, type HeartbeatAck, understandNames } from "@rouse/contract";
import { readBeat } from "../agents/hear-beats.ts";
import { findOverreach } from "../home/agent-token.ts";
import type { Monitor, SentBeat } from "../monitor.ts";
import type { Log } from "../ports/log.ts";
import type { AgentSpeaker } from "./guard.ts";
import { parseMembers } from "./parse-json.ts";
import { sendProblem, sendProblemEarly } from "./problem.ts";
import { isLines, type Route, refuseType, takesType } from "./route.ts";
import { leaveForeignTask, refuseAgent } from "./who-may.ts";

const largestBody = 4 * 1024 * 1024;
const mostBeats = 10_000;
/** The longest that anybody has reason to send, metrics and an answer included, has a third of it. */
const longestBeat = 32 * 1024;

/** The HTTP status for a single refused beat. In a batch each beat has its own status and the answer is 200. */
const refusalStatus: Readonly<Record<NonNullable<HeartbeatAck["because"]>, number>> = {
  "seen-before": 200,
  "older-than-last": 200,
  "old-incarnation": 409,
  held: 409,
  "wrong-checksum": 422,
  "absurd-time": 422,
  malformed: 400,
  "reserved-id": 403,
};

/** `agent` is whose token the request carries; `null` for the operator's, who may speak for everybody. */
export type TakeHeartbeats = (request: IncomingMessage, response: ServerResponse, agent: AgentSpeaker | null) => void;

/** The one hot path, straight on node:http. A beat is acknowledged only once it is on disk. */
export function takeHeartbeats(monitor: Monitor, line: Route, log: Log): TakeHeartbeats {
  return (request, response, agent) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const declared = Number(request.headers["content-length"] ?? 0);
    if (declared > largestBody) return refuseLarge(request, response);
    const type = request.headers["content-type"];
    if (type !== "application/json" && !takesType(line, type)) return sendProblem(response, refuseType(line), true);
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > largestBody) {
        request.removeAllListeners("end");
        refuseLarge(request, response);
      } else chunks.push(chunk);
    });
    request.on("end", () => {
      const text =
        chunks.length === 1 ? (chunks[0] as Buffer).toString("utf8") : Buffer.concat(chunks).toString("utf8");
      try {
        const { sent, many } = readBody(text, type);
        const take = (beats: readonly SentBeat[]): void =>
          monitor.takeBeats(
            beats,
            (acks) => (many ? send(response, 200, printAcks(acks)) : sendOne(response, acks[0])),
            (error) => fail(response, error, log),
          );
        if (agent === null) take(sent);
        else if (!many) take(vouchFor(monitor, agent, sent));
        else
          vouchForAll(monitor, agent, sent)
            .then(take)
            .catch((error: unknown) => fail(response, error, log));
      } catch (error) {
        fail(response, error, log);
      }
    });
    request.on("error", () => response.destroy());
  };
}

function readBody(text: string, type: string | undefined): { sent: readonly SentBeat[]; many: boolean } {
  if (type !== "application/json" && isLines(type)) return { sent: readLines(text), many: true };
  const { value, members } = parseMembers(text, longestBeat);
  if (members === null) return { sent: [{ beat: value, text }], many: false };
  const beats = value as readonly unknown[];
  checkCount(beats.length);
  return { sent: beats.map((beat, i) => ({ beat, text: members[i] as string })), many: true };
}

async function vouchForAll(monitor: Monitor, agent: AgentSpeaker, sent: readonly SentBeat[]): Promise<SentBeat[]> {
  const beats: SentBeat[] = [];
  await monitor.eachSlice(sent, (slice) => beats.push(...vouchFor(monitor, agent, slice)));
  return beats;
}

/** An agent's token is good for its own beats only: with one beat of another agent the whole request is refused. */
function vouchFor(monitor: Monitor, agent: AgentSpeaker, sent: readonly SentBeat[]): SentBeat[] {
  return sent.map((one) => {
    if (typeof one.beat !== "object" || one.beat === null) return one;
    const message = one.beat as Record<string, unknown>;
    const { isWorkOf } = monitor.help.tasks;
    const all = understandNames(message);
    const said = leaveForeignTask(agent, all, isWorkOf);
    const overreach = findOverreach(agent, said, isWorkOf);
    const isWhole = said === all && (agent.incarnation === null || said["incarnation"] !== undefined);
    if (overreach === null) return isWhole ? one : understand(one, message, said, agent.incarnation);
    throw refuseAgent(agent, overreach, monitor);
  });
}

/**
 * A beat without an incarnation would count for the present life; the token says which life it is of. The completed
 * beat is kept, not the one that was sent. Its checksum is compared before, while it still fits. A beat with a wrong
 * checksum, or a malformed one, is left for `readBeat` to refuse.
 */
function understand(one: SentBeat, sent: Said, { checksum, ...said }: Said, life: number | null): SentBeat {
  if (checksum !== undefined) {
    const signal = readBeat(sent, 0);
    if ("refused" in signal || signal.checksum !== "right") return one;
  }
  return { beat: life === null ? said : { incarnation: life, ...said } };
}

type Said = Record<string, unknown>;

/** A line that is no JSON is refused as a beat of its own; the other lines are taken. */
function readLines(text: string): SentBeat[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  checkCount(lines.length);
  return lines.map((line) => {
    try {
      return { beat: parseMembers(line, longestBeat).value, text: line };
    } catch {
      return { beat: null };
    }
  });
}

function checkCount(count: number): void {
  if (count > mostBeats) throw new Fault("body-too-large", `at most ${mostBeats} heartbeats in one request`);
}

function refuseLarge(request: IncomingMessage, response: ServerResponse): void {
  const fault = new Fault("body-too-large", `at most ${largestBody / 1024 / 1024} MiB in one request`);
  sendProblemEarly(request, response, fault);
}

function sendOne(response: ServerResponse, ack: HeartbeatAck | undefined): void {
  if (ack === undefined) throw new Error("one beat gets one acknowledgement");
  const status = ack.status === "rejected" && ack.because !== undefined ? refusalStatus[ack.because] : 200;
  send(response, status, printAck(ack));
}

/** Writes the ordinary acknowledgement by hand: ids of accepted beats are plain, so nothing needs escaping. */
export function printAck(ack: HeartbeatAck): string {
  if (ack.status !== "accepted" || ack.commands.length > 0) return JSON.stringify(ack);
  return `{"agentId":"${ack.agentId}","sequenceNumber":${ack.sequenceNumber},"status":"accepted","receivedAt":"${ack.receivedAt}","commands":[]}`;
}

export const printAcks = (acks: readonly HeartbeatAck[]): string => `{"acks":[${acks.map(printAck).join(",")}]}`;

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

function fail(response: ServerResponse, error: unknown, log: Log): void {
  if (error instanceof Fault) return sendProblem(response, error);
  log.error({ error: String((error as Error).stack ?? error) }, "a heartbeat failed because of a mistake in Rouse");
  sendProblem(response, new Fault("internal", "something went wrong inside Rouse; its log says what"));
}
