import { noAgent } from "../config/choose-policy.ts";
import type { MonitorServices } from "../shared-services.ts";
import type { Tasks } from "../tasks/host-tasks.ts";
import type { Canary } from "./canary.ts";
import type { Kept } from "./engine.ts";
import type { Moment } from "./steady-clock.ts";

/** Wake-ups handled before waiting input is read again. */
const wakesPerRound = 2000;

type Judging = "engine" | "agents" | "commits" | "records" | "fleet" | "incidents" | "self";

interface JudgingParts extends Pick<MonitorServices, Judging | "repeating" | "timers" | "config" | "readClock"> {
  readonly tasks: Tasks;
  readonly canaryIsMissing: Canary["canaryIsMissing"];
}

/** One tick: the monitor checks itself first. Once waiting input has been read, it judges every agent that is due. */
export function judgeDue(parts: JudgingParts): () => void {
  const { fleet, incidents, self, engine, agents, commits, tasks, repeating, timers, readClock } = parts;

  function judge(): void {
    if (repeating.stopped() || commits.down() !== null) return;
    const moment = readClock();
    const { amnestyMargin } = parts.config().policyFor(noAgent);
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
