import type { Roster } from "../agents/roster.ts";
import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";

export interface Onlooker {
  readonly agentId: string;
  /** Its token was made by name, so that it may run anywhere. */
  readonly elsewhere: boolean;
}

/** Whether an agent may read the health of another, or, of `null`, that of the fleet as far as it may see it: its policy says. */
export type MaySee = (who: Onlooker, other: string | null) => boolean;

/**
 * What an agent says of its node opens no door: whoever we started is of this machine, like everybody else whom we hold and whoever names no other node.
 * Of a token that may be used anywhere nobody knows where its agent is.
 */
export const fleetSight =
  ({ roster, config }: { readonly roster: Roster; readonly config: () => Config }): MaySee =>
  ({ agentId, elsewhere }, other) => {
    const own = roster.find(agentId)?.record;
    const reads = (own === undefined ? config().settings : config().settingsFor(policySubject(own))).fleet_read;
    if (reads !== "own-node") return reads === "all";
    if (elsewhere) return false;
    const seen = other === null ? undefined : roster.find(other)?.record;
    // Of whom nobody has heard there is nothing to see, and that may be said.
    return seen === undefined || seen.seen.terminal !== null || seen.identity.node === null;
  };
