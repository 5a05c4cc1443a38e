import { connect } from "node:net";
import type { NudgeRefusal, SharedTurn } from "@rouse/contract";
import WebSocket, { type RawData } from "ws";
import manifest from "../../package.json" with { type: "json" };
import { attempt } from "../attempt.ts";
import { within } from "../watch/clock.ts";
import type { CodexScreen, CodexTurn } from "./find-codex-turn.ts";

/** To connect, introduce ourselves and read which threads there are. */
const reachedWithinMs = 5000;
const closedWithinMs = 1000;
const longestFrame = 256 * 1024;

/** From then on Codex adds this name to what it tells its provider about itself. */
const clientInfo = { name: "rouse", title: "Rouse", version: manifest.version };

type Answer = { readonly kind: "result"; readonly result: unknown } | { readonly kind: "error" };

type Call = ReturnType<typeof callServer>;

/** A connection to Codex's server. `mostFrames`: the server also sends some frames that nobody asked for. */
function callServer(path: string, mostFrames: number) {
  const socket = new WebSocket("ws://localhost/", {
    // By its path alone: an address that contains the path would be parsed.
    createConnection: () => connect(path),
    perMessageDeflate: false,
    maxPayload: longestFrame,
    handshakeTimeout: reachedWithinMs,
  });
  let asked = 0;
  let frames = 0;
  let lost: string | null = null;
  let settle: (answer: Answer | string) => void = () => {};
  let isReached = false;
  const opened = new Promise<void>((resolve) => socket.once("open", resolve)).then(() => {
    isReached = true;
  });
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
    const message = isBinary || frames > mostFrames ? null : fieldsOf(attempt(() => JSON.parse(String(data))));
    if (message === null) return lose("it talks nonsense");
    // Its own notifications and requests have a method; they are not answered.
    if ("method" in message || message["id"] !== asked) return;
    if ("error" in message) settle({ kind: "error" });
    else if ("result" in message) settle({ kind: "result", result: message["result"] });
    else lose("it talks nonsense");
  }

  const send = (message: object): void => socket.send(JSON.stringify(message), () => {});

  return {
    /** One question at a time. A text instead of an answer says why none will come. */
    ask(method: string, params: object): Promise<Answer | string> {
      return new Promise((resolve) => {
        settle = resolve;
        if (lost !== null) return resolve(lost);
        asked += 1;
        const id = asked;
        void opened.then(() => send({ id, method, params }));
      });
    },
    tell: (method: string) => send({ method }),
    /** Whether a server listened there. */
    reached: () => isReached,
    close(): void {
      socket.close();
      const patience = setTimeout(() => socket.terminate(), closedWithinMs);
      socket.once("close", () => clearTimeout(patience));
    },
  };
}

const silent = "it does not answer";

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;

const fieldOf = (value: unknown, name: string): unknown => fieldsOf(value)?.[name];

/** Unreachable and held back: nothing was sent. Unanswered: the message may have been taken or not. */
export type Steered =
  | { readonly kind: "steered" }
  | { readonly kind: "held-back"; readonly because: NudgeRefusal }
  | { readonly kind: "unreachable" | "refused" | "unanswered"; readonly because: string };

const steeredWithinMs = 10_000;
const mostFramesToSteer = 100;

/**
 * Opens one connection for one message. `begin` is asked right before the words are sent; a reason holds them back.
 * Codex keeps the `id` with the message in its session file.
 */
export async function steerCodex(
  { server, thread, turn }: CodexTurn,
  { id, text }: { readonly id: string; readonly text: string },
  begin: () => NudgeRefusal | null,
): Promise<Steered> {
  const call = callServer(server, mostFramesToSteer);
  try {
    const reached = await within(reachedWithinMs, reach(call, thread), silent);
    if (reached !== null) return { kind: "unreachable", because: reached };
    const because = begin();
    if (because !== null) return { kind: "held-back", because };
    const input = [{ type: "text", text, text_elements: [] }];
    const params = { threadId: thread, expectedTurnId: turn, clientUserMessageId: id, input };
    const answer = await within(steeredWithinMs, call.ask("turn/steer", params), silent);
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

/** For the whole interruption: the stop of the agent waits for it. */
const doneWithinMs = 8000;
/** Codex (0.166) never answers when the turn has ended by itself a moment before. */
const answeredWithinMs = 2000;
/** A queued message begins another turn once one is over. */
const rounds = 5;
const mostThreads = 200;
const mostFramesToInterrupt = 5000;

/**
 * Interrupts what a stopped Codex has in a server that others use: the turns of its conversation and of those begun
 * from it, and the commands they left running in the background. `null`: no server listens there any more.
 */
export async function interruptCodex({ server, thread, cwd }: CodexScreen): Promise<SharedTurn | null> {
  const call = callServer(server, mostFramesToInterrupt);
  try {
    const ended = await within(doneWithinMs, interrupt(call, thread, cwd).catch(String), silent);
    if (ended === "none" || ended === "interrupted") return ended;
    return call.reached() ? "may-go-on" : null;
  } finally {
    call.close();
  }
}

async function interrupt(call: Call, thread: string | null, cwd: string): Promise<SharedTurn> {
  const capabilities = { experimentalApi: true, requestAttestation: false };
  if ((await ask(call, "initialize", { clientInfo, capabilities })) === null) return "may-go-on";
  call.tell("initialized");
  for (let round = 0; round < rounds; round++) {
    const loaded = await readThreads(call);
    if (loaded === null) return "may-go-on";
    // Their owner is not known: another Codex may work in the same folder.
    if (thread === null) return loaded.some((each) => each.isActive && each.cwd === cwd) ? "may-go-on" : "none";
    const ours = loaded.filter(({ id, session }) => id === thread || session === thread);
    const active = ours.filter(({ isActive }) => isActive);
    if (active.length === 0) {
      for (const { id } of ours) await cleanUp(call, id);
      return round === 0 ? "none" : "interrupted";
    }
    for (const { id } of active) await breakOff(call, id);
  }
  return "may-go-on";
}

interface Thread {
  readonly id: string;
  /** The conversation that this one was begun from, or itself. */
  readonly session: unknown;
  readonly cwd: unknown;
  readonly isActive: boolean;
}

async function readThreads(call: Call): Promise<Thread[] | null> {
  const ids = fieldOf(await ask(call, "thread/loaded/list", {}), "data");
  if (!Array.isArray(ids) || ids.length > mostThreads) return null;
  const threads: Thread[] = [];
  for (const id of ids.filter((each) => typeof each === "string")) {
    // A thread that is gone by now has no turn.
    const thread = fieldOf(await ask(call, "thread/read", { threadId: id, includeTurns: false }), "thread");
    const isActive = fieldOf(fieldOf(thread, "status"), "type") === "active";
    threads.push({ id, session: fieldOf(thread, "sessionId"), cwd: fieldOf(thread, "cwd"), isActive });
  }
  return threads;
}

async function breakOff(call: Call, threadId: string): Promise<void> {
  const newest = { threadId, limit: 1, sortDirection: "desc", itemsView: "notLoaded" };
  const turns = fieldOf(await ask(call, "thread/turns/list", newest), "data");
  const turnId = fieldOf(Array.isArray(turns) ? turns[0] : null, "id");
  if (typeof turnId === "string")
    await within(answeredWithinMs, ask(call, "turn/interrupt", { threadId, turnId }), null);
}

/** Ends commands that outlive the turns that started them. */
async function cleanUp(call: Call, threadId: string): Promise<void> {
  await within(answeredWithinMs, ask(call, "thread/backgroundTerminals/clean", { threadId }), null);
}

/** `null`: the server refused. */
async function ask(call: Call, method: string, params: object): Promise<unknown> {
  const answer = await call.ask(method, params);
  if (typeof answer === "string") throw new Error(answer);
  return answer.kind === "error" ? null : answer.result;
}
