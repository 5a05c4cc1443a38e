import type { HowOver, MonoMs, Policy, RemovalRefusal } from "@rouse/contract";
import { isAfterFailure } from "../assess/missed-beats.ts";
import { endedAtLimit } from "../limit.ts";
import { type AgentRecord, isOver, isStartingAgain } from "../record.ts";
import { isBetweenRuns } from "../restart-rule.ts";
import { isGone, isSettled } from "./fate-of-work.ts";
import { mayStart } from "./restart-life.ts";

/** How an agent is over, and since when. */
export interface Over extends HowOver {
  readonly at: MonoMs;
}

/**
 * The one rule for what is over: no process is left, and nothing more comes of the agent by itself. `null` while it
 * lives (even if it says that it is done), left processes, or may be started again.
 */
export function howOver(record: AgentRecord, policy: Policy): Over | null {
  const { health } = record;
  const { terminal } = record.seen;
  const { activity } = record.work;
  // The word of an agent that we did not start is all there is.
  if (terminal === null)
    return activity.kind === "FINISHED" ? { how: "finished", code: null, signal: null, at: activity.since } : null;
  if (terminal.exit === null || worksOn(record) || !isSettled(record) || isUndecided(record, policy)) return null;
  if (isBetweenRuns(record) && mayStart(policy)) return null;
  const { code, signal, at } = terminal.exit;
  const how = activity.kind === "FINISHED" ? "finished" : health.state === "TERMINATED" ? "terminated" : "exited";
  return { how, code, signal, at };
}

/** A stop has ended the leftovers, also when no holder was left to say so. */
export function worksOn({ seen: { terminal }, ending: { stop } }: AgentRecord): boolean {
  const isEnded = stop?.outcome?.kind === "stopped" || stop?.outcome?.kind === "already-over";
  return (terminal?.leftovers ?? null) !== null && !isEnded;
}

/** The end was found to be an illness and nothing is decided about it yet. In observe mode it stays as it is. */
const isUndecided = (
  { health: { findings }, ladder: { handedOver } }: AgentRecord,
  { mode, enabled }: Policy,
): boolean =>
  handedOver === null &&
  mode !== "observe" &&
  enabled &&
  findings.some(({ kind, level }) => kind === "process-exited" && level !== "note");

/**
 * Why the agent may not be removed from the list; `null`: it may. One that only sent beats and fell silent, or whose
 * run failed, may: should it beat again, it is new.
 */
export function refuseRemoval(record: AgentRecord, policy: Policy): RemovalRefusal | null {
  const { health } = record;
  const { terminal } = record.seen;
  const { incident } = record.ladder;
  if (howOver(record, policy) !== null) return null;
  if (incident !== null && incident.stage.kind === "escalated") return "question-open";
  if (terminal === null)
    return (health.state === "UNRESPONSIVE" || isAfterFailure(record)) && incident === null ? null : "beats";
  if (worksOn(record)) return "left-processes";
  return terminal.exit === null ? "runs" : "starts-again";
}

/** An ended process does nothing, whatever it did last; but an agent that ended at its limit waits for that. */
export function isExited(record: AgentRecord): boolean {
  const { activity } = record.work;
  const waits = activity.kind === "WAITING" && activity.for === "provider" && endedAtLimit(record);
  return isOver(record) && activity.kind !== "FINISHED" && !waits;
}

/**
 * Whether the life that asks in this agent's name is over. `life`: which one asks; a later life than was heard of is
 * not over. `null`: unknown, so it may be the life that is being started.
 */
export function isLifeOver(record: AgentRecord, life: number | null): boolean {
  if (life !== null && life > record.life.incarnation) return false;
  if (life === null && isStartingAgain(record)) return false;
  return isOver(record) || saidThatItIsDone(record);
}

/** The agent's work was given away and nothing more happens to it: nothing is kept for it. */
export const isGoneForGood = (record: AgentRecord): boolean =>
  (isOver(record) && isSettled(record)) || saidThatItIsDone(record) || isGone(record);

/** A program that says so in a terminal may take the next task. */
const saidThatItIsDone = ({ seen: { terminal }, work: { activity } }: AgentRecord): boolean =>
  terminal === null && activity.kind === "FINISHED";
