import { query } from "@anthropic-ai/claude-agent-sdk";
import { watchClaudeAgent } from "@rouse/sdk/claude-agent";
import * as story from "./story.mjs";

const watched = watchClaudeAgent(story.agent);
const options = {
  hooks: watched.hooks,
  model: "claude-sonnet-4-5",
  permissionMode: "bypassPermissions",
  allowDangerouslySkipPermissions: true,
  settingSources: [],
  env: { ...process.env, ANTHROPIC_BASE_URL: story.modelUrl, ANTHROPIC_API_KEY: "none", IS_SANDBOX: "1" },
};
const results = [];
let heard = () => undefined;
const hasEnded = new Promise((resolve) => {
  heard = resolve;
});

/** A person who says something, and something more when a nudge was answered meanwhile. */
async function* prompts() {
  const say = (content) => ({ type: "user", message: { role: "user", content }, parent_tool_use_id: null });
  yield say(story.prompt);
  await hasEnded;
  yield say("And tomorrow?");
}

const streaming = process.env.PROMPT === "stream";
const session = query({ prompt: streaming ? prompts() : story.prompt, options });
await story.tell(async () => {
  for await (const message of watched.watch(session, { streaming })) {
    if (message.type !== "result") continue;
    console.log(`session: ${watched.session() === message.session_id}`);
    if (message.is_error) throw new Error(message.result ?? message.subtype);
    results.push(message.result);
    console.log(`result: ${message.result}`);
    if (!streaming) break;
    if (results.length === 2) heard();
  }
  return results.join(" ");
});
