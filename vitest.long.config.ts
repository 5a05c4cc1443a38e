import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** `npm run test:long`: what takes too long for each `npm test`, or needs what has to be fetched first. */
export default defineConfig({
  resolve: { tsconfigPaths: true },
  test: {
    name: "long",
    include: ["sim/long.test.ts", "e2e/**/*.long.ts"],
    pool: "forks",
    maxConcurrency: availableParallelism(),
    reporters: ["verbose"],
    // The simulator's have their own.
    testTimeout: 600_000,
    hookTimeout: 120_000,
  },
});
