import type { ServerResponse } from "node:http";
import type { Fault, FaultCode, Problem } from "@rouse/contract";

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
  "escalation-closed": 409,
  "escalation-unknown": 404,
  "folder-gone": 422,
  forbidden: 403,
  "holder-gone": 410,
  "holder-unreachable": 502,
  "host-refused": 421,
  internal: 500,
  "name-taken": 409,
  "not-executable": 422,
  "not-found": 404,
  "not-supervised": 409,
  "order-refused": 409,
  "origin-refused": 403,
  "port-taken": 409,
  "store-unavailable": 503,
  "task-refused": 409,
  "task-unknown": 404,
  "tls-required": 400,
  "too-many-attempts": 429,
  unauthorized: 401,
  "unsupported-host": 501,
};

export const statusOf = (fault: Fault): number => statuses[fault.code];

export function toProblem(fault: Fault): Problem {
  return { error: { code: fault.code, message: fault.message, retryable: fault.retryable } };
}

/** Answers and, where the rest of the body is not worth reading, hangs up. */
export function sendProblem(response: ServerResponse, fault: Fault, hangUp = false): void {
  if (response.headersSent) return void response.destroy();
  if (hangUp) response.shouldKeepAlive = false;
  const body = JSON.stringify(toProblem(fault));
  response.writeHead(statusOf(fault), {
    "content-type": "application/json; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    ...(fault.code === "unauthorized" ? { "www-authenticate": "Bearer" } : {}),
    ...(fault.retryable ? { "retry-after": "1" } : {}),
  });
  response.end(body);
}
