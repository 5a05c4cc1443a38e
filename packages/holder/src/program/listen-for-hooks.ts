import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { isSecret } from "../protocol/holder-files.ts";
import type { Connection } from "./recognise-caller.ts";

/** What is answered to a hook, and what happens once that is written. */
export interface HookAnswer {
  readonly body: object;
  /** Told once: whether all of it was written. */
  readonly written?: (all: boolean) => void;
}

export interface HookEar {
  readonly url: string;
  /** What a hook has to show, made for this life. */
  readonly token: string;
  close(): void;
}

const nothingToSay: HookAnswer = { body: {} };
const longestBody = 1024 * 1024;

/** One hook was called; what it is answered, or will be. */
export type Hear = (body: string) => HookAnswer | Promise<HookAnswer>;

/** Whether whoever made a connection may be heard. Asked once for each. */
export type Admit = (connection: Connection) => boolean;

/**
 * Hears the hooks of one program on this machine. Whatever is not withheld is answered at once and with nothing that
 * decides anything: a hook that hangs or says no would stop the agent.
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
    // One that is closed already has no ports any more.
    const isNear = remoteAddress === "127.0.0.1" && from !== undefined && to !== undefined;
    const may = isNear && admit({ from, to });
    admitted.set(socket, may);
    return may;
  }
}

/** `null` when it is too long: the rest is taken and thrown away. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= longestBody) chunks.push(chunk);
  }
  return size > longestBody ? null : Buffer.concat(chunks).toString("utf8");
}

export interface Hook {
  readonly event: string;
  readonly isMain: boolean;
  readonly transcript: string | null;
  /** Where the conversation is kept that a person has put away with this: from now on it has another. */
  readonly clears: string | null;
}

/** Of a hook only what is needed to answer it; everything in it is somebody else's text. */
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

/** What Claude Code is told to wait for an answer before it uses a tool: somewhat longer than any answer takes. */
export const toolHookSeconds = 30;
export const heldMs = 25_000;

/**
 * The answer to a hook of a program that asks before it uses a tool; `null`: nothing is withheld. Where somebody sits
 * at its terminal they are asked. Elsewhere nobody could answer, and one that is told no asks its model again at once
 * and burns on as before: so the call is held, goes its way when the agent is let go meanwhile, and is told no only
 * when its program would not wait any longer.
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
