import type { DurationMs } from "@rouse/contract";
import type { FleetIncidents, FleetWatch } from "@rouse/core";
import type { Agents } from "../agents/host-agents.ts";
import type { Config } from "../config/read-config.ts";
import type { Timers } from "../ports/clock.ts";
import type { Tasks } from "../tasks/host-tasks.ts";
import type { Canary } from "./canary.ts";
import type { Engine, Kept } from "./engine.ts";
import type { GroupCommit } from "./group-commit.ts";
import type { RecordKeeper } from "./keep-records.ts";
import type { Moment } from "./steady-clock.ts";
import type { RepeatingTimers } from "./timers.ts";
import type { SelfWatch } from "./watch-self.ts";

/** How often the monitor looks at itself and at who is due. */
export const tickEvery: DurationMs = 250;
/** Wake-ups handled before waiting input is read again. */
const wakesPerRound = 2000;

interface JudgingParts {
  readonly fleet: FleetWatch;
  readonly incidents: FleetIncidents;
  readonly self: SelfWatch;
  readonly engine: Engine;
  readonly agents: Agents;
  readonly commits: GroupCommit;
  readonly records: RecordKeeper;
  readonly tasks: Tasks;
  readonly repeating: RepeatingTimers;
  readonly timers: Timers;
  readonly config: () => Config;
  readonly readClock: () => Moment;
  readonly canaryIsMissing: Canary["canaryIsMissing"];
}

/** One tick: first a look at ourselves; then, once waiting input has been read, at whoever is due. */
export function judgeDue(parts: JudgingParts): () => void {
  const { fleet, incidents, self, engine, agents, commits, tasks, repeating, timers, readClock } = parts;

  function judge(): void {
    if (repeating.stopped() || commits.down() !== null) return;
    const moment = readClock();
    const { amnestyMargin } = parts.config().policyFor({ agentId: "", agentType: null, taskId: null });
    agents.takeNews(fleet.endHolds(moment.now, amnestyMargin), moment);
    agents.takeFleet(incidents.due(moment.now), moment);
    agents.saveFleet();
    if (parts.canaryIsMissing(moment.now)) self.doubtPath(moment);
    if (self.trustPathAgain(moment)) agents.wakeAll(moment, ({ health }) => health.findings.length > 0);
    engine.deliver(moment);
    tasks.judgeDue(moment);
    parts.records.saveDue(moment.now, agents.lastSignalId());
    wakeRound(engine.takeDue(moment.now), 0, moment);
  }

  function wakeRound(due: readonly Kept<unknown>[], from: number, moment: Moment): void {
    if (repeating.stopped()) return;
    const until = Math.min(due.length, from + wakesPerRound);
    for (const kept of due.slice(from, until)) engine.wake(kept, moment);
    engine.deliver(moment);
    commits.schedule();
    if (until < due.length) timers.soon(() => wakeRound(due, until, readClock()));
  }

  return () => {
    self.tick();
    timers.soon(judge);
  };
}
