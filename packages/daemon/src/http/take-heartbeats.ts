import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault, type HeartbeatAck } from "@rouse/contract";
import type { Log } from "../ports/log.ts";
import type { Monitor, SentBeat } from "../runtime/monitor.ts";
import { parseJson } from "./parse-json.ts";
import { printAck, printAcks } from "./print-ack.ts";
import { sendProblem } from "./problem.ts";

const largestBody = 4 * 1024 * 1024;
const mostBeats = 10_000;

/** How a single refused beat is answered; in a batch each beat has its own status and the answer is 200. */
const refusalStatus: Readonly<Record<NonNullable<HeartbeatAck["because"]>, number>> = {
  "seen-before": 200,
  "older-than-last": 200,
  "old-incarnation": 409,
  "wrong-checksum": 422,
  malformed: 400,
  "reserved-id": 403,
};

/**
 * The one hot path, straight on node:http: agents beat here all day. Answers only after what it acknowledges is on disk.
 */
export function takeHeartbeats(monitor: Monitor, log: Log) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const chunks: Buffer[] = [];
    let size = 0;
    const declared = Number(request.headers["content-length"] ?? 0);
    if (declared > largestBody) return refuseLarge(response);
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > largestBody) {
        request.pause();
        request.removeAllListeners("data");
        refuseLarge(response);
      } else chunks.push(chunk);
    });
    request.on("end", () => {
      const text =
        chunks.length === 1 ? (chunks[0] as Buffer).toString("utf8") : Buffer.concat(chunks).toString("utf8");
      try {
        answer(monitor, text, request.headers["content-type"], response, (error) => fail(response, error, log));
      } catch (error) {
        fail(response, error, log);
      }
    });
    request.on("error", () => response.destroy());
  };
}

function answer(
  monitor: Monitor,
  text: string,
  type: string | undefined,
  response: ServerResponse,
  failed: (error: unknown) => void,
): void {
  if (type?.includes("ndjson")) return answerMany(monitor, readLines(text), response, failed);
  const sent = parseJson(text);
  if (Array.isArray(sent))
    return answerMany(
      monitor,
      sent.map((beat) => ({ beat })),
      response,
      failed,
    );
  monitor.takeBeats(
    [{ beat: sent, text }],
    ([ack]) => {
      if (ack === undefined) throw new Error("one beat gets one acknowledgement");
      const status = ack.status === "rejected" && ack.because !== undefined ? refusalStatus[ack.because] : 200;
      send(response, status, printAck(ack));
    },
    failed,
  );
}

function answerMany(
  monitor: Monitor,
  sent: readonly SentBeat[],
  response: ServerResponse,
  failed: (error: unknown) => void,
): void {
  checkCount(sent.length);
  monitor.takeBeats(sent, (acks) => send(response, 200, printAcks(acks)), failed);
}

/** One broken line does not spoil the others: it is answered as the beat it failed to be. */
function readLines(text: string): SentBeat[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  checkCount(lines.length);
  return lines.map((line) => {
    try {
      return { beat: parseJson(line), text: line };
    } catch {
      return { beat: null };
    }
  });
}

function checkCount(count: number): void {
  if (count > mostBeats) throw new Fault("body-too-large", `at most ${mostBeats} heartbeats in one request`);
}

function refuseLarge(response: ServerResponse): void {
  sendProblem(response, new Fault("body-too-large", `at most ${largestBody / 1024 / 1024} MiB in one request`), true);
}

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
