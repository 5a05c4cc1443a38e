import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import { WebSocketServer } from "ws";

export const thread = "01a1e667-6578-79e3-ab27-000000000001";
export const turn = "01a1e667-7000-79e3-ab27-000000000002";

export interface SteerRequest {
  readonly threadId: string;
  readonly expectedTurnId: string;
  readonly clientUserMessageId: string;
  readonly input: readonly { readonly type: string; readonly text: string }[];
}

/** What of it is not as it should be: `null` stays silent, a text is sent as it is. */
export interface Manners {
  initialize?: null | string;
  loaded?: readonly string[];
  /** The turn that runs. */
  active?: string;
  steer?: null | string | Buffer;
  /** Before it answers the first question. */
  hesitates?: Promise<unknown>;
  /** Told with each answer, without being asked for. */
  notes?: number;
  /** Words came in for the turn that runs. */
  steered?(request: SteerRequest): void;
  /**
   * The loaded threads in detail, the one above in the middle of its turn when not given. Changed as turns are broken
   * off.
   */
  threads?: LoadedThread[];
  /** What it does with a turn that is to be broken off; as it should when not given. */
  interrupt?: "silent" | "refuses" | "goes-on" | "hangs-up";
}

export interface LoadedThread {
  readonly id: string;
  readonly sessionId: string;
  readonly cwd: string;
  /** The turns it has under way and queued. */
  readonly turns: string[];
}

export interface CodexServer {
  readonly steered: readonly SteerRequest[];
  readonly methods: readonly string[];
  readonly interrupted: readonly string[];
  /** Conversations whose commands in the background were ended. */
  readonly cleaned: readonly string[];
  /** Connections so far, and those that are open. */
  connections(): { readonly all: number; readonly open: number };
  stop(): Promise<void>;
}

/** A folder for each test of a file, and a server in it that is stopped after the test. */
export function codexServerOfEach() {
  let folder: string;
  let server: CodexServer | null;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rouse-codex-"));
    server = null;
  });
  afterEach(async () => {
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const at = (name = "s") => join(folder, name);
  return {
    at,
    server: () => server,
    async start(manners: Manners = {}): Promise<CodexServer> {
      server = await startCodexServer(at(), manners);
      return server;
    },
  };
}

/** Where Codex's screen finds its server, which listens elsewhere. */
export function linkSocket(codexHome: string, socket: string): string {
  const link = join(codexHome, "app-server-control", "app-server-control.sock");
  mkdirSync(dirname(link), { recursive: true, mode: 0o700 });
  symlinkSync(socket, link);
  return link;
}

/**
 * Codex's `app-server` at its shortest: what `turn/steer` and `turn/interrupt` need, over a WebSocket on a socket in
 * the file system.
 */
export async function startCodexServer(socket: string, manners: Manners = {}): Promise<CodexServer> {
  const { active = turn, notes = 1 } = manners;
  const { threads = [{ id: thread, sessionId: thread, cwd: "/work", turns: [active] }] } = manners;
  const { loaded = threads.map(({ id }) => id) } = manners;
  const interrupted: string[] = [];
  const cleaned: string[] = [];
  const steered: SteerRequest[] = [];
  const methods: string[] = [];
  let all = 0;
  const http = createServer();
  const server = new WebSocketServer({ server: http });
  server.on("connection", (client) => {
    all += 1;
    client.on("error", () => {});
    client.on("message", async (data) => {
      const { id, method, params } = JSON.parse(String(data)) as { id?: number; method: string; params: SteerRequest };
      methods.push(method);
      if (method === "turn/interrupt" && manners.interrupt === "hangs-up") return client.terminate();
      if (id === undefined) return;
      for (let note = 0; note < notes; note++) client.send(JSON.stringify({ method: "configWarning", params: {} }));
      const answer = answerTo(method, params);
      if (method === "initialize") await manners.hesitates;
      if (answer === null) return;
      if (typeof answer === "string" || Buffer.isBuffer(answer)) return client.send(answer);
      client.send(JSON.stringify({ id, ...answer }));
    });
  });

  function answerTo(method: string, params: SteerRequest): object | string | Buffer | null {
    switch (method) {
      case "initialize":
        return manners.initialize === undefined ? { result: { userAgent: "codex" } } : manners.initialize;
      case "thread/loaded/list":
        return { result: { data: loaded, nextCursor: null } };
      case "turn/steer": {
        steered.push(params);
        if (manners.steer !== undefined) return manners.steer;
        if (params.expectedTurnId !== active) return { error: { code: -32600, message: "expected active turn id" } };
        manners.steered?.(params);
        return { result: { turnId: active } };
      }
      case "thread/read": {
        const read = threads.find(({ id }) => id === params.threadId);
        if (read === undefined) return { error: { code: -32600, message: "thread not found" } };
        const { id, sessionId, cwd, turns } = read;
        const status = turns.length > 0 ? { type: "active", activeFlags: [] } : { type: "idle" };
        return { result: { thread: { id, sessionId, cwd, status } } };
      }
      case "thread/turns/list": {
        const [running] = threads.find(({ id }) => id === params.threadId)?.turns ?? [];
        return { result: { data: running === undefined ? [] : [{ id: running, status: "inProgress" }] } };
      }
      case "turn/interrupt":
        return breakOff(params as unknown as { threadId: string; turnId: string });
      case "thread/backgroundTerminals/clean":
        cleaned.push(params.threadId);
        return { result: {} };
      default:
        return { error: { code: -32601, message: "no such method" } };
    }
  }

  function breakOff({ threadId, turnId }: { threadId: string; turnId: string }): object | null {
    interrupted.push(turnId);
    if (manners.interrupt === "silent") return null;
    if (manners.interrupt === "refuses") return { error: { code: -32600, message: "expected active turn id" } };
    const turns = threads.find(({ id }) => id === threadId)?.turns;
    if (manners.interrupt === undefined) turns?.shift();
    return { result: {} };
  }

  http.listen(socket);
  await once(http, "listening");
  return {
    steered,
    methods,
    interrupted,
    cleaned,
    connections: () => ({ all, open: server.clients.size }),
    async stop() {
      for (const client of server.clients) client.terminate();
      server.close();
      http.close();
      if (http.listening) await once(http, "close");
    },
  };
}
