import type { RequestListener } from "node:http";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { EpochMs } from "@rouse/contract";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { McpOverHttp } from "../mcp/serve-http.ts";
import type { AgentOf } from "./agents.ts";

export interface McpParts {
  /** Where requests come in, guard and all: a tool's own questions come in there as well. */
  readonly door: () => RequestListener;
  readonly agentOf: AgentOf;
  readonly now: () => EpochMs;
}

const bearer = "Bearer ";

/** MCP at /mcp. Most daemons are never asked: what it takes is loaded with the first request. */
export function addMcpRoute(app: FastifyInstance, { door, agentOf, now }: McpParts): void {
  let serving: Promise<McpOverHttp> | null = null;
  const open = async () => (await import("../mcp/serve-http.ts")).serveMcpOverHttp(door(), now);
  app.addHook("onClose", async () => (await serving)?.close());

  // GET and DELETE belong to older clients; they are answered that there are no sessions.
  for (const method of ["POST", "GET", "DELETE"] as const) {
    app.route({
      method,
      url: "/mcp",
      async handler(request, reply) {
        serving ??= open();
        const { host = "", authorization = "" } = request.headers;
        const token = authorization.slice(bearer.length);
        const caller = { token, host, agent: agentOf(request.raw) };
        const answer = await (await serving).answer(toWebRequest(request, reply), request.body, caller);
        reply.code(answer.status).headers(Object.fromEntries(answer.headers));
        return reply.send(answer.body === null ? null : Readable.fromWeb(answer.body as ReadableStream));
      },
    });
  }
}

/** Without its body, which is read already; aborted when whoever asked hangs up. */
function toWebRequest({ method, headers }: FastifyRequest, reply: FastifyReply): Request {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  const given = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return new Request("http://own.door/mcp", { method, headers: given as [string, string][], signal: gone.signal });
}
