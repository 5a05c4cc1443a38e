import { policySubject } from "../config/choose-policy.ts";
import type { Config } from "../config/read-config.ts";
import type { Engine } from "../engine/engine.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import type { Moment } from "../engine/steady-clock.ts";
import type { RepeatingTimers } from "../engine/timers.ts";
import type { Holders, WatchSettings } from "../ports/holders.ts";
import type { Log } from "../ports/log.ts";
import { type Commit, storeMark } from "../ports/store.ts";
import { hearHolders, watchSettingsFrom } from "./hear-holders.ts";
import type { Agents } from "./host-agents.ts";
import type { Roster } from "./roster.ts";

interface MeetingParts {
  readonly engine: Engine;
  readonly holders: Holders;
  readonly roster: Roster;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly repeating: RepeatingTimers;
  readonly log: Log;
  readonly config: () => Config;
  readonly readClock: () => Moment;
}

/** The holders of this machine: looked for as soon as they may be, and told how to read their agents' terminals. */
export function connectHolders(parts: MeetingParts) {
  const { engine, holders, roster, agents, commits, readClock } = parts;
  function settingsOf(agentId: string): WatchSettings {
    const known = roster.find(agentId)?.record;
    const subject = known === undefined ? { agentId, agentType: null, taskId: null } : policySubject(known);
    return watchSettingsFrom(parts.config().settingsFor(subject));
  }

  return {
    /** Once it is saved which store this is. Holders obey the monitor with the highest epoch. */
    meetWith({ epoch, marks }: Commit): void {
      const store = marks[storeMark];
      if (typeof store !== "string" || parts.repeating.stopped()) return;
      const news = hearHolders({ engine, roster, agents, commits, readClock, settingsOf });
      holders
        .begin(news, epoch, store)
        .catch((error: unknown) => parts.log.error({ error: String(error) }, "supervised agents cannot be looked for"));
    },
    settle: (): void => holders.settle(settingsOf),
  };
}
