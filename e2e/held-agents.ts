import { wordNothingFound } from "../packages/daemon/src/cli/show/word-nothing-found.ts";
import { readExitFile, readHolderFile } from "../packages/daemon/src/holders/read-holder-files.ts";
import { readOutput } from "../packages/holder/src/output/read-output.ts";
import { isSame } from "../packages/holder/src/processes/read-processes.ts";
import { tierOfHost } from "../packages/holder/src/processes/tier-of-host.ts";
import { holderFiles } from "../packages/holder/src/protocol/holder-files.ts";
import type { HolderFile } from "../packages/holder/src/protocol/spec.ts";
import { endAgentsAfterwards } from "./end-agents.ts";
import { runRouse } from "./run-rouse.ts";

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

export const agentLives = (file: HolderFile): boolean => file.agent !== null && isSame(file.agent);

/** Everything kept of what an agent wrote. */
export function outputOf(home: string, name: string): { text: string; end: number } {
  const piece = readOutput(holderFiles(home, name), { from: 0, limit: 1e9 });
  return piece === null ? { text: "", end: 0 } : { text: piece.bytes.toString("utf8"), end: piece.end };
}

export const exitOf = (home: string, name: string) => readExitFile(home, name);

/** What is said of the processes of an agent that was ended: agents of tests run as whoever may make control groups, and could leave theirs. */
export const whatIsLeft = `${wordNothingFound(tierOfHost().tier)}.`;

const cleaned = new Set<string>();

/** Once for each folder. */
export function endHeldAfterwards(home: string): void {
  if (cleaned.has(home)) return;
  cleaned.add(home);
  endAgentsAfterwards(home);
}
