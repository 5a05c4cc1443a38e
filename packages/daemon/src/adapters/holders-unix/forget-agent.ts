import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type DurationMs, seconds } from "@rouse/contract";
import { holderFiles, holdersFolder, isSame } from "@rouse/holder";
import { isHolderAlive, listHeld, readHolderFile } from "../../holders/read-holder-files.ts";

/** A holder stays a moment after its agent, until the monitor knows. */
const leavesWithin: DurationMs = seconds(8);
const lookEvery: DurationMs = 50;

/** No agent has such a name, so what lies here is nobody's. */
const removed = ".removed-";

/** Removes everything that is kept of an agent that is over; `false` while its holder or its process is there. */
export async function forgetAgent(home: string, agentId: string): Promise<boolean> {
  if (!listHeld(home).includes(agentId)) return true;
  for (let waited = 0; isThere(home, agentId); waited += lookEvery) {
    if (waited >= leavesWithin) return false;
    await pause(lookEvery);
  }
  const { folder } = holderFiles(home, agentId);
  const aside = join(holdersFolder(home), `${removed}${agentId}`);
  rmSync(aside, { recursive: true, force: true });
  // Put aside first: whoever starts an agent of this name now begins with a folder of its own.
  renameSync(folder, aside);
  rmSync(aside, { recursive: true, force: true });
  return true;
}

function isThere(home: string, agentId: string): boolean {
  const file = readHolderFile(home, agentId);
  return file !== null && (isHolderAlive(file) || (file.agent !== null && isSame(file.agent)));
}

/** What somebody who was killed in the middle of it has left. */
export function finishForgetting(home: string): void {
  for (const name of readdirSync(holdersFolder(home)))
    if (name.startsWith(removed)) rmSync(join(holdersFolder(home), name), { recursive: true, force: true });
}
