import { type Kill, keepKillBudget, watchFleet } from "@rouse/core";
import { killBudgetMachine } from "../agents/keep-turn.ts";
import { createRoster, type Watched } from "../agents/roster.ts";
import type { AfterTurn } from "../agents/run-turn.ts";
import { tellActivity } from "../agents/tell-activity.ts";
import { createTurns } from "../agents/turns.ts";
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
import { groupCommits } from "./group-commit.ts";
import { tickEvery } from "./judge-due.ts";
import { keepRecords } from "./keep-records.ts";
import { lastAlive } from "./resume.ts";
import { doubtSelf } from "./self-doubt.ts";
import { startSteadyClock } from "./steady-clock.ts";
import { createChores } from "./timers.ts";
import { createWakeWheel } from "./wake-wheel.ts";
import { watchSelf } from "./watch-self.ts";

interface GroundParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly signing: SigningKey;
  readonly holders: Pick<Holders, "lookAnew">;
  readonly seals: SealedSoFar;
  readonly log: Log;
  readonly config: () => Config;
  /** Does what a saved commit intends. */
  readonly act: (commit: Commit) => void;
  readonly afterTurn: AfterTurn;
}

/** What every part of a monitor stands on: its time, whom it knows, what it doubts, how turns are run and how they are saved. Nothing runs yet. */
export function layGround(parts: GroundParts, resumption: Resumption) {
  const { timers, log, config, seals, signing } = parts;
  const alive = lastAlive(resumption);
  const clock = startSteadyClock(parts.clock, alive);
  const started = clock.read();
  const roster = createRoster();
  const wheel = createWakeWheel<Watched>();
  const fleet = watchFleet(() => config().selfCheck);
  const killed = resumption.machines.find(({ machine }) => machine === killBudgetMachine)?.record ?? "[]";
  const budget = keepKillBudget(() => config().killBudget, JSON.parse(killed) as Kill[]);
  const incidents = recallFleet(resumption, started, config);
  const doubt = doubtSelf(fleet, incidents, budget, started.now);
  const self = watchSelf(
    { clock, doubt, fleet, log, config, turns: () => turns, lookAnew: parts.holders.lookAnew },
    started.now,
    tickEvery,
  );
  const news = announceCommits(resumption.lastEventId, parts.act);
  const commits = groupCommits(parts.store, timers, {
    committed: news.announce,
    wentDown: self.storeWentDown,
    cameBack: self.storeCameBack,
  });
  const records = keepRecords(commits);
  const activities = tellActivity();
  const audit = keepAuditTrail({
    last: whereTrailEnds(resumption),
    store: seals.store,
    isSealed: seals.isSealed,
    sign: signing.sign,
  });
  const turns = createTurns({
    roster,
    wheel,
    fleet,
    incidents,
    doubt,
    commits,
    records,
    config,
    budget,
    audit,
    afterTurn: parts.afterTurn,
    noteActivity: activities.noteTurn,
    lastSignalId: resumption.lastSignalId,
    lastEventId: resumption.lastEventId,
  });
  return {
    alive,
    clock,
    readClock: clock.read,
    started,
    chores: createChores(timers),
    roster,
    wheel,
    fleet,
    incidents,
    budget,
    doubt,
    self,
    news,
    onActivity: activities.onActivity,
    commits,
    records,
    audit,
    turns,
    /** When this run was last certainly alive, for the one after it. */
    markAlive(): void {
      commits.draft().marks["alive"] = JSON.stringify(clock.aliveMark());
    },
  };
}
