import { defineConfig } from "vitest/config";

const conditions = ["source", "module", "node", "development|production"];

/** `npm run test:agents`: real programs, installed first, two side by side. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["source", "node"] } },
  test: {
    name: "agents",
    include: ["e2e/agents/*.cells.ts"],
    globalSetup: ["e2e/agents/set-up.ts"],
    pool: "forks",
    maxWorkers: 2,
    reporters: ["verbose"],
    passWithNoTests: true,
    hookTimeout: 120_000,
  },
});
