import type { Config } from "../config/read-config.ts";
import type { Roster } from "./roster.ts";

export interface Onlooker {
  readonly agentId: string;
  /** Its token was made by name, so that it may run anywhere: of which node it is, only its own word tells. */
  readonly elsewhere: boolean;
}

/** Whether an agent may read the health of another, or, of `null`, that of the fleet as far as it may see it: its policy says. */
export type MaySee = (who: Onlooker, other: string | null) => boolean;

export const fleetSight =
  ({ roster, config }: { readonly roster: Roster; readonly config: () => Config }): MaySee =>
  ({ agentId, elsewhere }, other) => {
    const own = roster.find(agentId)?.record;
    const reads = (own === undefined ? config().settings : config().settingsFor(own)).fleet_read;
    if (reads !== "own-node") return reads === "all";
    const node = own?.node ?? null;
    if (elsewhere && node === null) return false;
    const seen = other === null ? undefined : roster.find(other)?.record;
    // Of whom nobody has heard there is nothing to see, and that may be said.
    return seen === undefined || (seen.node ?? null) === node;
  };
