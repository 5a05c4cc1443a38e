import type { NudgeRefusal } from "@rouse/contract";
import { type Call, callServer, clientInfo, fieldOf, reachedWithinMs, within } from "./call-codex.ts";
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

const answeredWithinMs = 10_000;
const mostFrames = 100;

/** One connection for one message. `begin` is asked right before the words go out; a reason holds them back. */
export async function steerCodex(
  { server, thread, turn }: CodexTurn,
  { id, text }: SteeringWords,
  begin: () => NudgeRefusal | null,
): Promise<Steered> {
  const call = callServer(server, mostFrames);
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
