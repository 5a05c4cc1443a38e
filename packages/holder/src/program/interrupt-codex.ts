import type { SharedTurn } from "@rouse/contract";
import { type Call, callServer, clientInfo, fieldOf, within } from "./call-codex.ts";
import type { CodexScreen } from "./find-codex-turn.ts";

/** For all of it: whoever stops an agent waits. */
const doneWithinMs = 8000;
/** Codex (0.166) never answers when the turn has ended by itself a moment before. */
const answeredWithinMs = 2000;
/** What was queued for a conversation begins once its turn is over. */
const rounds = 5;
const mostThreads = 200;
const mostFrames = 5000;

/**
 * Breaks off what a Codex that was stopped has in a server that others use: the turns of its conversation and of those it began from there, and what
 * they left running in the background. `null`: nobody listens there any more.
 */
export async function interruptCodex({ server, thread, cwd }: CodexScreen): Promise<SharedTurn | null> {
  const call = callServer(server, mostFrames);
  try {
    const ended = await within(doneWithinMs, interrupt(call, thread, cwd).catch(String));
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
    // Whose they are cannot be known: somebody else may work in the same folder.
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
    // One that is gone by now has no turn.
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
  if (typeof turnId === "string") await within(answeredWithinMs, ask(call, "turn/interrupt", { threadId, turnId }));
}

/** Commands that its turns started go on without them. */
async function cleanUp(call: Call, threadId: string): Promise<void> {
  await within(answeredWithinMs, ask(call, "thread/backgroundTerminals/clean", { threadId }));
}

/** `null`: it said no. */
async function ask(call: Call, method: string, params: object): Promise<unknown> {
  const answer = await call.ask(method, params);
  if (typeof answer === "string") throw new Error(answer);
  return answer.kind === "error" ? null : answer.result;
}
