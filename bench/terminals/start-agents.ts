import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runRouse } from "../start-servers.ts";

export interface StartedAgent {
  readonly name: string;
  readonly holderPid: number;
  readonly agentPid: number;
  /** All of `rouse spawn`. */
  readonly spawnMs: number;
  /** From the start of the holder's process to the start of its agent's; known to a hundredth of a second. */
  readonly holderMs: number;
}

/** Linux counts the start of a process in hundredths of a second, whatever the kernel's own tick. */
const msPerTick = 10;

export async function startAgent(home: string, name: string, command: readonly string[]): Promise<StartedAgent> {
  const begun = performance.now();
  await runRouse(home, ["spawn", "--json", "--name", name, "--", ...command]);
  const spawnMs = performance.now() - begun;
  const { holder, agent } = holderOf(home, name);
  const holderMs = (agent.startTicks - holder.startTicks) * msPerTick;
  return { name, holderPid: holder.pid, agentPid: agent.pid, spawnMs, holderMs };
}

interface Started {
  readonly pid: number;
  readonly startTicks: number;
}

/** What the holder of an agent says of both. */
export const holderOf = (home: string, name: string): { readonly holder: Started; readonly agent: Started } =>
  JSON.parse(readFileSync(join(home, "holders", name, "holder.json"), "utf8"));

export const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};
