import { describe, expect, it } from "vitest";
import { needsItsOwnProcess } from "./where-tests-run.ts";

const shared: Record<string, string> = {
  "packages/holder/src/start.test-support.ts": 'import { spawn } from "node:child_process";',
  "packages/holder/src/world.test-support.ts": 'import { start } from "./start.test-support.ts";',
  "packages/daemon/src/store/bundle-for-tests.ts": 'import { build } from "esbuild";',
  "packages/daemon/src/store/migrations.ts": 'import type { DatabaseSync } from "@rouse/holder/load-sqlite";',
  "packages/daemon/src/engine/start.ts": 'import { spawn } from "node:child_process";',
  "packages/daemon/src/engine/calm.ts": 'import { start } from "./start.ts";',
  "packages/daemon/src/engine/sample.test-support.ts": "export const sample = 1;",
};
const read = (path: string): string => shared[path] ?? expect.fail(`${path} is not read`);
const needs = (text: string) => needsItsOwnProcess({ path: "packages/daemon/src/engine/a.test.ts", text }, read);

describe("a test gets a process of its own", () => {
  it.each([
    'import { spawn } from "node:child_process";',
    'import { Worker } from "node:worker_threads";',
    'import { DatabaseSync } from "@rouse/holder/load-sqlite";',
    'import { migrations } from "../store/migrations.ts";',
    'import { spawn } from "@lydell/node-pty";',
    'import { startHolder } from "@rouse/holder/start-holder";',
    'import { world } from "../../../holder/src/world.test-support.ts";',
    'import { start } from "./start.ts";',
    'import { bundleStore } from "../store/bundle-for-tests.ts";',
  ])("when it may start one: %s", (text) => expect(needs(text)).toBe(true));

  it.each([
    "vi.setConfig({ testTimeout: 1 });",
    'vi.mock("./a.ts");',
    'vi.stubEnv("HOME", folder);',
    "fc.configureGlobal({ numRuns: 1 });",
    "process.chdir(folder);",
    'process.on("exit", end);',
    'process.env["HOME"] = folder;',
    "vi.useFakeTimers();",
  ])("when it leaves something behind: %s", (text) => expect(needs(text)).toBe(true));

  it.each([
    'import { calm } from "./calm.ts";',
    'import { sample } from "./sample.test-support.ts";',
    'const written = process.env.ROUSE_WRITE_DOCS === "1";',
    "afterEach(() => vi.useRealTimers());\nvi.useFakeTimers();",
    '// it does not vi.mock("./a.ts")',
  ])("and otherwise shares one: %s", (text) => expect(needs(text)).toBe(false));
});
