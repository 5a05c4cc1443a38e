import type { Config } from "../config/read-config.ts";
import type { Holders, WatchSettings } from "../ports/holders.ts";
import type { Log } from "../ports/log.ts";
import type { Commit } from "../ports/store.ts";
import type { Chores } from "./chores.ts";
import type { GroupCommit } from "./group-commit.ts";
import { hearHolders, watchSettingsFrom } from "./hear-holders.ts";
import { policySubject } from "./policy-subject.ts";
import type { Roster } from "./roster.ts";
import type { Moment } from "./steady-clock.ts";
import type { Turns } from "./turns.ts";

interface MeetingParts {
  readonly holders: Holders;
  readonly roster: Roster;
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly chores: Chores;
  readonly log: Log;
  readonly config: () => Config;
  readonly readClock: () => Moment;
}

/** The holders of this machine: looked for as soon as they may be, and told how to read their agents' terminals. */
export function meetHolders(parts: MeetingParts) {
  const { holders, roster, turns, commits, readClock } = parts;
  function settingsOf(agentId: string): WatchSettings {
    const known = roster.find(agentId)?.record;
    const subject = known === undefined ? { agentId, agentType: null, taskId: null } : policySubject(known);
    return watchSettingsFrom(parts.config().settingsFor(subject));
  }

  return {
    /** Only with an epoch that is saved: two monitors must never have the same. */
    meetWith({ marks: { epoch, store } }: Commit): void {
      if (typeof epoch !== "string" || typeof store !== "string" || parts.chores.stopped()) return;
      const news = hearHolders({ roster, turns, commits, readClock, settingsOf });
      holders
        .begin(news, Number(epoch), store)
        .catch((error: unknown) => parts.log.error({ error: String(error) }, "supervised agents cannot be looked for"));
    },
    settle: (): void => holders.settle(settingsOf),
  };
}
