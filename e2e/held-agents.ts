import { dirname } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { wordNothingFound } from "../packages/daemon/src/cli/text/phrases.ts";
import { readHolderFile } from "../packages/daemon/src/holders/read-holder-files.ts";
import { readOutput } from "../packages/holder/src/output/read-output.ts";
import { tierOfHost } from "../packages/holder/src/processes/cgroup.ts";
import { isAlive, isSame, readProcess } from "../packages/holder/src/processes/read-processes.ts";
import { holderFiles } from "../packages/holder/src/protocol/holder-files.ts";
import type { HolderFile } from "../packages/holder/src/protocol/spec.ts";
import { agentOnce, isHeld, sh } from "./agent-once.ts";
import { cleanUp } from "./clean-up.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { runRouse } from "./run-rouse.ts";
import { type Daemon, type DaemonPlan, startDaemon } from "./start-daemon.ts";

/** The daemon of `holdForAll`, and the folder that commands are typed in. Set before the first test of a file. */
export let daemon: Daemon;
export let desk: string;

/** Starts one daemon for all tests of a file. Agents that it holds end with the file. */
export function holdForAll(plan: DaemonPlan = {}): void {
  beforeAll(async () => {
    daemon = await startDaemon(plan);
    desk = dirname(daemon.home);
    endAgentsAfterwards(daemon.home);
  });
  afterAll(async () => {
    await cleanUp();
    expect(daemon.process.stderr()).not.toContain("a mistake in Rouse");
  });
}

/** Starts a script in the background, and waits until the daemon holds it. Returns its pid. */
export async function spawnScript(daemon: Daemon, name: string, script: string, ...options: string[]): Promise<number> {
  const end = await daemon.cli("spawn", "--name", name, ...options, "--json", "--", ...sh(script));
  expect(end).toMatchObject({ code: 0, stderr: "" });
  await agentOnce(daemon, name, "is held", isHeld);
  return JSON.parse(end.stdout).pid;
}

/** Starts an agent in the background; it and its holder do not outlive the test. */
export async function spawnAgent(
  home: string,
  name: string,
  command: readonly string[],
  options: readonly string[] = [],
): Promise<HolderFile> {
  endHeldAfterwards(home);
  const { code, stderr } = await runRouse(["spawn", "--name", name, ...options, "--", ...command], { home });
  if (code !== 0) throw new Error(`spawn ended with ${code}: ${stderr}`);
  return holderOf(home, name);
}

export function holderOf(home: string, name: string): HolderFile {
  const file = readHolderFile(home, name);
  if (file === null) throw new Error(`${name} has no holder`);
  return file;
}

/** True of a process that runs; false of a zombie, which nobody has waited for. */
export function isThere(pid: number): boolean {
  const info = readProcess(pid);
  return info !== null && isAlive(info);
}

export const agentLives = (file: HolderFile): boolean => file.agent !== null && isSame(file.agent);

/** Everything kept of what an agent wrote. */
export function outputOf(home: string, name: string): { text: string; end: number } {
  const piece = readOutput(holderFiles(home, name), { from: 0, limit: 1e9 });
  return piece === null ? { text: "", end: 0 } : { text: piece.bytes.toString("utf8"), end: piece.end };
}

/**
 * What is said of the processes of an agent that was ended. It depends on whether this host can hold agents in control
 * groups.
 */
export const whatIsLeft = `${wordNothingFound(tierOfHost().tier)}.`;

const cleaned = new Set<string>();

/** Ends whatever was started with this data folder when the test is over. Calling it twice for a folder is fine. */
export function endHeldAfterwards(home: string): void {
  if (cleaned.has(home)) return;
  cleaned.add(home);
  endAgentsAfterwards(home);
}
