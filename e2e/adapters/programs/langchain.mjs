import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { watchLangChain } from "@rouse/sdk/langchain";
import { createAgent, createMiddleware, ToolMessage, tool } from "langchain";
import { z } from "zod";
import * as story from "./story.mjs";

const watched = watchLangChain(story.agent, { ToolMessage });
const schema = z.object({ about: z.string() });
const agent = createAgent({
  model: new ChatOpenAI({
    model: "scripted",
    apiKey: "none",
    maxRetries: 0,
    configuration: { baseURL: `${story.modelUrl}/v1` },
  }),
  tools: [
    tool(story.note, { name: "note", description: "notes it", schema }),
    tool(story.lookup, { name: "lookup", description: "looks it up", schema }),
  ],
  middleware: [createMiddleware(watched.middleware)],
  checkpointer: watched.checkpointer(new MemorySaver()),
});
await story.tell(async () => {
  const thread = { configurable: { thread_id: "the-thread" }, recursionLimit: 100 };
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: story.prompt }] }, thread);
  return messages.at(-1).content;
});
