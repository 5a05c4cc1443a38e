import { createHmac } from "node:crypto";
import { lookup } from "node:dns";
import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { LookupFunction } from "node:net";
import type { DurationMs, EpochMs } from "@rouse/contract";
import type { Timers } from "../../ports/clock.ts";

interface Letter {
  readonly to: URL;
  /** Why nothing may be sent to the address that the name resolves to at this moment; `null` when it may. */
  readonly whyNot: (address: string) => string | null;
  /** The same each time a message is sent, so that the receiver can tell a repetition. */
  readonly delivery: string;
  readonly body: string;
  readonly secret: string;
  readonly at: EpochMs;
  readonly within: DurationMs;
}

export interface Receipt {
  readonly status: number;
  /** `null` when the status is no success, or the body is too long or was cut off. */
  readonly body: string | null;
  /** The value of `Rouse-Signature`. */
  readonly signature: string | null;
}

const longestAnswer = 64 * 1024;

/** Sends a letter once. Resolves with any answer, redirects included; rejects when there was none in time. */
export function postSigned(letter: Letter, timers: Timers, signal: AbortSignal): Promise<Receipt> {
  const { to, whyNot, body, within } = letter;
  return new Promise<Receipt>((resolve, reject) => {
    const post = to.protocol === "https:" ? requestSecure : requestPlain;
    const request = post(to, {
      method: "POST",
      agent: false,
      signal,
      headers: headersOf(letter),
      lookup: lookUp(whyNot),
    });
    const cancel = timers.after(within, () =>
      request.destroy(new Error(`no answer within ${Math.ceil(within / 1000)} s`)),
    );
    // After an answer, errors of the request no longer count: it may close while the answer is still being read.
    let isAnswered = false;
    const fail = (error: Error): void => (isAnswered ? undefined : reject(error));
    request.on("response", (response) => {
      isAnswered = true;
      readReceipt(response, resolve);
    });
    request.on("error", fail);
    request.on("close", () => {
      cancel();
      fail(new Error("the connection was closed without an answer"));
    });
    request.end(body);
  });
}

/** Checks the very address that is connected to: the name cannot resolve to another in between. */
const lookUp =
  (whyNot: Letter["whyNot"]): LookupFunction =>
  (hostname, options, callback) =>
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return callback(error ?? new Error("no such name"), "", 0);
      const problem = addresses.map(({ address }) => whyNot(address)).find((one) => one !== null);
      if (problem !== undefined) callback(new Error(problem), "", 0);
      else if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });

const headersOf = ({ body, delivery, secret, at }: Letter) => ({
  "content-type": "application/json; charset=utf-8",
  "content-length": Buffer.byteLength(body),
  "user-agent": "rouse",
  "rouse-delivery": delivery,
  "rouse-signature": signBody(secret, body, at),
});

/** The status says whether the letter was taken; a body that is too long, too slow or cut off does not change that. */
function readReceipt(response: IncomingMessage, resolve: (receipt: Receipt) => void): void {
  const status = response.statusCode ?? 0;
  const given = response.headers["rouse-signature"];
  const signature = typeof given === "string" ? given : null;
  const chunks: Buffer[] = [];
  let size = 0;
  const without = (): void => {
    resolve({ status, body: null, signature });
    response.destroy();
  };
  response.on("error", without);
  response.on("close", without);
  if (!isTaken(status)) return without();
  response.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > longestAnswer) without();
    else chunks.push(chunk);
  });
  response.on("end", () => resolve({ status, body: Buffer.concat(chunks).toString("utf8"), signature }));
}

export const isTaken = (status: number): boolean => status >= 200 && status < 300;

/** The value of `Rouse-Signature`. The time is signed with the body, so that a copy sent later is known to be old. */
export function signBody(secret: string, body: string, at: EpochMs): string {
  const stamp = Math.floor(at / 1000);
  return `t=${stamp},v1=${createHmac("sha256", secret).update(`${stamp}.${body}`).digest("hex")}`;
}

/** Names only the origin: paths of webhooks are often secrets. */
export function describeFault(to: URL, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === undefined) return `${to.origin}: ${message}`;
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code))
    return `the certificate of ${to.origin} is not trusted (${code}); name its issuer's file in NODE_EXTRA_CA_CERTS`;
  return `${to.origin} cannot be reached (${code})`;
}
