import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Fault } from "@rouse/contract";
import { startHolder } from "@rouse/holder/start-holder";
import { connectRouse, type RouseClient } from "@rouse/sdk";
import { stopByHolder } from "../cli/commands/agents/order-agent.ts";
import { findDaemon, findRunning } from "../cli/find-daemon.ts";
import { prepareAgent } from "../cli/prepare-agent.ts";
import type { Surroundings } from "../cli/surroundings.ts";
import type { Line } from "../cli/text/styled-text.ts";
import { fastPolicy } from "./fast-policy.ts";
import { cast, type DemoOptions, type DemoOutcome, type Story, tellStory } from "./tell-story.ts";

/** Runs a Rouse of its own in a temporary folder with five small agents, and tells what happens to them. */
export async function runDemo(here: Surroundings, options: DemoOptions): Promise<DemoOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "rouse-demo-"));
  const home = join(folder, "home");
  const work = join(folder, "work");
  for (const made of [home, work]) mkdirSync(made, { mode: 0o700 });
  writeFileSync(join(home, "config.yaml"), fastPolicy);
  // With git, an agent's uncommitted work is saved before the agent is stopped.
  spawnSync("git", ["init", "-q"], { cwd: work, stdio: "ignore" });
  const daemon = startDaemon(home);
  try {
    const rouse = await untilReady(home, daemon);
    const story = tellStory(here, rouse, options);
    const { ROUSE_URL: _url, ROUSE_TOKEN: _token, ...environment } = here.environment;
    const started = startCast({ ...here, home, workingFolder: work, environment });
    const [outcome] = await Promise.all([untilOver(story, options), started]);
    return outcome;
  } finally {
    await endCast({ ...here, home });
    await endDaemon(daemon);
    if (options.keep) here.print(tellKept(folder, home));
    else rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

const tellKept = (folder: string, home: string): Line[] => [
  [],
  [`Kept in ${folder}. To look at it: ROUSE_HOME=${home} rouse up`],
  ["and, in another terminal with the same ROUSE_HOME, `rouse audit list` and `rouse why AGENT`."],
];

function startDaemon(home: string): ChildProcess {
  const program = process.argv[1] ?? "";
  const env = { ...process.env, ROUSE_HOME: home, ROUSE_URL: undefined, ROUSE_TOKEN: undefined };
  // The daemon is detached from Ctrl-C: it is needed to end the agents.
  return spawn(process.execPath, [program, "up", "--port", "0"], { env, stdio: "ignore", detached: true });
}

async function untilReady(home: string, daemon: ChildProcess): Promise<RouseClient> {
  for (let tries = 0; tries < 200 && daemon.exitCode === null; tries++) {
    if ((await findRunning(home)) !== null) return connectRouse(await findDaemon({ home, environment: {} }));
    await pause(100);
  }
  throw new Fault("daemon-unreachable", "the demo's own Rouse did not start; `rouse doctor` may know why");
}

async function startCast(here: Surroundings): Promise<void> {
  const script = fileURLToPath(new URL("./demo-agent.js", import.meta.url));
  const surface = { foreground: false, io: "terminal", cols: 100, rows: 30 } as const;
  for (const { name, role } of cast) {
    const command = [process.execPath, script, role];
    const { spec, home } = await prepareAgent(here, { name, task: `task-of-${name}`, command }, surface);
    await startHolder(home, spec);
  }
}

async function untilOver(story: Story, { seconds, ended }: DemoOptions): Promise<DemoOutcome> {
  const patience = new AbortController();
  const tooLong = pause(seconds * 1000, "too-long" as const, { signal: patience.signal }).catch(
    () => "too-long" as const,
  );
  const outcome = await Promise.race([story.over, tooLong, ended]);
  patience.abort();
  story.conclude(outcome);
  return outcome;
}

/** Ends the agents that are left, without the daemon should it be gone. */
async function endCast(here: Surroundings): Promise<void> {
  const rouse = await findDaemon({ home: here.home, environment: {} }).then(connectRouse, () => null);
  const order = { reason: "the demo is over", force: true };
  const end = async (name: string): Promise<unknown> =>
    rouse === null ? stopByHolder(here, name, 0) : rouse.terminateAgent(name, order);
  await Promise.allSettled(cast.map(({ name }) => end(name).catch(() => stopByHolder(here, name, 0))));
}

async function endDaemon(daemon: ChildProcess): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const gone = once(daemon, "exit");
  daemon.kill("SIGTERM");
  const force = setTimeout(() => daemon.kill("SIGKILL"), 5000);
  await gone;
  clearTimeout(force);
}
