import { connect } from "node:net";
import type { NudgeRefusal } from "@rouse/contract";
import WebSocket, { type RawData } from "ws";
import { version } from "../../version.ts";
import type { CodexTurn } from "./find-codex-turn.ts";

/** What became of words for a turn. Nothing was said when it was unreachable or held back; of what was not answered nobody knows. */
export type Steered =
  | { readonly kind: "steered" }
  | { readonly kind: "held-back"; readonly because: NudgeRefusal }
  | { readonly kind: "unreachable" | "refused" | "unanswered"; readonly because: string };

export interface SteeringWords {
  /** Codex keeps it with the message in its session file. */
  readonly id: string;
  readonly text: string;
}

/** Connected, introduced, and told which threads there are. */
const reachedWithinMs = 5000;
const answeredWithinMs = 10_000;
const closedWithinMs = 1000;
const longestFrame = 256 * 1024;
/** It tells of things nobody asked about, a few. */
const mostFrames = 100;

/** Codex adds the name to what it tells its provider about itself, from then on. */
const clientInfo = { name: "rouse", title: "Rouse", version };

/** One connection for one message. `begin` is asked right before the words go out; a reason holds them back. */
export async function steerCodex(
  { server, thread, turn }: CodexTurn,
  { id, text }: SteeringWords,
  begin: () => NudgeRefusal | null,
): Promise<Steered> {
  const call = callServer(server);
  try {
    const reached = await within(reachedWithinMs, reach(call, thread));
    if (reached !== null) return { kind: "unreachable", because: reached };
    const because = begin();
    if (because !== null) return { kind: "held-back", because };
    const input = [{ type: "text", text, text_elements: [] }];
    const params = { threadId: thread, expectedTurnId: turn, clientUserMessageId: id, input };
    const answer = await within(answeredWithinMs, call.ask("turn/steer", params));
    if (typeof answer === "string") return { kind: "unanswered", because: answer };
    if (answer.kind === "error") return { kind: "refused", because: "it said no" };
    return fieldOf(answer.result, "turnId") === turn
      ? { kind: "steered" }
      : { kind: "unanswered", because: "it answered something else" };
  } finally {
    call.close();
  }
}

/** Why the thread cannot be spoken to; `null`: it can. */
async function reach(call: Call, thread: string): Promise<string | null> {
  const welcome = await call.ask("initialize", { clientInfo, capabilities: null });
  if (typeof welcome === "string") return welcome;
  if (welcome.kind === "error") return "it does not want to be spoken to";
  call.tell("initialized");
  const loaded = await call.ask("thread/loaded/list", {});
  if (typeof loaded === "string") return loaded;
  const threads = loaded.kind === "result" ? fieldOf(loaded.result, "data") : null;
  return Array.isArray(threads) && threads.includes(thread) ? null : "the conversation is not there";
}

type Answer = { readonly kind: "result"; readonly result: unknown } | { readonly kind: "error" };

/** One question at a time. A text instead of an answer says why none will come. */
interface Call {
  ask(method: string, params: object): Promise<Answer | string>;
  tell(method: string): void;
  close(): void;
}

function callServer(path: string): Call {
  const socket = new WebSocket("ws://localhost/", {
    // By its path alone: an address with the path in it would be read as more than that.
    createConnection: () => connect(path),
    perMessageDeflate: false,
    maxPayload: longestFrame,
    handshakeTimeout: reachedWithinMs,
  });
  let asked = 0;
  let frames = 0;
  let lost: string | null = null;
  let settle: (answer: Answer | string) => void = () => {};
  const opened = new Promise<void>((resolve) => socket.once("open", resolve));
  socket.on("message", (data, isBinary) => hear(data, isBinary));
  socket.on("error", ({ message }) => lose(message));
  socket.on("close", () => lose("it hung up"));

  function lose(because: string): void {
    lost ??= because;
    settle(lost);
    socket.terminate();
  }

  function hear(data: RawData, isBinary: boolean): void {
    frames += 1;
    const message = isBinary || frames > mostFrames ? null : parse(String(data));
    if (message === null) return lose("it talks nonsense");
    // What it tells or asks by itself has a method; nobody here answers.
    if ("method" in message || message["id"] !== asked) return;
    if ("error" in message) settle({ kind: "error" });
    else if ("result" in message) settle({ kind: "result", result: message["result"] });
    else lose("it talks nonsense");
  }

  const send = (message: object): void => socket.send(JSON.stringify(message), () => {});

  return {
    ask(method, params) {
      return new Promise((resolve) => {
        settle = resolve;
        if (lost !== null) return resolve(lost);
        asked += 1;
        const id = asked;
        void opened.then(() => send({ id, method, params }));
      });
    },
    tell: (method) => send({ method }),
    close() {
      socket.close();
      const patience = setTimeout(() => socket.terminate(), closedWithinMs);
      socket.once("close", () => clearTimeout(patience));
    },
  };
}

function within<T>(ms: number, work: Promise<T>): Promise<T | string> {
  let timer: NodeJS.Timeout;
  const patience = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve("it does not answer"), ms);
  });
  return Promise.race([work, patience]).finally(() => clearTimeout(timer));
}

type Fields = Readonly<Record<string, unknown>>;

function parse(text: string): Fields | null {
  try {
    return fieldsOf(JSON.parse(text));
  } catch {
    return null;
  }
}

const fieldsOf = (value: unknown): Fields | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;

const fieldOf = (value: unknown, name: string): unknown => fieldsOf(value)?.[name];
