import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { endRun } from "./end-run.ts";
import { type Installed, installPrograms } from "./install-programs.ts";
import { cacheOf, type Mode, modes, type ProgramName, pinned, programNames } from "./programs.ts";
import { type Scenario, scenarioNames } from "./scenarios.ts";
import { showResults } from "./show-results.ts";

declare module "vitest" {
  export interface ProvidedContext {
    agents: {
      readonly scenario: Scenario | null;
      readonly mode: Mode | null;
      /** A folder: one file for each cell. */
      readonly results: string;
      /** A folder: one for each cell that is being played. */
      readonly runs: string;
      readonly recordings: string | null;
      readonly installed: readonly Installed[];
    };
  }
}

/**
 * Installs before the first cell, and shows the table after the last. What was asked for comes from
 * scripts/test-agents.mjs.
 */
export default function setUp(project: TestProject): () => void {
  const { ROUSE_AGENTS_PROGRAM, ROUSE_AGENTS_SCENARIO, ROUSE_AGENTS_MODE, ROUSE_AGENTS_RECORD } = process.env;
  const asked = programNames.filter((name) => name === oneOf("program", programNames, ROUSE_AGENTS_PROGRAM, name));
  const installed = installPrograms(cacheOf(process.env), asked);
  for (const program of installed) console.log(describeInstalled(program));
  // Not below the folder for temporary files, where Codex says at its start that it does not like to live.
  mkdirSync(join(cacheOf(process.env), "runs"), { recursive: true });
  const runs = mkdtempSync(join(cacheOf(process.env), "runs", "t-"));
  const results = mkdtempSync(join(tmpdir(), "rouse-agents-"));
  const recordings = ROUSE_AGENTS_RECORD ?? null;
  project.provide("agents", {
    scenario: oneOf("scenario", scenarioNames, ROUSE_AGENTS_SCENARIO, null),
    mode: oneOf("mode", modes, ROUSE_AGENTS_MODE, null),
    results,
    runs,
    recordings,
    installed,
  });
  // Whoever is interrupted gets to no clean-up of its own.
  process.once("exit", () => endRun(runs));
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.once(signal, () => process.exit(1));
  return () => {
    showResults({ results, recordings, installed, writeDocs: process.env["ROUSE_AGENTS_WRITE_DOCS"] === "1" });
  };
}

/** A name that is not there would play nothing and look like success. */
function oneOf<T extends string, Else>(
  what: string,
  names: readonly T[],
  asked: string | undefined,
  otherwise: Else,
): T | Else {
  if (asked === undefined) return otherwise;
  const found = names.find((name) => name === asked);
  if (found === undefined) throw new Error(`there is no ${what} "${asked}"; there are ${names.join(", ")}`);
  return found;
}

const describeInstalled = (program: Installed): string =>
  program.there
    ? `${pinned[program.name].title} ${program.version}`
    : `${titleOf(program.name)} IS NOT THERE AND ITS CELLS ARE SKIPPED: ${program.because}`;

const titleOf = (name: ProgramName): string => pinned[name].title.toUpperCase();
