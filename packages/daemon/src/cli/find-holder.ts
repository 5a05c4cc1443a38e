import { Fault, printable } from "@rouse/contract";
import type { HolderFile } from "@rouse/holder";
import { isHolderAlive, listHeld, readHolderFile } from "../holders/read-holder-files.ts";
import { didYouMean } from "./text/phrases.ts";

/** Who holds an agent here, `null` when it is over. One whose start failed has a folder, but nobody ever held it. */
export function findHolder(home: string, agentId: string): HolderFile | null {
  const file = readHolderFile(home, agentId);
  if (file !== null && isHolderAlive(file)) return file;
  if (file !== null || listHeld(home).includes(agentId)) return null;
  throw notStartedHere(home, agentId);
}

/** With the name that was probably meant, of those that were. */
export function notStartedHere(home: string, agentId: string, cause?: unknown): Fault {
  const meant = didYouMean(agentId, listHeld(home));
  const message = `no agent ${printable(agentId, 128)} was started here with rouse run or rouse spawn${meant}`;
  return new Fault("agent-unknown", message, { cause });
}
