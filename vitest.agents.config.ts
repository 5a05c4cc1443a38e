import { defineConfig } from "vitest/config";

/** `npm run test:agents`: real programs, installed first, two side by side. */
export default defineConfig({
  resolve: { tsconfigPaths: true },
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
