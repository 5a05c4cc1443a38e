import { Fault, type FaultCode, faultCodes, type Problem } from "@rouse/contract";
import type { Line } from "./open-line.ts";

/** A call with a body is a POST, one without a GET, unless `method` says otherwise. */
export interface Call {
  readonly method?: "DELETE";
  readonly path: string;
  readonly body?: unknown;
  /** The same call with the same key gets the first answer again. */
  readonly key?: string | undefined;
  /** The body as JSON, where that was written already. */
  readonly text?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Nobody waits for the answer: it is to keep no process alive. */
  readonly background?: boolean | undefined;
}

/** Resolves with any answer; rejects only when there is none. */
export type Send = (line: Line, call: Call) => Promise<Answer>;

export interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly body: unknown;
  /** What it said of when to ask again. */
  readonly retryAfter: string | null;
}

/** Resolves with any answer; rejects only when there is none. */
export async function send(line: Line, call: Call): Promise<Answer> {
  const text = textOf(call);
  const body = text === undefined ? {} : { method: call.method ?? "POST", body: text };
  const timeout = AbortSignal.timeout(line.timeout);
  try {
    const response = await line.fetch(line.base + call.path, {
      ...body,
      headers: {
        ...authorised(line),
        accept: "application/json",
        "content-type": "application/json",
        ...(call.key === undefined ? {} : { "idempotency-key": call.key }),
      },
      redirect: "manual",
      signal: call.signal === undefined ? timeout : AbortSignal.any([timeout, call.signal]),
    });
    const { ok, status, headers } = response;
    return { ok, status, body: parseOrNull(await readText(response)), retryAfter: headers?.get("retry-after") ?? null };
  } catch (error) {
    throw unreachable(line, error);
  }
}

/** Four times the largest state of a checkpoint; whatever else answers there must not fill the memory of an agent. */
const longestAnswer = 64 * 1024 * 1024;

/** Resolves with nothing once an answer is longer than any of Rouse's. */
async function readText({ body }: Pick<Response, "body">): Promise<string> {
  const reader = body?.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let size = 0; size <= longestAnswer; ) {
    const part = await reader?.read();
    if (part?.value === undefined) return new Blob(parts).text();
    size += part.value.length;
    parts.push(part.value);
  }
  await reader?.cancel();
  return "";
}

export const textOf = ({ body, text }: Call): string | undefined =>
  text ?? (body === undefined ? undefined : JSON.stringify(body));

export const authorised = (line: Line) => ({ authorization: `Bearer ${line.token}` });

/** What a refusal means. An answer that is no Problem of ours comes from another program that listens there. */
export function faultOf(line: Line, { status, body }: Omit<Answer, "retryAfter">): Fault {
  if (!isProblem(body)) {
    const message = `what answers at ${line.base} is not a Rouse that this client understands (HTTP ${status})`;
    return new Fault("daemon-unreachable", message, { retryable: status >= 500 });
  }
  return new Fault(body.code, body.detail, { retryable: body.retryable });
}

export function unreachable(line: Line, cause: unknown): Fault {
  return new Fault("daemon-unreachable", describeFailure(line, cause), { retryable: true, cause });
}

function describeFailure({ base, timeout }: Line, error: unknown): string {
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

export function isProblem(body: unknown): body is Problem {
  const { detail, code } = (body ?? {}) as Partial<Problem>;
  return typeof detail === "string" && faultCodes.includes(code as FaultCode);
}

export function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
