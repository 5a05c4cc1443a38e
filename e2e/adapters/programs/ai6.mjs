import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { watchAiSdk } from "@rouse/sdk/ai";
import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from "ai";
import { z } from "zod";
import * as story from "./story.mjs";

const { middleware, tools } = watchAiSdk(story.agent);
const local = createOpenAICompatible({ name: "local", baseURL: `${story.modelUrl}/v1`, includeUsage: true });

const inputSchema = z.object({ about: z.string() });
const run = {
  model: wrapLanguageModel({ model: local("scripted"), middleware }),
  tools: tools({
    note: tool({ inputSchema, execute: story.note }),
    lookup: tool({ inputSchema, execute: story.lookup }),
  }),
  prompt: story.prompt,
  stopWhen: stepCountIs(20),
};
await story.tell(async () => {
  const { text } = process.env.STREAMED === "yes" ? streamText(run) : await generateText(run);
  return text;
});
