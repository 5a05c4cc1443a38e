import { describe, it } from "vitest";
import { scriptedRouse } from "../agent/scripted-rouse.test-support.ts";
import { watchClaudeAgent } from "./claude-agent.ts";

describe("a turn of Claude that no hook ends", () => {
  function begin() {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ beatEveryMs: 100 });
    const watched = watchClaudeAgent(agent);
    const fire = (name: keyof typeof watched.hooks, said: object = {}) => watched.hooks[name][0]?.hooks[0]?.(said);
    const opened = (kind: string) => rouse.until(() => rouse.beats().at(-1)?.open?.kind === kind);
    return { rouse, watched, fire, opened };
  }

  async function* tells(...messages: object[]) {
    yield* messages;
  }

  it("is over with its result, whether it was interrupted or allowed no more", async () => {
    const { rouse, watched, fire, opened } = begin();
    await fire("UserPromptSubmit");
    await opened("model");
    const result = { type: "result", subtype: "error_during_execution", modelUsage: {} };
    for await (const _ of watched.watch(tells(result))) {
      await rouse.until(() => rouse.beats().at(-1)?.status === "IDLE");
      // At work again, and nothing is left open of before.
      await fire("PreToolUse", { tool_use_id: "1", tool_name: "Bash", tool_input: {} });
      await opened("tool");
    }
  });

  it("is over with its messages: whoever breaks off the query is told of nothing more", async () => {
    const { rouse, watched, fire, opened } = begin();
    await fire("UserPromptSubmit");
    await opened("model");
    for await (const _ of watched.watch(tells({ type: "system" }, { type: "system" }))) break;
    await rouse.until(() => rouse.beats().at(-1)?.status === "IDLE");
  });

  it("leaves no request open when a prompt comes while Claude is at work", async () => {
    const { fire, opened } = begin();
    await fire("UserPromptSubmit");
    await fire("UserPromptSubmit");
    await fire("PreToolUse", { tool_use_id: "1", tool_name: "Bash", tool_input: {} });
    await opened("tool");
  });
});
