import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Fault } from "@rouse/contract";
import { connectRouse, type RouseClient } from "@rouse/sdk";
import { findDaemon, readDaemonFile } from "../cli/find-daemon.ts";
import { prepareAgent } from "../cli/prepare-agent.ts";
import type { Surroundings } from "../cli/surroundings.ts";
import { startHolder } from "../holder/start-holder.ts";
import { fastPolicy } from "./fast-policy.ts";
import { type Story, tellStory } from "./tell-story.ts";

export interface DemoOptions {
  /** Leave the data folder behind to look at. */
  readonly keep: boolean;
  readonly seconds: number;
  /** Somebody wants it to end. */
  readonly ended: Promise<"interrupted">;
}

export type DemoOutcome = "over" | "too-long" | "interrupted";

export const cast = [
  { name: "hank", role: "hanger" },
  { name: "lou", role: "looper" },
  { name: "cora", role: "crasher" },
  { name: "ada", role: "worker" },
  { name: "bob", role: "worker" },
] as const;

/** A Rouse of its own in a temporary folder, five small agents, and the story of what happens to them. */
export async function runDemo(here: Surroundings, options: DemoOptions): Promise<DemoOutcome> {
  const folder = mkdtempSync(join(tmpdir(), "rouse-demo-"));
  const home = join(folder, "home");
  const work = join(folder, "work");
  for (const made of [home, work]) mkdirSync(made, { mode: 0o700 });
  writeFileSync(join(home, "config.yaml"), fastPolicy);
  // Where there is git, what an agent had not committed is saved before it is stopped.
  spawnSync("git", ["init", "-q"], { cwd: work, stdio: "ignore" });
  const daemon = startDaemon(home);
  try {
    const rouse = await untilReady(home, daemon);
    const story = tellStory(here, rouse);
    const { ROUSE_URL: _url, ROUSE_TOKEN: _token, ...environment } = here.environment;
    const started = startCast({ ...here, home, workingFolder: work, environment });
    const outcome = await untilOver(story, options);
    await started;
    return outcome;
  } finally {
    await endCast(home);
    daemon.kill("SIGTERM");
    if (daemon.exitCode === null) await Promise.race([once(daemon, "exit"), pause(5000)]);
    if (options.keep) here.print([[], [`Kept in ${folder}; look at it with ROUSE_HOME=${home} rouse up`]]);
    else rmSync(folder, { recursive: true, force: true });
  }
}

function startDaemon(home: string): ChildProcess {
  const program = process.argv[1] ?? "";
  const env = { ...process.env, ROUSE_HOME: home, ROUSE_URL: undefined, ROUSE_TOKEN: undefined };
  return spawn(process.execPath, [program, "up", "--port", "0"], { env, stdio: "ignore" });
}

async function untilReady(home: string, daemon: ChildProcess): Promise<RouseClient> {
  for (let tries = 0; tries < 200 && daemon.exitCode === null; tries++) {
    if ((await readDaemonFile(home)) !== null) return connectRouse(await findDaemon({ home, environment: {} }));
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

/** Whoever is left is ended with the demo. */
async function endCast(home: string): Promise<void> {
  const rouse = await findDaemon({ home, environment: {} }).then(connectRouse, () => null);
  if (rouse === null) return;
  const order = { reason: "the demo is over", force: true };
  await Promise.allSettled(cast.map(({ name }) => rouse.terminateAgent(name, order)));
}
