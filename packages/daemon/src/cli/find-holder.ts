import { Fault, printable } from "@rouse/contract";
import { isHolderAlive, listHeld, readHolderFile } from "../holder/read-holder-files.ts";
import type { HolderFile } from "../holder/spec.ts";

/** Who holds an agent here, `null` when it is over. One whose start failed has a folder, but nobody ever held it. */
export function findHolder(home: string, agentId: string): HolderFile | null {
  const file = readHolderFile(home, agentId);
  if (file !== null && isHolderAlive(file)) return file;
  if (file !== null || listHeld(home).includes(agentId)) return null;
  const name = printable(agentId, 128);
  throw new Fault("agent-unknown", `no agent ${name} was started here with rouse run or rouse spawn`);
}
