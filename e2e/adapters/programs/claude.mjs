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
await story.tell(async () => {
  for await (const message of watched.watch(query({ prompt: story.prompt, options }))) {
    if (message.type !== "result") continue;
    console.log(`session: ${watched.session() === message.session_id}`);
    if (message.is_error) throw new Error(message.result ?? message.subtype);
    return message.result;
  }
});
