import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Asked, quotaSeconds, type Scenario, scenarios, type Turn } from "./scenarios.ts";
import { anthropic, claudeQuota } from "./wires/anthropic.ts";
import { gemini } from "./wires/gemini.ts";
import { codexQuota, responses } from "./wires/responses.ts";
import { type Conversation, type Json, pause, sendJson, type Wire } from "./wires/wire.ts";

/** One request of the agent itself, as the model got it. */
export interface ModelRequest {
  readonly at: number;
  /** When the whole answer had been written; `null` while it has not. */
  answeredAt: number | null;
  /** Results of tools in the conversation. */
  readonly results: number;
  /** A nudge of Rouse's is in the conversation. */
  readonly nudged: boolean;
  readonly said: Turn["kind"];
}

/** One run of a program against the model: an address of its own and everything it asked. */
export interface ModelRun {
  readonly url: string;
  readonly requests: readonly ModelRequest[];
  /** When it was refused first. */
  readonly refusedAt: number | null;
  /** When its program asked what is left of the quota. */
  readonly quotaReads: readonly number[];
}

export interface ScriptedModel {
  begin(scenario: Scenario, folder: string): ModelRun;
  stop(): Promise<void>;
}

interface OpenRun {
  readonly scenario: Scenario;
  readonly folder: string;
  readonly requests: ModelRequest[];
  readonly quotaReads: number[];
  refusedAt: number | null;
}

/** How Rouse words its nudges (core's compose-nudge.ts). */
const nudges = /FACT: |REMINDER: You /;

/** A loop without a pause would be many calls ahead of whoever watches it. */
const thinkMs = 700;

/** A model on loopback that speaks three protocols and does what its scenario says. */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const runs = new Map<string, OpenRun>();
  const server = createServer((request, response) => {
    answerRequest(runs, request, response).catch((error: Error) => {
      if (!response.headersSent) sendJson(response, 500, { error: { message: error.message } });
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    begin(scenario, folder) {
      const name = `r${runs.size + 1}`;
      const run: OpenRun = { scenario, folder, requests: [], quotaReads: [], refusedAt: null };
      runs.set(name, run);
      return Object.assign(run, { url: `http://127.0.0.1:${port}/${scenario}/${name}` });
    },
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped());
        server.closeAllConnections();
      }),
  };
}

async function answerRequest(
  runs: ReadonlyMap<string, OpenRun>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readJson(request);
  const [, name = "", path = ""] = /^\/\w+\/(r\d+)(\/[^?]*)/.exec(request.url ?? "") ?? [];
  const run = runs.get(name);
  const wire = wireOf(path);
  if (run === undefined) return sendJson(response, 404, { error: { message: "no such run" } });
  const readQuota = quotaReaders.find(([where]) => where.test(path))?.[1];
  if (readQuota !== undefined) {
    run.quotaReads.push(Date.now());
    const left = run.refusedAt === null ? 0 : run.refusedAt + quotaSeconds * 1000 - Date.now();
    return sendJson(response, 200, readQuota(Math.max(0, Math.ceil(left / 1000))));
  }
  if (/count_?tokens/i.test(path)) return sendJson(response, 200, { input_tokens: 1200, totalTokens: 1200 });
  if (wire === null) return sendJson(response, request.method === "GET" ? 200 : 404, { data: [], models: [] });
  const conversation = wire.read(body);
  const reply = { body, tools: conversation.tools, folder: run.folder };
  if (conversation.tools.length === 0) {
    const title = '{"title":"Greeting","isNewTopic":true}';
    return wire.send(response, { ...reply, acts: [{ does: "say", text: title }], pingsForMs: 0 });
  }
  const turn = takeTurn(run, conversation);
  const kept = run.requests.at(-1);
  response.once("finish", () => {
    if (kept !== undefined) kept.answeredAt = Date.now();
  });
  if (turn.kind === "hang") return;
  if (turn.kind === "refuse") return wire.refuse(response, turn);
  await pause(thinkMs);
  await wire.send(response, { ...reply, acts: turn.acts, pingsForMs: turn.pingsForMs ?? 0 });
}

/** Where each program asks what is left of its quota, which no model has to be asked for. */
const quotaReaders: readonly (readonly [RegExp, (leftSeconds: number) => Json])[] = [
  [/\/codex\/usage$/, codexQuota],
  [/\/oauth\/usage$/, claudeQuota],
];

/** Decides what is done and keeps what was asked. */
function takeTurn(run: OpenRun, { results, texts }: Conversation): Turn {
  const at = Date.now();
  const nudged = texts.some((text) => nudges.test(text));
  const asked: Asked = { results, nudged, refusedForMs: run.refusedAt === null ? 0 : at - run.refusedAt };
  const turn: Turn = scenarios[run.scenario](asked);
  if (turn.kind === "refuse") run.refusedAt ??= at;
  run.requests.push({ at, answeredAt: null, results, nudged, said: turn.kind });
  return turn;
}

function wireOf(path: string): Wire | null {
  if (path.endsWith("/messages")) return anthropic;
  if (path.endsWith("/responses")) return responses;
  return /enerateContent$/.test(path) ? gemini : null;
}

async function readJson(request: IncomingMessage): Promise<Json> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  try {
    return JSON.parse(Buffer.concat(pieces).toString("utf8")) as Json;
  } catch {
    return {};
  }
}
