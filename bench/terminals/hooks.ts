import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Line, line, median, percentile } from "../report.ts";
import { makeDataFolder, removeDataFolder, startDaemon, startEcho } from "../start-servers.ts";
import type { BenchOptions } from "../throughput.ts";
import { startAgent } from "./start-agents.ts";

const calls = 1000;
const rounds = 3;
const longestWait = 120_000;

/** Calls its hooks as Claude Code does around a tool that printed 4 KB, and in turn a server that does nothing. */
const script = `#!${process.execPath}
const fs = require("node:fs");
const at = process.argv.indexOf("--plugin-dir");
const hook = JSON.parse(fs.readFileSync(process.argv[at + 1] + "/hooks/hooks.json", "utf8")).hooks.PostToolBatch[0].hooks[0];
const authorization = hook.headers.Authorization.replace("$ROUSE_HOOK_TOKEN", process.env.ROUSE_HOOK_TOKEN);
async function measure(url) {
  const took = [];
  for (let n = 0; n < ${calls}; n++) {
    const tool = { tool_use_id: "t" + n, tool_name: "Bash", tool_input: { command: "make " + n }, tool_response: "x".repeat(4000) };
    const body = JSON.stringify({ session_id: "s", hook_event_name: "PostToolBatch", tool_calls: [tool] });
    const from = performance.now();
    const answer = await fetch(url, { method: "POST", headers: { authorization }, body });
    await answer.text();
    took.push(performance.now() - from);
    if (!answer.ok) throw new Error("answered with " + answer.status);
  }
  return took;
}
(async () => {
  const results = [];
  for (let n = 0; n < ${rounds}; n++) results.push({ ours: await measure(hook.url), bare: await measure(process.env.BARE_URL) });
  fs.writeFileSync(__dirname + "/results.part", JSON.stringify(results));
  fs.renameSync(__dirname + "/results.part", __dirname + "/results");
})();
`;

interface Round {
  readonly ours: readonly number[];
  readonly bare: readonly number[];
}

/** What a hook costs a tool call, with a daemon that hears of it and without one. */
export async function benchHooks({ say }: BenchOptions): Promise<Line[]> {
  const home = makeDataFolder();
  const echo = await startEcho();
  const daemon = await startDaemon(home);
  try {
    const heard = await callHooks(home, "heard", echo.port);
    say(`with a daemon: p99 ${median(heard.map(({ ours }) => percentile(ours, 0.99))).toFixed(2)} ms`);
    await daemon.kill();
    const alone = await callHooks(home, "alone", echo.port);
    say(`the daemon killed: p99 ${median(alone.map(({ ours }) => percentile(ours, 0.99))).toFixed(2)} ms`);
    return [...linesOf("a hook", heard), ...linesOf("a hook, the daemon killed", alone)];
  } finally {
    await daemon.kill();
    await echo.stop();
    removeDataFolder(home);
  }
}

async function callHooks(home: string, agentId: string, barePort: number): Promise<readonly Round[]> {
  const folder = join(home, "programs", agentId);
  mkdirSync(folder, { recursive: true });
  const program = join(folder, "claude");
  writeFileSync(program, script);
  chmodSync(program, 0o755);
  process.env["BARE_URL"] = `http://127.0.0.1:${barePort}/`;
  await startAgent(home, agentId, [program]);
  const giveUpAt = performance.now() + longestWait;
  while (!existsSync(join(folder, "results"))) {
    if (performance.now() > giveUpAt) throw new Error(`${agentId}: the hooks were not all answered`);
    await sleep(50);
  }
  return JSON.parse(readFileSync(join(folder, "results"), "utf8")) as readonly Round[];
}

function linesOf(what: string, results: readonly Round[]): Line[] {
  const at = (share: number, aim: Line["aim"]): Line =>
    line(`${what}, p${share * 100} of ${calls}`, "ms", median(results.map(({ ours }) => percentile(ours, share))), {
      peer: median(results.map(({ bare }) => percentile(bare, share))),
      ratio: median(results.map(({ ours, bare }) => percentile(ours, share) / percentile(bare, share))),
      aim,
    });
  return [at(0.5, null), at(0.99, { of: "ours", atMost: 20 })];
}
