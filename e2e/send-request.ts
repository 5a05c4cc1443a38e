import { type Agent, type IncomingHttpHeaders, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import type { Daemon } from "./start-daemon.ts";

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  /** `null` leaves one out that would be sent otherwise. */
  readonly headers?: Readonly<Record<string, string | null>>;
  readonly body?: string | Buffer;
  /** Whom to trust. Whether the name fits is left to the tests of those who ask by name. */
  readonly ca?: Buffer;
  /** Kept open for the next request; without it, each request has a connection of its own. */
  readonly connection?: Agent;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
}

type Target = Pick<Daemon, "url" | "token">;

/** One request just as it is described; `fetch` would correct half of what these tests get wrong on purpose. */
export function sendRequest({ url, token }: Target, sent: Sent = {}): Promise<Answered> {
  const { path = "/api/v1/heartbeats", body, ca, connection = false } = sent;
  const given: Record<string, string | null> = {
    authorization: `Bearer ${token}`,
    accept: "application/json",
    ...(body === undefined
      ? {}
      : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
    ...sent.headers,
  };
  const headers = Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== null),
  );
  return new Promise((resolve, reject) => {
    const request = (url.startsWith("https:") ? secureRequest : plainRequest)(
      `${url}${path}`,
      {
        method: sent.method ?? (body === undefined ? "GET" : "POST"),
        headers,
        agent: connection,
        ...(ca ? { ca, checkServerIdentity: () => undefined } : {}),
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.on("error", reject);
        response.on("end", () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: parse(text) }),
        );
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

/** A heartbeat, or a batch of them. */
export const sendBeat = (target: Target, beat: unknown): Promise<Answered> =>
  sendRequest(target, { body: JSON.stringify(beat) });

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
