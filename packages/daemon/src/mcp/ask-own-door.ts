import type { RequestListener } from "node:http";
import inject from "light-my-request";

/**
 * A `fetch` that comes in by our own door without a connection: what a tool asks for passes the same guard, with the token of whoever called the
 * tool, as if they had asked for it themselves.
 */
export function askOwnDoor(door: RequestListener, host: string): typeof globalThis.fetch {
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
