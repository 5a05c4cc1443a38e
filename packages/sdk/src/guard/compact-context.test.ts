import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ChatMessage, compactContext, linksOf } from "./compact-context.ts";

const say = (role: string, content: unknown, more: object = {}): ChatMessage => ({ role, content, ...more });
const long = (n: number) =>
  Array.from({ length: n }, (_, i) => say(i % 2 === 0 ? "user" : "assistant", `message ${i} ${"x".repeat(80)}`));
const small = { contextTokens: 100 };

describe("a conversation", () => {
  it("that fits is left as it is, with how full it is", async () => {
    const messages = long(2);
    const { messages: kept, left, fill, tokens } = await compactContext(messages, { contextTokens: 1000 });
    expect(kept).toBe(messages);
    expect([left, fill]).toEqual([0, tokens / 1000]);
  });

  it("keeps its system prompt and its newest messages, and says what became of the rest", async () => {
    const messages = [say("system", "You are careful."), ...long(20)];
    const { messages: kept, left } = await compactContext(messages, { ...small, keepLast: 4, task: "t-7" });
    expect(kept[0]).toBe(messages[0]);
    expect(kept[1]).toEqual({
      role: "user",
      content:
        "16 earlier messages of this conversation were left out to make room. What was done is recorded under task t-7.",
    });
    expect(kept.slice(2)).toEqual(messages.slice(-4));
    expect(left).toBe(16);
  });

  it("without a system prompt loses nothing at its head that the summary does not stand for", async () => {
    const messages = long(20);
    const seen: ChatMessage[] = [];
    const summarise = (left: readonly ChatMessage[]) => {
      seen.push(...left);
      return say("user", "summary");
    };
    const { messages: kept } = await compactContext(messages, { ...small, keepLast: 4, summarise });
    expect(seen).toEqual(messages.slice(0, 16));
    expect(kept).toEqual([say("user", "summary"), ...messages.slice(-4)]);
  });

  it("that is all head and tail is left as it is", async () => {
    const messages = [say("system", "s".repeat(1000)), ...long(4)];
    expect((await compactContext(messages, { ...small, keepLast: 4 })).messages).toBe(messages);
  });

  it("refuses numbers that make no sense", async () => {
    await expect(compactContext([], { contextTokens: 0 })).rejects.toThrow(RangeError);
    await expect(compactContext([], { contextTokens: 1, keepLast: -1 })).rejects.toThrow(RangeError);
  });
});

/** One call and its result, in each of the ways they are written. */
const pairs = {
  openai: (id: string) => [say("assistant", null, { tool_calls: [{ id }] }), say("tool", "ok", { tool_call_id: id })],
  anthropic: (id: string) => [
    say("assistant", [{ type: "tool_use", id, name: "grep", input: {} }]),
    say("user", [{ type: "tool_result", tool_use_id: id, content: "ok" }]),
  ],
  aiSdk: (id: string) => [
    say("assistant", [{ type: "tool-call", toolCallId: id }]),
    say("tool", [{ type: "tool-result", toolCallId: id }]),
  ],
};

describe("a tool call", () => {
  it.each(Object.keys(pairs) as (keyof typeof pairs)[])(
    "of %s is never parted from its result, wherever the cut would be",
    async (kind) => {
      const story = fc.array(fc.oneof(fc.constant("say" as const), fc.integer({ min: 0, max: 3 })), {
        minLength: 5,
        maxLength: 30,
      });
      await fc.assert(
        fc.asyncProperty(story, fc.nat(12), async (steps, keepLast) => {
          // A number is a call whose result comes so many messages later.
          const messages: ChatMessage[] = [];
          const due: { at: number; message: ChatMessage }[] = [];
          for (const [n, step] of steps.entries()) {
            for (const { message } of due.filter(({ at }) => at <= n)) messages.push(message);
            due.splice(0, due.length, ...due.filter(({ at }) => at > n));
            const [call, result] = pairs[kind](`call-${n}`) as [ChatMessage, ChatMessage];
            if (step === "say") messages.push(say("assistant", "x".repeat(100)));
            else {
              messages.push(call);
              due.push({ at: n + 1 + step, message: result });
            }
          }
          const { messages: kept } = await compactContext(messages, { contextTokens: 10, keepLast });
          const calls = new Set(kept.flatMap((message) => linksOf(message).calls));
          expect(kept.flatMap((message) => linksOf(message).results).filter((id) => !calls.has(id))).toEqual([]);
        }),
      );
    },
  );
});
