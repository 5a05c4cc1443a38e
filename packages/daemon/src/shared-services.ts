import type { EpochMs, MonoMs } from "@rouse/contract";
import type { FleetIncidents, FleetWatch } from "@rouse/core";
import type { Agents } from "./agents/host-agents.ts";
import type { Roster } from "./agents/roster.ts";
import type { AuditTrail } from "./audit/audit-trail.ts";
import type { Config } from "./config/read-config.ts";
import type { Engine } from "./engine/engine.ts";
import type { GroupCommit } from "./engine/group-commit.ts";
import type { RecordKeeper } from "./engine/keep-records.ts";
import type { SelfDoubt } from "./engine/self-doubt.ts";
import type { Moment, SteadyClock } from "./engine/steady-clock.ts";
import type { RepeatingTimers } from "./engine/timers.ts";
import type { SelfWatch } from "./engine/watch-self.ts";
import type { Timers } from "./ports/clock.ts";
import type { Holders } from "./ports/holders.ts";
import type { Log } from "./ports/log.ts";
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

/** What the files that run the monitor itself use besides. */
export interface MonitorServices extends SharedServices {
  readonly fleet: FleetWatch;
  readonly self: SelfWatch;
  readonly records: RecordKeeper;
  readonly audit: AuditTrail;
  readonly holders: Holders;
  readonly timers: Timers;
  readonly repeating: RepeatingTimers;
  readonly log: Log;
  /** When this run began. */
  readonly started: Moment;
  readonly version: string;
  /** Notes in the next commit that this run is alive, for the run after it. */
  readonly markAlive: () => void;
}
