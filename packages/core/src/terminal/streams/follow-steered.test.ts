import { describe, expect, it } from "vitest";
import { followSteered, type SteeredWords } from "./follow-words.ts";

const line = (type: string, payload: object): string => JSON.stringify({ type, payload });
const item = (type: string, client_id: string) =>
  line("event_msg", { type: "item_completed", item: { type, client_id } });
const response = (payload: object) => line("response_item", payload);
const taken = item("UserMessage", "a/1/nudge/1");
const call = response({ type: "function_call", call_id: "c1" });

/** After how many lines the model has answered with our words; `null`: never. */
function readAfter(...lines: string[]): number | null {
  let words: SteeredWords = { id: "a/1/nudge/1", taken: false };
  for (const [at, each] of lines.entries()) {
    const next = followSteered(words, each);
    if (next === null) return at + 1;
    words = next;
  }
  return null;
}

describe("words put into a turn of Codex", () => {
  it("are read by its model with the first answer after its conversation has them", () => {
    expect(readAfter(call, taken, response({ type: "message", role: "user" }), call)).toBe(4);
    expect(readAfter(taken, response({ type: "reasoning" }))).toBe(2);
    expect(readAfter(taken, response({ type: "message", role: "assistant" }))).toBe(2);
  });

  it("are not read while they wait, nor when the request with them had no answer", () => {
    expect(readAfter(call, call)).toBeNull();
    const failed = line("event_msg", { type: "task_complete", error: { message: "429" } });
    expect(readAfter(taken, response({ type: "function_call_output" }), failed)).toBeNull();
    expect(readAfter(taken, response({ type: "message", role: "developer" }))).toBeNull();
  });

  it("are nobody else's: neither a person's message counts, nor something else of that name, nor what cannot be read", () => {
    expect(readAfter(item("UserMessage", "another"), call)).toBeNull();
    expect(readAfter(item("AgentMessage", "a/1/nudge/1"), call)).toBeNull();
    expect(readAfter("no json", line("event_msg", { type: "item_completed" }), "{}", call)).toBeNull();
  });
});
