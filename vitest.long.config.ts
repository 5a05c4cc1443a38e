import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

/** `npm run test:long`: what takes too long for each `npm test`. */
export default defineConfig({
  test: {
    name: "long",
    include: ["sim/long.test.ts"],
    pool: "forks",
    maxConcurrency: availableParallelism(),
    reporters: ["verbose"],
  },
});
