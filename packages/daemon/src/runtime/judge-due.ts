import type { DurationMs } from "@rouse/contract";
import type { FleetIncidents, FleetWatch, KillBudgetKeeper } from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { Timers } from "../ports/clock.ts";
import type { Chores } from "./chores.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { RecordKeeper } from "./keep-records.ts";
import type { Tasks } from "./keep-tasks.ts";
import type { PathProof } from "./prove-path.ts";
import type { Roster, Watched } from "./roster.ts";
import type { Moment } from "./steady-clock.ts";
import type { Turns } from "./turns.ts";
import type { WakeWheel } from "./wake-wheel.ts";
import type { SelfWatch } from "./watch-self.ts";

/** How often the monitor looks at itself and at who is due. */
export const tickEvery: DurationMs = 250;
/** Wake-ups handled before waiting input is read again. */
const wakesPerRound = 2000;

interface JudgingParts {
  readonly roster: Roster;
  readonly wheel: WakeWheel<Watched>;
  readonly fleet: FleetWatch;
  readonly incidents: FleetIncidents;
  readonly budget: KillBudgetKeeper;
  readonly self: SelfWatch;
  readonly turns: Turns;
  readonly commits: GroupCommit;
  readonly records: RecordKeeper;
  readonly tasks: Tasks;
  readonly chores: Chores;
  readonly timers: Timers;
  readonly config: () => Config;
  readonly readClock: () => Moment;
  readonly canaryIsMissing: PathProof["canaryIsMissing"];
}

/** One tick: first a look at ourselves; then, once waiting input has been read, at whoever is due. */
export function judgeDue(parts: JudgingParts): () => void {
  const { roster, wheel, fleet, incidents, self, turns, commits, tasks, chores, timers, readClock } = parts;

  function judge(): void {
    if (chores.stopped() || commits.down() !== null) return;
    const moment = readClock();
    const { amnestyMargin } = parts.config().policyFor({ agentId: "", agentType: null, taskId: null });
    turns.takeNews(fleet.endHolds(moment.now, amnestyMargin), moment);
    turns.takeFleet(incidents.due(moment.now), moment);
    turns.saveFleet();
    if (parts.canaryIsMissing(moment.now)) self.doubtPath(moment);
    if (self.trustPathAgain(moment)) wakeEveryoneQuiet(moment);
    turns.wakeConcerned(moment);
    tasks.judgeDue(moment);
    turns.saveEvents(parts.budget.news(moment.now), moment.time, null);
    parts.records.saveDue(moment.now, turns.lastSignalId());
    wakeRound(wheel.takeDue(moment.now), 0, moment);
  }

  function wakeRound(due: readonly Watched[], from: number, moment: Moment): void {
    if (chores.stopped()) return;
    const until = Math.min(due.length, from + wakesPerRound);
    for (let i = from; i < until; i++) {
      const watched = due[i] as Watched;
      const { wakeAt } = watched.record;
      // A beat may have come in since it was found due.
      if (wakeAt !== null && wakeAt <= moment.now) turns.wake(watched, moment);
      else wheel.file(watched);
    }
    turns.wakeConcerned(moment);
    commits.schedule();
    if (until < due.length) timers.soon(() => wakeRound(due, until, readClock()));
  }

  function wakeEveryoneQuiet(moment: Moment): void {
    for (const watched of roster.all()) if (watched.record.health.findings.length > 0) turns.wake(watched, moment);
  }

  return () => {
    self.tick();
    timers.soon(judge);
  };
}
