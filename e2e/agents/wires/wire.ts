import type { ServerResponse } from "node:http";
import type { Act, Refusal } from "../scenarios.ts";

/** What a request says, in whatever words its protocol has for it. */
export interface Conversation {
  /** How many results of tools are in it. */
  readonly results: number;
  /** What a person, or a program for them, said. */
  readonly texts: readonly string[];
  /** Names of the tools on offer. Without any it is a side request: a title, a summary. */
  readonly tools: readonly string[];
}

export interface Reply {
  readonly body: Record<string, unknown>;
  readonly tools: readonly string[];
  readonly acts: readonly Act[];
  /** Absolute, for protocols whose programs want whole paths. */
  readonly folder: string;
  /** Shows that the connection lives before anything is said. */
  readonly pingsForMs: number;
}

/** One protocol between a program and its model. */
export interface Wire {
  read(body: Record<string, unknown>): Conversation;
  refuse(response: ServerResponse, refusal: Refusal): void;
  send(response: ServerResponse, reply: Reply): Promise<void>;
}

export type Json = Record<string, unknown>;

export const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

/** Text of a message, which is a string or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : textOf(part["content"] ?? "")))
    .join("\n");
}

export const sendJson = (response: ServerResponse, status: number, body: Json, headers: Record<string, string> = {}) =>
  void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

export const retryAfter = ({ retryAfterSeconds }: Refusal): Record<string, string> =>
  retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) };

/** Opens a stream of events; the function writes one. */
export function openEvents(response: ServerResponse): (data: Json) => void {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  return (data) => {
    const name = typeof data["type"] === "string" ? `event: ${data["type"]}\n` : "";
    response.write(`${name}data: ${JSON.stringify(data)}\n\n`);
  };
}

const pingEveryMs = 5000;

/** Calls `ping` every five seconds for so long, or until the other side has gone. */
export async function keepPinging(response: ServerResponse, forMs: number, ping: () => void): Promise<void> {
  for (let left = forMs; left > 0 && !response.destroyed; left -= pingEveryMs) {
    ping();
    await pause(Math.min(left, pingEveryMs));
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

let made = 0;
export const newId = (prefix: string): string => `${prefix}_${Date.now()}${++made}`;
