import { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } from "@openai/agents";
import { watchOpenAIAgents } from "@rouse/sdk/openai-agents";
import { z } from "zod";
import * as story from "./story.mjs";

setTracingDisabled(true);
const watched = watchOpenAIAgents(story.agent);
const parameters = z.object({ about: z.string() });
const agent = new Agent({
  name: "writer",
  model: "scripted",
  tools: [
    tool({ name: "note", description: "notes it", parameters, execute: story.note }),
    tool({ name: "lookup", description: "looks up", parameters, execute: watched.tool("lookup", story.lookup) }),
  ],
});
const modelProvider = new OpenAIProvider({ apiKey: "none", baseURL: `${story.modelUrl}/v1`, useResponses: false });
const runner = watched.watch(new Runner({ modelProvider }));
await story.tell(async () => {
  if (process.env.STREAMED !== "yes") return (await runner.run(agent, story.prompt, { maxTurns: 30 })).finalOutput;
  const result = await runner.run(agent, story.prompt, { maxTurns: 30, stream: true });
  await result.completed;
  return result.finalOutput;
});
