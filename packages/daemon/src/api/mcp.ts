import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import { type EpochMs, JsonRpc } from "@rouse/contract";
import type { McpOverHttp } from "../mcp/serve-http.ts";
import { type Answers, type Route, readersAnd, route } from "./route.ts";

interface McpParts {
  /** The listener of the daemon with its guard: the requests of a tool go through it as well. */
  readonly door: () => RequestListener;
  readonly now: () => EpochMs;
}

const bearer = "Bearer ";

/** GET and DELETE are sent by older clients and answered with 405: there are no sessions. */
const methods = { POST: "A message of MCP", GET: "No stream is kept open", DELETE: "No session is kept" };

const answered: Answers = {
  200: { content: { "application/json": JsonRpc, "text/event-stream": null } },
  202: { content: {} },
};

/** MCP at /mcp. Its code is loaded with the first request: most daemons never get one. */
export function mcpRoutes({ door, now }: McpParts): { routes: Route[]; close(): Promise<void> } {
  let serving: Promise<McpOverHttp> | null = null;
  const open = async () => (await import("../mcp/serve-http.ts")).serveMcpOverHttp(door(), now);
  const routes = Object.entries(methods).map(([method, about]) =>
    route({
      method: method as keyof typeof methods,
      path: "/mcp",
      // The requests of a tool come in again with the same token, and are checked like all others.
      who: readersAnd("any"),
      id: `mcp${method.slice(0, 1)}${method.slice(1).toLowerCase()}`,
      about,
      ...(method === "POST" ? { request: { body: JsonRpc, read: "inside" as const } } : {}),
      answer: method === "POST" ? answered : { 405: { content: { "application/json": JsonRpc } } },
      async run({ raw, reply, body, agent }) {
        serving ??= open();
        const { host = "", authorization = "" } = raw.headers;
        const caller = { token: authorization.slice(bearer.length), host, agent };
        const answer = await (await serving).answer(toWebRequest(raw, reply.raw), body, caller);
        reply.code(answer.status).headers(Object.fromEntries(answer.headers));
        return reply.send(answer.body === null ? null : Readable.fromWeb(answer.body as ReadableStream));
      },
    }),
  );
  return { routes, close: async () => (await serving)?.close() };
}

/** Without its body, which is read already. Aborted when the client disconnects. */
function toWebRequest({ method = "", headers }: IncomingMessage, response: ServerResponse): Request {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return new Request("http://own.door/mcp", { method, headers: given as [string, string][], signal: gone.signal });
}
