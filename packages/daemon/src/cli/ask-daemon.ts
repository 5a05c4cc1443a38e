import { type AgentHealth, Fault } from "@rouse/contract";
import { connectRouse } from "@rouse/sdk";
import { findDaemon } from "./find-daemon.ts";
import type { Surroundings } from "./surroundings.ts";

/** An agent must not wait for a monitor that hangs. */
const patience = 2000;
const lookEvery = 50;

export interface DaemonAnswer {
  /** `null` when none is running. */
  readonly url: string | null;
  /** The life of that name the monitor knows. */
  readonly incarnation: number | null;
}

/** Whether a monitor is there, and what it knows of an agent of this name. One that beats by itself has the name already. */
export async function askDaemon(here: Surroundings, agentId: string): Promise<DaemonAnswer> {
  try {
    const address = await findDaemon(withoutAgentToken(here));
    const agent = await connectRouse({ ...address, timeout: patience })
      .getAgentHealth(agentId)
      .catch(ifUnknown);
    if (agent !== null && beatsByItself(agent))
      throw new Fault("name-taken", `${agentId} is an agent that sends heartbeats by itself; choose another --name`);
    return { url: address.url, incarnation: agent?.incarnation ?? null };
  } catch (error) {
    if (error instanceof Fault && (error.code === "daemon-unreachable" || error.code === "unauthorized"))
      return { url: null, incarnation: null };
    throw error;
  }
}

/** Whoever was told that an agent runs may ask for it the next moment; a monitor that takes longer than this hears of it all the same. */
export async function awaitKnown(here: Surroundings, agentId: string, incarnation: number): Promise<void> {
  const giveUpAt = performance.now() + patience;
  const rouse = connectRouse({ ...(await findDaemon(withoutAgentToken(here))), timeout: patience });
  while (performance.now() < giveUpAt) {
    const agent = await rouse.getAgentHealth(agentId).catch(() => null);
    if (agent !== null && agent.incarnation >= incarnation) return;
    await new Promise((resolve) => setTimeout(resolve, lookEvery));
  }
}

/**
 * Inside an agent that Rouse started, ROUSE_TOKEN speaks for that agent only; the owner's token is in the data folder. Agents may start others, so this
 * asks with the owner's; orders are given with what is in the environment.
 */
const withoutAgentToken = (here: Surroundings): Pick<Surroundings, "environment" | "home"> =>
  here.environment["ROUSE_AGENT_ID"] === undefined
    ? here
    : { home: here.home, environment: { ...here.environment, ROUSE_TOKEN: undefined, ROUSE_URL: undefined } };

function ifUnknown(error: unknown): null {
  if (error instanceof Fault && error.code === "agent-unknown") return null;
  throw error;
}

const beatsByItself = ({ terminal, activity, state, lastHeartbeat }: AgentHealth): boolean =>
  terminal === null &&
  lastHeartbeat !== null &&
  activity.kind !== "FINISHED" &&
  state !== "UNRESPONSIVE" &&
  state !== "TERMINATED";
