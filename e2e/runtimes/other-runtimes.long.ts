import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterEach, beforeAll, expect, it } from "vitest";
import { cleanUp } from "../clean-up.ts";
import { run } from "../published-packages.ts";
import { repository } from "../run-rouse.ts";
import { startDaemon } from "../start-daemon.ts";

// Part of `npm run test:long`, because it fetches about 200 MB from npm's registry, once.

const cache = process.env["ROUSE_RUNTIMES_CACHE"] ?? join(process.env["HOME"] ?? "/tmp", ".cache", "rouse-runtimes");
const modules = join(cache, "node_modules");
const packages = {
  [`@oven/bun-${process.platform}-${process.arch}`]: "1.4.4",
  [`@deno/${process.platform}-${process.arch}${process.platform === "linux" ? "-glibc" : ""}`]: "2.9.6",
  "edge-runtime": "4.0.1",
};
const [bun, deno] = Object.keys(packages).map((name) => join(modules, name));

const sdk = join(repository, "packages", "sdk", "dist", "index.js");
const example = join(import.meta.dirname, "runtime-agent.mjs");

/** Runs the agent with its settings as the last argument. */
const program = (ofSettings: string): string =>
  [
    `import * as sdk from ${JSON.stringify(pathToFileURL(sdk).href)};`,
    `import { runAgent } from ${JSON.stringify(pathToFileURL(example).href)};`,
    `console.log(JSON.stringify(await runAgent(sdk, JSON.parse(${ofSettings}))));`,
  ].join("\n");

/** Where there is neither a process nor a file: only what browsers have, too. */
const atTheEdge = `
import { readFileSync } from "node:fs";
import { EdgeRuntime } from ${JSON.stringify(pathToFileURL(join(modules, "edge-runtime", "dist", "index.js")).href)};
const edge = new EdgeRuntime();
edge.evaluate(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(await edge.evaluate("agents.runAgent(agents, " + process.argv[3] + ")")));
// Its time-outs would keep this process for ten seconds; at the edge there is none to keep.
process.exit();
`;

beforeAll(async () => {
  await run(process.execPath, [
    "--input-type=module",
    "--eval",
    'import { ensureBuilt } from "./scripts/ensure-built.mjs"; await ensureBuilt();',
  ]);
  mkdirSync(cache, { recursive: true });
  if (Object.keys(packages).some((name) => !existsSync(join(modules, name)))) {
    writeFileSync(join(cache, "package.json"), '{"private":true}\n');
    const wanted = Object.entries(packages).map(([name, version]) => `${name}@${version}`);
    const words = ["install", "--no-save", "--no-audit", "--no-fund", ...wanted];
    const { status, stderr } = spawnSync("npm", words, { cwd: cache, encoding: "utf8" });
    expect(status, stderr).toBe(0);
  }
  writeFileSync(join(cache, "program.mjs"), program("process.argv.at(-1)"));
  writeFileSync(join(cache, "at-the-edge.mjs"), atTheEdge);
  const both = `export * from ${JSON.stringify(sdk)}; export { runAgent } from ${JSON.stringify(example)};`;
  await build({
    stdin: { contents: both, resolveDir: repository },
    outfile: join(cache, "agents.js"),
    bundle: true,
    format: "iife",
    logLevel: "silent",
    globalName: "agents",
    platform: "neutral",
    // As whoever builds for an edge does: what only Node has is left out.
    external: ["node:*"],
    target: "es2022",
  });
});
afterEach(cleanUp);

it.each([
  ["Bun", [join(bun ?? "", "bin", "bun"), join(cache, "program.mjs")]],
  ["Deno", [join(deno ?? "", "deno"), "run", "--allow-net", "--allow-env", join(cache, "program.mjs")]],
  ["an edge runtime", [process.execPath, join(cache, "at-the-edge.mjs"), join(cache, "agents.js")]],
])("an agent on %s beats, calls, saves and finishes as on Node", async (_, [command = "", ...words]) => {
  const daemon = await startDaemon();
  const settings = JSON.stringify({ id: "a", url: daemon.url, token: daemon.token });
  const { stdout } = await promisify(execFile)(command, [...words, settings], {
    env: { PATH: process.env["PATH"], HOME: cache },
    timeout: 60_000,
  });
  const said = JSON.parse(stdout) as unknown;
  expect(said).toEqual({
    refused: [false, false, false, false, false, true],
    state: { n: 42 },
    warnings: [],
  });
  expect(await daemon.rouse.getAgentHealth("a")).toMatchObject({ taskId: "task-a", over: { how: "finished" } });
  expect((await daemon.rouse.checkpoints("task-a")).map(({ stepName }) => stepName)).toEqual(["double", "count", ""]);
  const { steps } = await daemon.rouse.steps("a");
  expect(steps.filter(({ kind }) => kind === "tool_result")).toHaveLength(6);
  expect(await daemon.rouse.getCircuitBreakerStatus("a/tool_execution/broken")).toMatchObject({ state: "OPEN" });
});
