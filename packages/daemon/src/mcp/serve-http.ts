import type { RequestListener } from "node:http";
import { createMcpHandler } from "@modelcontextprotocol/server";
import type { EpochMs } from "@rouse/contract";
import { connectRouse } from "@rouse/sdk";
import inject from "light-my-request";
import { createMcpServer } from "./create-mcp-server.ts";

/** Who called a tool. What the tool asks for is asked with the caller's token again. */
interface HttpCaller {
  readonly token: string;
  /** The host name that the caller used for us. */
  readonly host: string;
  readonly agent: { readonly agentId: string; readonly taskId: string | null } | null;
}

export interface McpOverHttp {
  answer(request: Request, body: unknown, caller: HttpCaller): Promise<Response>;
  close(): Promise<void>;
}

/** How many clients may wait for changes of our tools. There are never any changes, so a few are enough. */
const mostSubscriptions = 64;

/** Serves MCP over HTTP. Nothing is kept between two requests. */
export function serveMcpOverHttp(door: RequestListener, now: () => EpochMs): McpOverHttp {
  const handler = createMcpHandler(
    ({ authInfo }) => createMcpServer(async () => callerOf(authInfo?.extra?.["caller"] as HttpCaller)),
    { maxSubscriptions: mostSubscriptions },
  );

  const callerOf = ({ token, host, agent }: HttpCaller) => ({
    rouse: connectRouse({ url: "http://own.door", token, fetch: askOwnDoor(door, host) }),
    self: agent?.agentId ?? null,
    task: agent?.taskId ?? null,
    onlyItself: agent !== null,
    now: now(),
  });

  return {
    answer: (request, parsedBody, caller) =>
      handler.fetch(request, {
        ...(parsedBody === undefined ? {} : { parsedBody }),
        authInfo: { token: caller.token, clientId: "rouse", scopes: [], extra: { caller } },
      }),
    close: () => handler.close(),
  };
}

/**
 * A `fetch` that calls our own server without a connection. What a tool asks for passes the same guard with the
 * caller's token, as if the caller had asked for it.
 */
function askOwnDoor(door: RequestListener, host: string): typeof globalThis.fetch {
  return async (input, init) => {
    const { pathname, search } = new URL(String(input));
    const { method = "GET", headers, body } = init ?? {};
    const answer = await inject(door, {
      method: method === "POST" ? "POST" : "GET",
      url: pathname + search,
      headers: { ...(headers as Record<string, string>), host },
      ...(typeof body === "string" ? { payload: body } : {}),
    });
    return new Response(new Uint8Array(answer.rawPayload), { status: answer.statusCode });
  };
}
