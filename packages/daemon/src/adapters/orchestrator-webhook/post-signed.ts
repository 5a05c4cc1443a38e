import { lookup } from "node:dns";
import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestSecure } from "node:https";
import type { LookupFunction } from "node:net";
import type { DurationMs, EpochMs } from "@rouse/contract";
import type { Timers } from "../../ports/clock.ts";
import { signBody } from "./sign-body.ts";

export interface Letter {
  readonly to: URL;
  /** Why nothing is sent to the address that the name stands for at this moment; `null` when it may be. */
  readonly whyNot: (address: string) => string | null;
  /** The same for the same message however often it is sent, so that the receiver can tell. */
  readonly delivery: string;
  readonly body: string;
  readonly secret: string;
  readonly at: EpochMs;
  readonly within: DurationMs;
}

export interface Receipt {
  readonly status: number;
  /** `null` when it is none of our business, too long, or was never finished. */
  readonly body: string | null;
  /** The value of `Rouse-Signature`. */
  readonly signature: string | null;
}

const longestAnswer = 64 * 1024;

/** Sends it once. Resolves with any answer at all; rejects when there was none in time. Redirects are answers and are not followed. */
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
    // Once there is an answer, only the answer itself tells how it ended: the request may close while the last of it is still being read.
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

/** The address that is looked at is the one that is connected to: a name cannot stand for another in between. */
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

/** The status says whether it was taken; a body that is too long, too slow or cut off changes nothing about that. */
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
