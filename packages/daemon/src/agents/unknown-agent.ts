import { Fault, printable } from "@rouse/contract";
import { nearestName } from "../config/nearest-name.ts";

/** Beyond this nobody looks through all names for a slip: it would take longer than the answer is worth. */
const mostNames = 20_000;

/** Nobody is called so; with the name that was probably meant. */
export function unknownAgent(agentId: string, roster: { size(): number; names(): Iterable<string> }): Fault {
  const nearest = roster.size() > mostNames ? undefined : nearestName(agentId, [...roster.names()]);
  const meant = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  return new Fault(
    "agent-unknown",
    `no agent ${printable(agentId, 128)} is known${meant || "; `rouse ps --all` lists all"}`,
  );
}
