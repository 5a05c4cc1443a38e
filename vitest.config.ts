import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { testsBesideTheCode } from "./scripts/where-tests-run.ts";

// Workspace packages are tested from their sources (`paths` in tsconfig.base.json), never from a stale dist/.
const fromSource = { resolve: { tsconfigPaths: true } };

// A hang is a failure; a slow machine is not.
const patience = { testTimeout: 120_000, hookTimeout: 120_000 };
const { sharing, alone } = testsBesideTheCode(import.meta.dirname);
const cores = Math.max(2, availableParallelism());

/** They wait for processes and disks more than they compute: four at a time keep two cores busy. They begin when the unit tests have left the machine alone. */
const waiting = { pool: "forks", maxWorkers: cores + 2, sequence: { groupOrder: 1 } } as const;

/** Those that take longest begin first, so that nobody waits for a last one. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project }: TestSpecification) => ["unit", "sim", "e2e", "processes"].indexOf(project.name);
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

export default defineConfig({
  test: {
    reporters: ["default"],
    passWithNoTests: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        ...fromSource,
        test: {
          ...patience,
          name: "unit",
          pool: "threads",
          isolate: false,
          maxWorkers: cores,
          include: sharing,
          sequence: { groupOrder: 0 },
        },
      },
      {
        ...fromSource,
        test: { ...patience, ...waiting, name: "processes", include: alone },
      },
      {
        // The real daemon with homes and ports of its own for each file.
        ...fromSource,
        test: {
          ...patience,
          ...waiting,
          name: "e2e",
          include: ["e2e/**/*.test.ts"],
        },
      },
      {
        // One world after the other keeps one core busy while the others wait.
        ...fromSource,
        test: { ...waiting, name: "sim", include: ["sim/**/*.test.ts"], exclude: ["sim/long.test.ts"] },
      },
    ],
  },
});
