import type { EpochMs, MonoMs } from "@rouse/contract";
import type { FleetIncidents } from "@rouse/core";
import type { Agents } from "./agents/host-agents.ts";
import type { Roster } from "./agents/roster.ts";
import type { Config } from "./config/read-config.ts";
import type { Engine } from "./engine/engine.ts";
import type { GroupCommit } from "./engine/group-commit.ts";
import type { SelfDoubt } from "./engine/self-doubt.ts";
import type { Moment, SteadyClock } from "./engine/steady-clock.ts";
import type { Store } from "./ports/store.ts";

/** What a monitor gives to its rooms. Each room names the ones it uses. */
export interface SharedServices {
  readonly store: Store;
  readonly engine: Engine;
  readonly agents: Agents;
  readonly roster: Roster;
  readonly incidents: FleetIncidents;
  readonly commits: GroupCommit;
  readonly doubt: SelfDoubt;
  readonly clock: SteadyClock;
  readonly readClock: () => Moment;
  readonly toWall: (at: MonoMs) => EpochMs;
  readonly config: () => Config;
}
