import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { watchAiSdk } from "@rouse/sdk/ai";
import {
  experimental_createSteering as createSteering,
  generateText,
  isStepCount,
  registerTelemetry,
  streamText,
  tool,
} from "ai";
import { z } from "zod";
import * as story from "./story.mjs";

const watched = watchAiSdk(story.agent);
registerTelemetry(watched.telemetry);

const inputSchema = z.object({ about: z.string() });
const run = {
  model: createOpenAICompatible({ name: "local", baseURL: `${story.modelUrl}/v1`, includeUsage: true })("scripted"),
  tools: {
    note: tool({ inputSchema, execute: story.note }),
    lookup: tool({ inputSchema, execute: story.lookup }),
  },
  prompt: story.prompt,
  stopWhen: isStepCount(20),
  experimental_steering: watched.steer(createSteering()),
};
await story.tell(async () => {
  const { text } = process.env.STREAMED === "yes" ? streamText(run) : await generateText(run);
  return text;
});
