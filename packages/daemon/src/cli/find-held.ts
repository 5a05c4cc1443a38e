import { isSame } from "../holder/processes/read-processes.ts";
import { listHeld, readHolderFile } from "../holder/read-holder-files.ts";

/** The agents of this data folder that run now, whether anybody watches them or not. */
export function findHeldAgents(home: string): string[] {
  return listHeld(home).filter((agentId) => {
    const file = readHolderFile(home, agentId);
    return file !== null && file.agent !== null && isSame(file.agent);
  });
}

const mostNamed = 8;

/** "2 agents run on: ada, bob". */
export function tellHeldAgents(agents: readonly string[]): string {
  if (agents.length === 0) return "no agent that Rouse started is running";
  const shown = agents.slice(0, mostNamed).join(", ");
  const more = agents.length > mostNamed ? ", …" : "";
  return `${agents.length} agent${agents.length === 1 ? " runs" : "s run"} on: ${shown}${more}`;
}
