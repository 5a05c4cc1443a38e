import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { TestProject } from "vitest/node";
import { bundleSimulator, type Printed, simulateApart } from "./sim-run.test-support.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder where the weeks are put when they are over. */
    readonly weeks: string;
  }
}

const week = { agents: 300, held: 150, hours: 168, preset: "default" } as const;
const seeds = [2, 3];

const fileOf = (folder: string, seed: number): string => join(folder, `week-${seed}.json`);

/**
 * Two weeks keep two cores busy for minutes, and the other tests wait for processes more than they compute: so the weeks begin before all of them,
 * run beside them at the lowest priority, and are looked at after the last.
 */
export default async function beginWeeks(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), "rouse-weeks-"));
  const over = new AbortController();
  await bundleSimulator();
  for (const seed of seeds) {
    simulateApart({ ...week, seed }, over.signal).then(
      (printed) => put(folder, seed, { printed }),
      (error) => put(folder, seed, { failed: String(error) }),
    );
  }
  project.provide("weeks", folder);
  return () => {
    over.abort();
    rmSync(folder, { recursive: true, force: true });
  };
}

type Outcome = { readonly printed: Printed } | { readonly failed: string };

function put(folder: string, seed: number, outcome: Outcome): void {
  if (!existsSync(folder)) return; // the tests were ended before it was
  const file = fileOf(folder, seed);
  writeFileSync(`${file}.part`, JSON.stringify(outcome));
  renameSync(`${file}.part`, file);
}

export const awaitWeeks = (folder: string): Promise<Printed[]> =>
  Promise.all(
    seeds.map(async (seed) => {
      while (!existsSync(fileOf(folder, seed))) await pause(200);
      const outcome = JSON.parse(readFileSync(fileOf(folder, seed), "utf8")) as Outcome;
      if ("failed" in outcome) throw new Error(`the week of seed ${seed} came to no end: ${outcome.failed}`);
      return outcome.printed;
    }),
  );
