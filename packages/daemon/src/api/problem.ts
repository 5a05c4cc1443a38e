import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type DurationMs, Fault, type FaultCode, type Problem, printable } from "@rouse/contract";
import type { FastifyReply } from "fastify";
import { retryAfterSeconds } from "./slow-wrong-tokens.ts";

const statuses: Readonly<Record<FaultCode, number>> = {
  "agent-unknown": 404,
  "bad-request": 400,
  "body-too-large": 413,
  "checkpoint-refused": 409,
  "checkpoint-unknown": 404,
  "command-not-found": 422,
  "config-invalid": 422,
  "daemon-running": 409,
  "daemon-unreachable": 502,
  "data-folder-unusable": 503,
  "database-damaged": 503,
  "database-newer": 503,
  "epoch-lost": 503,
  "escalation-closed": 409,
  "escalation-unknown": 404,
  "folder-gone": 422,
  forbidden: 403,
  "holder-gone": 410,
  "holder-unreachable": 502,
  "host-refused": 421,
  internal: 500,
  "key-reused": 422,
  "media-type-refused": 415,
  "method-not-allowed": 405,
  "name-taken": 409,
  "not-executable": 422,
  "not-found": 404,
  "not-supervised": 409,
  "order-refused": 409,
  "origin-refused": 403,
  "port-taken": 409,
  "rate-limit-refused": 409,
  "store-unavailable": 503,
  "task-refused": 409,
  "breaker-unknown": 404,
  "task-unknown": 404,
  "tls-required": 400,
  "too-many-attempts": 429,
  unauthorized: 401,
  "unsupported-host": 501,
};

/** How a refusal is sent (RFC 9457). */
export const problemType = "application/problem+json";

export const statusOf = (fault: Fault): number => statuses[fault.code];

function toProblem(fault: Fault): Problem {
  const { code, message, retryable } = fault;
  const title = code.replaceAll("-", " ");
  return { type: `urn:rouse:problem:${code}`, title, status: statusOf(fault), detail: message, code, retryable };
}

/** Answers with a `Fault` through the router. */
export const answerProblem = (reply: FastifyReply, fault: Fault, more: Partial<Problem> = {}): FastifyReply =>
  reply
    .code(statusOf(fault))
    .headers(headersOf(fault))
    .type(problemType)
    .send(JSON.stringify({ ...toProblem(fault), ...more }));

/** Answers, and closes the connection where the rest of the body is not read. */
export function sendProblem(response: ServerResponse, fault: Fault, hangUp = false): void {
  if (response.headersSent) return void response.destroy();
  if (hangUp) response.shouldKeepAlive = false;
  response.end(beginProblem(response, fault));
}

/** How long the rest of a body is received after the answer. */
const listensFor: DurationMs = 5000;

/**
 * Answers a client that is still sending, and closes. Closing a connection with unread data resets it, and the answer
 * is lost: so the rest is received for a while and thrown away.
 */
export function sendProblemEarly(request: IncomingMessage, response: ServerResponse, fault: Fault): void {
  if (request.complete || response.headersSent) return sendProblem(response, fault, true);
  response.shouldKeepAlive = false;
  response.write(beginProblem(response, fault));
  const finish = (): void => {
    clearTimeout(timer);
    response.end();
  };
  const timer = setTimeout(finish, listensFor);
  request.removeAllListeners("data");
  request.once("end", finish).once("close", finish).resume();
}

/** What the HTTP server could not read, and the status that says so. */
const unparsed: Readonly<Record<string, readonly [status: string, detail: string]>> = {
  HPE_HEADER_OVERFLOW: ["431 Request Header Fields Too Large", "at most 16 KiB of headers in one request"],
  ERR_HTTP_REQUEST_TIMEOUT: ["408 Request Timeout", "the request was not sent within 30 s; its connection is closed"],
};

/** Answers what never became a request, and closes the connection. */
export function sendProblemUnparsed(error: Error & { readonly code?: string }, socket: Socket): void {
  const { code = "" } = error;
  // A connection that broke, or a handshake of TLS that failed: nobody is there to read an answer.
  if ((!code.startsWith("HPE_") && unparsed[code] === undefined) || socket.destroyed) return void socket.destroy();
  // What comes after the answer is thrown away.
  if (socket.writableEnded) return;
  const [status, detail] = unparsed[code] ?? [
    "400 Bad Request",
    `this is no HTTP request: ${printable(error.message)}`,
  ];
  const body = JSON.stringify({ ...toProblem(new Fault("bad-request", detail)), status: Number.parseInt(status, 10) });
  const head = [`HTTP/1.1 ${status}`, `content-type: ${problemType}`, `content-length: ${Buffer.byteLength(body)}`];
  socket.end([...head, "connection: close", "", body].join("\r\n"));
  const timer = setTimeout(() => socket.destroy(), listensFor);
  socket.once("close", () => clearTimeout(timer));
}

/** Sends the head and returns the body. */
function beginProblem(response: ServerResponse, fault: Fault): string {
  const body = JSON.stringify(toProblem(fault));
  response.writeHead(statusOf(fault), {
    "content-type": problemType,
    "content-length": Buffer.byteLength(body),
    ...headersOf(fault),
  });
  return body;
}

const headersOf = (fault: Fault): Record<string, string> => ({
  ...(fault.code === "unauthorized" ? { "www-authenticate": "Bearer" } : {}),
  ...(fault.retryable ? { "retry-after": "1" } : {}),
  ...(fault.code === "too-many-attempts" ? { "retry-after": String(retryAfterSeconds) } : {}),
});
