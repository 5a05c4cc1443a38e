import { setTimeout as pause } from "node:timers/promises";
import { type ExitFile, holderFiles, writeWhole } from "@rouse/holder";
import { isHolderAlive, readExitFile, readHolderFile, readSpec } from "./read-holder-files.ts";

/** A holder without a monitor stays a moment longer than its agent, and would overwrite the note. */
const patienceMs = 5000;
const lookMs = 100;

/**
 * A person ends an agent that is down, while no monitor runs. That is noted in its exit file, so that the next monitor
 * does not start it again, whether it knows of the end already or not. False when nothing would have followed, as far
 * as the files show.
 */
export async function keepDown(home: string, agentId: string): Promise<boolean> {
  const file = readHolderFile(home, agentId);
  const when = readSpec(home, agentId)?.restart?.when ?? "on-failure";
  if (file === null || when === "no") return false;
  for (let waited = 0; waited < patienceMs && isHolderAlive(file); waited += lookMs) await pause(lookMs);
  const written = readExitFile(home, agentId);
  const ended = written?.incarnation === file.incarnation ? written : null;
  const exit = ended?.exit ?? { code: null, signal: null, cause: "unseen" as const };
  const wouldFollow = exit.cause !== "stopped" && exit.cause !== "person" && (exit.code !== 0 || when === "always");
  const note: ExitFile = {
    incarnation: file.incarnation,
    at: ended?.at ?? Date.now(),
    exit: wouldFollow ? { ...exit, cause: "stopped" } : exit,
    keptDownAt: Date.now(),
  };
  writeWhole(holderFiles(home, agentId).exit, JSON.stringify(note));
  return wouldFollow;
}
