import { userInfo } from "node:os";
import { Fault } from "@rouse/contract";
import { agentTokenPrefix } from "../home/agent-token.ts";
import type { Surroundings } from "./surroundings.ts";

/** The user's name, for the record. A container's user id may have no name. */
export function nameOfUser(): string {
  try {
    return userInfo().username;
  } catch {
    return "operator";
  }
}

/** Who orders something, and why. */
export const byUser = ({ reason }: { readonly reason?: string }): { actor: string; reason?: string } => ({
  actor: nameOfUser(),
  ...(reason === undefined ? {} : { reason }),
});

/** Whether the command runs with an agent's own token. */
const isInsideAgent = ({ environment }: Surroundings): boolean =>
  environment.ROUSE_TOKEN?.startsWith(agentTokenPrefix) === true;

/** For commands that act without the daemon: the daemon would refuse them to an agent. */
export function refuseInsideAgent(here: Surroundings, what: string): void {
  if (isInsideAgent(here)) throw new Fault("forbidden", `${what}, and the token here is an agent's`);
}

/** Whether the command may go to holders directly: those of ROUSE_URL are elsewhere, and an agent may not order. */
export const isForOwnHolders = (here: Surroundings): boolean => !here.environment.ROUSE_URL && !isInsideAgent(here);
