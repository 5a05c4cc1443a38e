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

  it("keeps system prompts wherever they stand", async () => {
    const messages = [say("system", "a"), say("developer", "b"), ...long(6), say("system", "later rule"), ...long(10)];
    const { messages: kept, left } = await compactContext(messages, { ...small, keepLast: 3 });
    expect(kept.slice(0, 3)).toEqual([say("system", "a"), say("developer", "b"), say("system", "later rule")]);
    expect(kept.slice(4)).toEqual(messages.slice(-3));
    expect(left).toBe(13);
  });

  it("refers to its task where nobody can summarise it, or only at length, and says why", async () => {
    const down = new Error("the model is down");
    const reference =
      "16 earlier messages of this conversation were left out to make room. What was done is recorded under task t.";
    for (const summarise of [
      () => Promise.reject(down),
      () => {
        throw down;
      },
      () => say("user", "x".repeat(10_000)),
      () => undefined as never,
    ]) {
      const messages = long(20);
      const { messages: kept, unsummarised } = await compactContext(messages, {
        ...small,
        keepLast: 4,
        task: "t",
        summarise,
      });
      expect(kept).toEqual([say("user", reference), ...messages.slice(-4)]);
      expect(unsummarised).toBeInstanceOf(Error);
    }
  });

  it("whose newest messages are too much by themselves is told to be over its context, and not made shorter forever", async () => {
    const messages = [...long(4), say("user", "x".repeat(4000))];
    const once = await compactContext(messages, { ...small, keepLast: 1 });
    expect(once.messages.at(-1)).toBe(messages.at(-1));
    expect(once.fill).toBeGreaterThan(1);
    expect((await compactContext(once.messages, { ...small, keepLast: 1 })).messages).toBe(once.messages);
  });

  it("is not cut by a counter that cannot count", async () => {
    for (const tokens of [Number.NaN, -1, undefined as never])
      await expect(compactContext(long(20), { ...small, countTokens: () => tokens })).rejects.toThrow(
        /countTokens returns/,
      );
  });

  it("refuses numbers that make no sense", async () => {
    await expect(compactContext([], { contextTokens: 0 })).rejects.toThrow(RangeError);
    await expect(compactContext([], { contextTokens: 1, keepLast: -1 })).rejects.toThrow(RangeError);
    await expect(compactContext([], { contextTokens: 1, keepLast: 1.5 })).rejects.toThrow(RangeError);
    for (const at of [0, 1.5, Number.NaN])
      await expect(compactContext([], { contextTokens: 1, at })).rejects.toThrow(RangeError);
  });
});

/** One call and its result, in each of the ways they are written. */
const pairs = {
  openai: (id: string) => [say("assistant", null, { tool_calls: [{ id }] }), say("tool", "ok", { tool_call_id: id })],
  anthropic: (id: string) => [
    say("assistant", [{ type: "tool_use", id, name: "grep", input: {} }]),
    say("user", [{ type: "tool_result", tool_use_id: id, content: "ok" }]),
  ],
  responses: (id: string) => [
    { type: "function_call", call_id: id, role: "" },
    { type: "function_call_output", call_id: id, role: "" },
  ],
  agents: (id: string) => [
    { type: "function_call", callId: id, role: "" },
    { type: "function_call_result", callId: id, role: "" },
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

  it("keeps to the call before it, where ids are used again, and several at once stay together", async () => {
    const [call, result] = pairs.openai("call_0") as [ChatMessage, ChatMessage];
    const both = say("assistant", null, { tool_calls: [{ id: "a" }, { id: "b" }] });
    const results = [say("tool", "1", { tool_call_id: "a" }), say("tool", "2", { tool_call_id: "b" })];
    const again = [...long(3), call, result, say("user", "more"), call, result];
    expect((await compactContext(again, { contextTokens: 10, keepLast: 4 })).messages.slice(1)).toEqual(again.slice(3));
    const parallel = [...long(3), both, ...results, say("user", "more")];
    expect((await compactContext(parallel, { contextTokens: 10, keepLast: 2 })).messages.slice(1)).toEqual(
      parallel.slice(3),
    );
  });

  it("keeps the reasoning it came of, without which the Responses API refuses it", async () => {
    const thought = { role: "assistant", type: "reasoning", id: "rs-1" };
    const call = { role: "assistant", type: "function_call", call_id: "c-1" };
    const result = { role: "tool", type: "function_call_output", call_id: "c-1" };
    const messages = [...long(20), thought, call, result];
    for (const keepLast of [1, 2])
      expect((await compactContext(messages, { ...small, keepLast })).messages.slice(1)).toEqual([
        thought,
        call,
        result,
      ]);
  });

  it("that is missing does not keep its result from staying", async () => {
    const messages = [...long(6), say("tool", "ok", { tool_call_id: "nobody's" })];
    expect((await compactContext(messages, { contextTokens: 10, keepLast: 1 })).messages.slice(1)).toEqual(
      messages.slice(-1),
    );
  });
});
