import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { type Installed, installPrograms } from "./install-programs.ts";
import { cacheOf, type Mode, type ProgramName, pinned, programNames } from "./programs.ts";
import type { Scenario } from "./scenarios.ts";
import { showResults } from "./show-results.ts";

declare module "vitest" {
  export interface ProvidedContext {
    agents: {
      readonly scenario: Scenario | null;
      readonly mode: Mode | null;
      /** A folder: one file for each cell. */
      readonly results: string;
      readonly recordings: string | null;
      readonly installed: readonly Installed[];
    };
  }
}

/** Installs before the first cell, and shows the table after the last. What was asked for comes from scripts/test-agents.mjs. */
export default function setUp(project: TestProject): () => void {
  const { ROUSE_AGENTS_PROGRAM, ROUSE_AGENTS_SCENARIO, ROUSE_AGENTS_MODE, ROUSE_AGENTS_RECORD } = process.env;
  const asked = programNames.filter((name) => (ROUSE_AGENTS_PROGRAM ?? name) === name);
  const installed = installPrograms(cacheOf(process.env), asked);
  for (const program of installed) console.log(describeInstalled(program));
  const results = mkdtempSync(join(tmpdir(), "rouse-agents-"));
  const recordings = ROUSE_AGENTS_RECORD ?? null;
  project.provide("agents", {
    scenario: (ROUSE_AGENTS_SCENARIO as Scenario | undefined) ?? null,
    mode: (ROUSE_AGENTS_MODE as Mode | undefined) ?? null,
    results,
    recordings,
    installed,
  });
  return () =>
    showResults({ results, recordings, installed, writeDocs: process.env["ROUSE_AGENTS_WRITE_DOCS"] === "1" });
}

const describeInstalled = (program: Installed): string =>
  program.there
    ? `${pinned[program.name].title} ${program.version}`
    : `${titleOf(program.name)} IS NOT THERE AND ITS CELLS ARE SKIPPED: ${program.because}`;

const titleOf = (name: ProgramName): string => pinned[name].title.toUpperCase();
