import { type AgentHealth, Fault } from "@rouse/contract";
import type { Daemon } from "./start-daemon.ts";
import { until } from "./until.ts";

/** Waits until `wanted` is true of an agent, and returns its health then. */
export async function agentOnce(
  { rouse }: Daemon,
  agentId: string,
  what: string,
  wanted: (agent: AgentHealth) => boolean,
): Promise<AgentHealth> {
  let last: AgentHealth | null = null;
  return until(`${agentId} ${what}`, async () => {
    last = await rouse.getAgentHealth(agentId).catch(ifUnknown);
    return last !== null && wanted(last) && last;
  }).catch((error: Error) => {
    throw new Error(`${error.message}; it is ${JSON.stringify(last)}`);
  });
}

export const isHeld = ({ terminal }: AgentHealth): boolean => terminal !== null;
export const isOver = ({ terminal }: AgentHealth): boolean => terminal?.exit != null;

function ifUnknown(error: unknown): null {
  if (error instanceof Fault && error.code === "agent-unknown") return null;
  throw error;
}

/** The words of a command that has a shell run this script. */
export const sh = (script: string): string[] => ["sh", "-c", script];

/** A script that goes on until somebody ends it. */
export const forever = "while :; do sleep 0.1; done";
