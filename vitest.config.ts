import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { processFolders } from "./scripts/where-tests-run.ts";

// Workspace packages are tested from their sources (the "source" export condition), never from a stale dist/.
const conditions = ["source", "module", "node", "development|production"];
const fromSource = {
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["source", "node"] } },
};

// A hang is a failure; a slow machine is not.
const patience = { testTimeout: 120_000, hookTimeout: 120_000 };
const processTests = processFolders.map((folder) => `${folder}**/*.test.ts`);
const workers = Math.max(2, availableParallelism());

export default defineConfig({
  test: {
    reporters: ["default"],
    passWithNoTests: false,
    projects: [
      {
        // They share one world of modules for each core: loading the sources anew for each file takes longer than all these tests.
        ...fromSource,
        test: {
          ...patience,
          name: "unit",
          pool: "threads",
          isolate: false,
          maxWorkers: workers,
          include: ["packages/**/src/**/*.test.ts", "scripts/**/*.test.ts", "tidy.test.ts"],
          exclude: processTests,
          sequence: { groupOrder: 0 },
        },
      },
      {
        // Child processes, threads, terminals and git: each file a process of its own.
        ...fromSource,
        test: {
          ...patience,
          name: "processes",
          pool: "forks",
          maxWorkers: workers,
          include: processTests,
          sequence: { groupOrder: 1 },
        },
      },
      {
        ...fromSource,
        test: {
          ...patience,
          name: "e2e",
          pool: "forks",
          maxWorkers: workers,
          include: ["e2e/**/*.test.ts"],
          sequence: { groupOrder: 2 },
        },
      },
      {
        ...fromSource,
        test: {
          ...patience,
          name: "sim",
          pool: "forks",
          include: ["sim/**/*.test.ts"],
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
