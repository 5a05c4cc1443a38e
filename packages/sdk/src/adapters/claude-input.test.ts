import { describe, expect, it } from "vitest";
import { scriptedRouse } from "../agent/scripted-rouse.test-support.ts";
import { watchClaudeAgent } from "./claude-agent.ts";
import type { Prompt } from "./claude-input.ts";

// What the real query does is played in e2e/adapters; here is what it cannot be brought to do.

/** An idle session, and a nudge that comes when `nudge` is called. */
async function begin({ streaming = true, fails = false } = {}) {
  const rouse = scriptedRouse();
  const { agent } = rouse.agent();
  const watched = watchClaudeAgent(agent);
  const read = (): string[] => rouse.beats().flatMap(({ seen = [], seenBy }) => (seenBy === "agent" ? seen : []));
  const fire = (name: keyof typeof watched.hooks, said: object = {}) => watched.hooks[name][0]?.hooks[0]?.(said);
  const prompts: string[] = [];
  const query = new TransformStream<object, object>();
  const told = query.writable.getWriter();
  const session = Object.assign(query.readable as unknown as AsyncIterable<object>, {
    streamInput: async (input: AsyncIterable<Prompt>): Promise<void> => {
      if (fails) throw new Error("the input is closed");
      for await (const { message } of input) prompts.push(message.content);
    },
  });
  const messages = watched.watch(session, { streaming })[Symbol.asyncIterator]();
  const result = async (subtype = "success"): Promise<void> => {
    const next = messages.next();
    await told.write({ type: "result", subtype });
    await next;
  };
  await fire("UserPromptSubmit", { prompt: "mine" });
  await fire("Stop");
  await result();
  const heard: string[] = [];
  agent.onNudge(({ message }) => void heard.push(message));
  async function nudge(id: string): Promise<void> {
    rouse.script.commands = () => [{ id, kind: "nudge", because: "reminder", message: id }];
    await rouse.until(() => heard.includes(id));
    rouse.script.commands = () => [];
  }
  return { rouse, read, fire, prompts, result, nudge };
}

const context = (hookEventName: string, additionalContext: string) => ({
  hookSpecificOutput: { hookEventName, additionalContext },
});

describe("a nudge for an idle session of Claude", () => {
  it("is a prompt, and is seen when Claude has answered that prompt, not another", async () => {
    const { rouse, read, fire, prompts, result, nudge } = await begin();
    await nudge("n1");
    await rouse.until(() => prompts.length === 1);
    expect(await fire("UserPromptSubmit", { prompt: "mine again" })).toEqual({});
    await fire("Stop");
    await result();
    const known = rouse.beats().length;
    await rouse.until(() => rouse.beats().length > known + 1);
    expect(read()).toEqual([]);
    expect(await fire("UserPromptSubmit", { prompt: "n1" })).toEqual({});
    // One more prompt that Claude Code puts into the same request.
    expect(await fire("UserPromptSubmit", { prompt: "mine as well" })).toEqual({});
    expect(await fire("Stop")).toEqual({});
    await rouse.until(() => read().includes("n1"));
    expect(prompts).toEqual(["n1"]);
  });

  it("goes by the hooks while a turn runs", async () => {
    const { fire, prompts, nudge } = await begin();
    await fire("UserPromptSubmit", { prompt: "mine again" });
    await nudge("n1");
    expect(await fire("PostToolBatch", { tool_calls: [] })).toEqual(context("PostToolBatch", "n1"));
    expect(prompts).toEqual([]);
  });

  it.each([{ streaming: false }, { fails: true }])("goes by the hooks with %o", async (how) => {
    const { fire, prompts, nudge } = await begin(how);
    await nudge("n1");
    expect(await fire("UserPromptSubmit", { prompt: "mine again" })).toEqual(context("UserPromptSubmit", "n1"));
    expect(prompts).toEqual([]);
  });

  it("goes by the hooks when its own turn came to nothing, so that nobody is asked again and again", async () => {
    const { rouse, read, fire, prompts, result, nudge } = await begin();
    await nudge("n1");
    await rouse.until(() => prompts.length === 1);
    await fire("UserPromptSubmit", { prompt: "n1" });
    await fire("StopFailure", { error: "server_error" });
    await result();
    expect(await fire("UserPromptSubmit", { prompt: "mine again" })).toEqual(context("UserPromptSubmit", "n1"));
    await fire("Stop");
    await rouse.until(() => read().includes("n1"));
    expect(prompts).toEqual(["n1"]);
  });
});
