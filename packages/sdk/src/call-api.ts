import { Fault, type FaultCode, faultCodes, type Problem } from "@rouse/contract";
import type { Line } from "./open-line.ts";

/** With a body it is a POST, without one a GET, where nothing else is said. */
export interface Call {
  readonly method?: "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly body: unknown;
}

/** Resolves with what Rouse answered, or rejects with the Fault it answered. */
export async function ask<T>(line: Line, call: Call): Promise<T> {
  const answer = await send(line, call);
  if (!answer.ok || answer.body === null) throw faultOf(line, answer);
  return answer.body as T;
}

/** Resolves with any answer at all; only a connection that yields none rejects. */
export async function send(line: Line, call: Call): Promise<Answer> {
  const body = call.body === undefined ? {} : { method: call.method ?? "POST", body: JSON.stringify(call.body) };
  const timeout = AbortSignal.timeout(line.timeout);
  try {
    const response = await line.fetch(line.base + call.path, {
      ...body,
      headers: { ...authorised(line), accept: "application/json", "content-type": "application/json" },
      redirect: "manual",
      signal: call.signal === undefined ? timeout : AbortSignal.any([timeout, call.signal]),
    });
    return { ok: response.ok, status: response.status, body: parse(await response.text()) };
  } catch (error) {
    throw unreachable(line, error);
  }
}

export const authorised = (line: Line) => ({ authorization: `Bearer ${line.token}` });

/** What a refusal means. Anything that is not one of our Problems comes from somebody else who listens there. */
export function faultOf(line: Line, { status, body }: Answer): Fault {
  if (!isProblem(body)) {
    const message = `what answers at ${line.base} is not a Rouse that this client understands (HTTP ${status})`;
    return new Fault("daemon-unreachable", message, { retryable: status >= 500 });
  }
  const { code, message, retryable, details = [] } = body.error;
  return new Fault(code, [message, ...details].join("\n"), { retryable });
}

export function unreachable(line: Line, cause: unknown): Fault {
  return new Fault("daemon-unreachable", describeTrouble(line, cause), { retryable: true, cause });
}

function describeTrouble({ base, timeout }: Line, error: unknown): string {
  if (error instanceof Error && error.name === "TimeoutError")
    return `no answer from ${base} within ${timeout / 1000} s`;
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
  if (code === "" || code === "ECONNREFUSED") return `no Rouse is running at ${base}; start it with \`rouse up\``;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) {
    return `the certificate of ${base} is not trusted (${code}); name its issuer's file in NODE_EXTRA_CA_CERTS`;
  }
  return `the connection to ${base} failed (${code})`;
}

function isProblem(body: unknown): body is Problem {
  const error = (body as Partial<Problem> | null)?.error;
  return typeof error?.message === "string" && faultCodes.includes(error.code as FaultCode);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
