import { connect } from "node:net";
import WebSocket, { type RawData } from "ws";
import manifest from "../../package.json" with { type: "json" };

/** Connected, introduced, and told which threads there are. */
export const reachedWithinMs = 5000;
const closedWithinMs = 1000;
const longestFrame = 256 * 1024;

/** Codex adds the name to what it tells its provider about itself, from then on. */
export const clientInfo = { name: "rouse", title: "Rouse", version: manifest.version };

export type Answer = { readonly kind: "result"; readonly result: unknown } | { readonly kind: "error" };

/** One question at a time. A text instead of an answer says why none will come. */
export interface Call {
  ask(method: string, params: object): Promise<Answer | string>;
  tell(method: string): void;
  /** Somebody listened there. */
  reached(): boolean;
  close(): void;
}

/** `mostFrames`: it tells of things nobody asked about, a few. */
export function callServer(path: string, mostFrames: number): Call {
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
    reached: () => isReached,
    close() {
      socket.close();
      const patience = setTimeout(() => socket.terminate(), closedWithinMs);
      socket.once("close", () => clearTimeout(patience));
    },
  };
}

export function within<T>(ms: number, work: Promise<T>): Promise<T | string> {
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

export const fieldOf = (value: unknown, name: string): unknown => fieldsOf(value)?.[name];
