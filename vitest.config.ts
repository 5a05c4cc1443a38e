import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// Workspace packages are tested from their sources (the "source" export condition), never from a stale dist/.
const conditions = ["source", "module", "node", "development|production"];
const fromSource = {
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["source", "node"] } },
};

export default defineConfig({
  test: {
    pool: "forks",
    reporters: ["default"],
    passWithNoTests: false,
    projects: [
      {
        ...fromSource,
        test: {
          name: "unit",
          // Half of them wait for processes and disks: two at a time on two cores take less than one after the other.
          maxWorkers: Math.max(2, availableParallelism() - 1),
          // A hang is a failure; a slow machine is not.
          testTimeout: 60_000,
          hookTimeout: 60_000,
          include: ["packages/**/src/**/*.test.ts", "bench/**/*.test.ts", "scripts/**/*.test.ts", "tidy.test.ts"],
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Real processes, ports and files: one file at a time, and only after the unit tests have left the machine alone.
        ...fromSource,
        test: {
          name: "e2e",
          include: ["e2e/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Begun before all others, looked at after them: see sim/two-weeks.test-support.ts.
        ...fromSource,
        test: {
          name: "sim",
          include: ["sim/**/*.test.ts"],
          globalSetup: ["sim/two-weeks.test-support.ts"],
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
