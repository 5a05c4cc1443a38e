import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { isSecret } from "../protocol/holder-files.ts";
import type { Connection } from "./recognise-caller.ts";

/** The answer to a hook, and what happens once it is written. */
export interface HookAnswer {
  readonly body: object;
  /** Called once: whether all of it was written. */
  readonly written?: (all: boolean) => void;
}

export interface HookEar {
  readonly url: string;
  /** What a hook has to show; new for each life. */
  readonly token: string;
  close(): void;
}

const nothingToSay: HookAnswer = { body: {} };
const longestBody = 1024 * 1024;

/** Called with the body of each hook; returns the answer. */
export type Hear = (body: string) => HookAnswer | Promise<HookAnswer>;

/** Whether hooks on a connection are accepted. Asked once for each connection. */
export type Admit = (connection: Connection) => boolean;

/**
 * Serves the hooks of one program on this machine. A tool call that is not withheld is answered at once and without a
 * decision: a hook that hangs or says no would stop the agent.
 */
export async function listenForHooks(hear: Hear, admit: Admit): Promise<HookEar> {
  const token = randomBytes(32).toString("hex");
  const admitted = new WeakMap<Socket, boolean>();
  // An import of node:http makes the newer Nodes load their `fetch` with it, which takes 10 MB in each holder.
  const { createServer } = process.getBuiltinModule("node:http");
  const server = createServer((request, response) => void attend(request, response));
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  server.unref();
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    token,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };

  async function attend(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const shown = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    const refusal = !isSecret(shown, token) ? 401 : isAdmitted(request.socket) ? null : 403;
    if (refusal !== null) {
      response.writeHead(refusal).end();
      return void request.resume();
    }
    const body = await readBody(request).catch(() => null);
    const answer = body === null ? nothingToSay : await hear(body);
    response.setHeader("content-type", "application/json");
    response.once("close", () => answer.written?.(response.writableFinished));
    response.end(JSON.stringify(answer.body));
  }

  function isAdmitted(socket: Socket): boolean {
    const known = admitted.get(socket);
    if (known !== undefined) return known;
    const { remoteAddress, remotePort: from, localPort: to } = socket;
    // A socket that is closed already has no ports.
    const isNear = remoteAddress === "127.0.0.1" && from !== undefined && to !== undefined;
    const may = isNear && admit({ from, to });
    admitted.set(socket, may);
    return may;
  }
}

/** `null` when the body is too long: the rest is read and thrown away. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= longestBody) chunks.push(chunk);
  }
  return size > longestBody ? null : Buffer.concat(chunks).toString("utf8");
}

interface Hook {
  readonly event: string;
  readonly isMain: boolean;
  readonly transcript: string | null;
  /** The transcript that a person cleared with this hook: the program has another one from now on. */
  readonly clears: string | null;
}

/** Reads only what is needed to answer a hook. Nothing in it is trusted. */
export function parseHook(body: string): Hook {
  try {
    const hook = JSON.parse(body) as Record<string, unknown> | null;
    const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
    const event = text(hook?.["hook_event_name"]) ?? "";
    const transcript = text(hook?.["transcript_path"]);
    const clears = event === "SessionEnd" && hook?.["reason"] === "clear" ? transcript : null;
    return { event, isMain: text(hook?.["agent_id"]) === null, transcript, clears };
  } catch {
    return { event: "", isMain: false, transcript: null, clears: null };
  }
}

/** Whether the tools of an agent are withheld from it. */
export interface Containment {
  /** The reason, in words for the agent's model; `null`: its tools are not withheld. */
  withheld(): string | null;
  /** Resolves when the tools are no longer withheld, and after `withinMs` in any case. */
  untilLetGo(withinMs: number): Promise<void>;
}

/** How long Claude Code is told to wait for an answer before it uses a tool: somewhat longer than any answer takes. */
export const toolHookSeconds = 30;
export const heldMs = 25_000;

/**
 * The answer to a hook that is called before a tool is used; `null`: nothing is withheld. In a terminal the person
 * there is asked. Elsewhere nobody could answer, and a model that is told no asks again at once and uses tokens as
 * before. So the call is held, goes on when the agent is let go meanwhile, and is denied only when the program would
 * not wait any longer.
 */
export function withholdTool(
  event: string,
  containment: Containment,
  inTerminal: boolean,
  waits = heldMs,
): HookAnswer | Promise<HookAnswer> | null {
  const reason = event === "PreToolUse" ? containment.withheld() : null;
  if (reason === null) return null;
  if (inTerminal) return decide("ask", reason);
  return containment.untilLetGo(waits).then(() => {
    const still = containment.withheld();
    return still === null ? { body: {} } : decide("deny", still);
  });
}

const decide = (permissionDecision: "ask" | "deny", permissionDecisionReason: string): HookAnswer => ({
  body: { hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision, permissionDecisionReason } },
});
