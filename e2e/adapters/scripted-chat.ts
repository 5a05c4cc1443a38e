import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { anthropic } from "../agents/wires/anthropic.ts";
import { type Json, listOf, newId, openEvents, sendJson } from "../agents/wires/wire.ts";
import { afterwards } from "../clean-up.ts";

export type Turn =
  | { readonly say: string }
  | { readonly call: "note" | "lookup" }
  | { readonly refuse: number; readonly afterSeconds: number };

/** What the model does with its request number so and so, the first being 1. `body` is the request as it came. */
export type Script = (number: number, body: string) => Turn | Promise<Turn>;

/** 30 in all for each answer. */
const usage = { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 };

/** A model on loopback, in the words of OpenAI's Chat Completions and of Anthropic's Messages. */
export async function startChat(script: Script): Promise<{ readonly url: string; readonly requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    answer(script, requests, request, response).catch((error: Error) =>
      sendJson(response, 500, { error: { message: error.message } }),
    );
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  afterwards(() => {
    server.closeAllConnections();
    return new Promise<void>((closed) => void server.close(() => closed()));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

async function answer(script: Script, requests: string[], request: IncomingMessage, response: ServerResponse) {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const text = Buffer.concat(pieces).toString("utf8");
  const path = (request.url ?? "").split("?")[0] ?? "";
  const isClaude = path.endsWith("/v1/messages");
  if (!isClaude && !path.endsWith("/chat/completions"))
    return sendJson(response, 404, { error: { message: "not here" } });
  const body = JSON.parse(text) as Json;
  const tools = isClaude ? anthropic.read(body).tools : [];
  // Claude Code asks for titles and the like beside its work.
  if (isClaude && tools.length === 0)
    return anthropic.send(response, { body, tools, acts: [{ does: "say", text: "{}" }], folder: "/", pingsForMs: 0 });
  const turn = await script(requests.push(text), text);
  if ("refuse" in turn) {
    const error = { message: "Rate limit reached", type: "rate_limit_error", code: "rate_limit_exceeded" };
    const headers = { "retry-after": String(turn.afterSeconds) };
    return sendJson(response, turn.refuse, { type: "error", error }, headers);
  }
  if (!isClaude) return complete(response, body, turn);
  const acts =
    "say" in turn
      ? [{ does: "say", text: turn.say } as const]
      : [{ does: "run", command: turn.call === "note" ? "echo noted" : "exit 3" } as const];
  return anthropic.send(response, { body, tools, acts, folder: "/", pingsForMs: 0 });
}

function complete(response: ServerResponse, body: Json, turn: Exclude<Turn, { refuse: number }>): void {
  const about = { id: newId("chatcmpl"), created: 1, model: String(body["model"]) };
  const call = "call" in turn ? { name: turn.call, arguments: '{"about":"the weather"}' } : null;
  const message =
    call === null
      ? { role: "assistant", content: "say" in turn ? turn.say : "" }
      : {
          role: "assistant",
          content: null,
          tool_calls: [{ index: 0, id: newId("call"), type: "function", function: call }],
        };
  const finish_reason = call === null ? "stop" : "tool_calls";
  if (body["stream"] !== true) {
    const choices = [{ index: 0, message, finish_reason }];
    return sendJson(response, 200, { ...about, object: "chat.completion", choices, usage });
  }
  const emit = openEvents(response);
  const chunk = { ...about, object: "chat.completion.chunk" };
  emit({ ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] });
  emit({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] });
  emit({ ...chunk, choices: [], usage });
  response.end("data: [DONE]\n\n");
}

/** What was said to the model by whom it takes for a user, or in tool results; as one text. */
export const messagesOf = (body: string): string =>
  listOf((JSON.parse(body) as Json)["messages"])
    .map((message) => JSON.stringify(message))
    .join("\n");
