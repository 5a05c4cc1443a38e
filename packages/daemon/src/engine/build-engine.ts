import { brakeOf, killBudgetMachine, noKills, watchFleet } from "@rouse/core";
import { hostAgents } from "../agents/host-agents.ts";
import { createRoster } from "../agents/roster.ts";
import { keepAuditTrail, whereTrailEnds } from "../audit/audit-trail.ts";
import type { SealedSoFar } from "../audit/seal-trail.ts";
import type { Config } from "../config/read-config.ts";
import { recallFleet } from "../fleet/fleet-matters.ts";
import type { SigningKey } from "../home/signing-key.ts";
import type { Clock, Timers } from "../ports/clock.ts";
import type { Holders } from "../ports/holders.ts";
import type { Log } from "../ports/log.ts";
import type { Commit, Resumption, Store } from "../ports/store.ts";
import { announceCommits } from "./announce-commits.ts";
import { createEngine } from "./engine.ts";
import { groupCommits } from "./group-commit.ts";
import { hostMachine } from "./host-machine.ts";
import { keepRecords } from "./keep-records.ts";
import { lastAlive } from "./resume.ts";
import { doubtSelf } from "./self-doubt.ts";
import { startSteadyClock } from "./steady-clock.ts";
import { createTimers } from "./timers.ts";
import { watchSelf } from "./watch-self.ts";

interface BuildingParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly signing: SigningKey;
  readonly holders: Pick<Holders, "lookAnew">;
  readonly seals: SealedSoFar;
  readonly log: Log;
  readonly config: () => Config;
  /** The epoch of this monitor on its shard. */
  readonly epoch: number;
  /** Called when another monitor has taken over. */
  readonly stopActing: () => Promise<void>;
  /** Does what a saved commit intends. */
  readonly act: (commit: Commit) => void;
}

/** The id of the kill budget: there is one for the whole fleet. */
const wholeBudget = "fleet";

/**
 * Builds what every part of a monitor stands on: its clock, the agents it knows, its self-doubt, and how turns are run
 * and saved. Nothing runs yet.
 */
export function buildEngine(parts: BuildingParts, resumption: Resumption) {
  const { timers, log, config, seals, signing } = parts;
  const alive = lastAlive(resumption);
  const clock = startSteadyClock(parts.clock, alive);
  const started = clock.read();
  const roster = createRoster();
  const fleet = watchFleet(() => config().selfCheck);
  const incidents = recallFleet(resumption, started, config);
  const brake = (host: string, now: number) =>
    brakeOf(budget.find(wholeBudget) ?? noKills, host, now, config().killBudget);
  const doubt = doubtSelf(fleet, incidents, brake, started.now);
  const self = watchSelf(
    { clock, doubt, fleet, incidents, log, config, engine: () => engine, lookAnew: parts.holders.lookAnew },
    started.now,
  );
  const news = announceCommits(resumption.lastEventId, parts.act);
  const commits = groupCommits(parts.store, parts.epoch, timers, {
    committed: news.announce,
    wentDown(fault) {
      self.storeWentDown(fault);
      if (commits.isReplaced()) void parts.stopActing();
    },
    cameBack: self.storeCameBack,
  });
  const records = keepRecords(commits);
  const audit = keepAuditTrail({
    last: whereTrailEnds(resumption),
    store: seals.store,
    isSealed: seals.isSealed,
    sign: signing.sign,
  });
  const engine = createEngine({ commits, audit, readClock: clock.read, lastEventId: resumption.lastEventId });
  const budget = hostMachine({
    ...{ engine, commits, machine: killBudgetMachine, begin: () => noKills, agentOf: () => null },
    contextOf: (now) => ({ now, policy: config().killBudget }),
    wakeSignal: { kind: "wake" },
  });
  budget.restore(resumption.machines);
  const agents = hostAgents({
    ...{ engine, roster, fleet, incidents, doubt, commits, records, config },
    spend: (host, moment) => budget.run(wholeBudget, { kind: "spent", host }, moment),
    lastSignalId: resumption.lastSignalId,
  });
  return {
    alive,
    clock,
    readClock: clock.read,
    started,
    repeating: createTimers(timers),
    engine,
    roster,
    fleet,
    incidents,
    doubt,
    self,
    news,
    commits,
    records,
    audit,
    agents,
    /** Notes in the next commit that this run is alive, for the run after it. */
    markAlive(): void {
      commits.draft().marks["alive"] = JSON.stringify(clock.aliveMark());
    },
  };
}
