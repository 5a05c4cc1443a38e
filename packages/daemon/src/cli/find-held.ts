import { Fault, printable } from "@rouse/contract";
import { createTreeWatch, findLeftovers, type HolderFile, isSame } from "@rouse/holder";
import { isHolderAlive, listHeld, readExitFile, readHolderFile, treeOf } from "../holders/read-holder-files.ts";
import { didYouMean } from "./text/phrases.ts";

/** The agents of this data folder of which something runs now, whether anybody watches them or not. */
export interface HeldAgents {
  readonly agents: readonly string[];
  /** Agents whose own process is over, while others that they started still run. */
  readonly left: readonly string[];
}

export async function findHeldAgents(home: string): Promise<HeldAgents> {
  const agents: string[] = [];
  const left: string[] = [];
  for (const agentId of listHeld(home)) {
    const file = readHolderFile(home, agentId);
    if (file === null || file.agent === null) continue;
    if (isSame(file.agent)) agents.push(agentId);
    else if (mayHaveLeft(home, file) && (await hasLeft(file))) left.push(agentId);
  }
  return { agents, left };
}

/** Whether it is worth looking for leftover processes: most agents that ended left none, and looking takes time. */
const mayHaveLeft = (home: string, file: HolderFile): boolean =>
  file.left !== undefined || isHolderAlive(file) || readExitFile(home, file.agentId)?.incarnation !== file.incarnation;

async function hasLeft(file: HolderFile): Promise<boolean> {
  const tree = file.mark === "" ? null : treeOf(file);
  return tree !== null && (await findLeftovers(createTreeWatch(tree))).length > 0;
}

const mostNamed = 8;

/** "2 agents run on: ada, bob; processes run on that were left by cid". */
export function tellHeldAgents({ agents, left }: HeldAgents): string {
  const run = agents.length === 1 ? "agent runs" : "agents run";
  const running =
    agents.length === 0 ? "no agent that Rouse started is running" : `${agents.length} ${run} on: ${listNames(agents)}`;
  return left.length === 0 ? running : `${running}; processes run on that were left by ${listNames(left)}`;
}

const listNames = (names: readonly string[]): string =>
  `${names.slice(0, mostNamed).join(", ")}${names.length > mostNamed ? ", …" : ""}`;

/** An agent's holder on this machine; `null` when the agent is over or failed to start. Throws for an unknown name. */
export function findHolder(home: string, agentId: string): HolderFile | null {
  const file = readHolderFile(home, agentId);
  if (file !== null && isHolderAlive(file)) return file;
  if (file !== null || listHeld(home).includes(agentId)) return null;
  throw notStartedHere(home, agentId);
}

/** Suggests the nearest name of those that were started here. */
export function notStartedHere(home: string, agentId: string, cause?: unknown): Fault {
  const meant = didYouMean(agentId, listHeld(home));
  const message = `no agent ${printable(agentId, 128)} was started here with rouse run or rouse spawn${meant}`;
  return new Fault("agent-unknown", message, { cause });
}
