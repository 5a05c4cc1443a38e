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
 * The one rule for what is over: nothing of it is there, and nothing more comes of it by itself. `null` for one that lives, also when it said that it is
 * done and its program stays; for one that left processes; and for one that may be started again.
 */
export function howOver(record: AgentRecord, policy: Policy): Over | null {
  const { health } = record;
  const { terminal } = record.seen;
  const { activity } = record.work;
  // Of an agent that we did not start, its own word is all there is.
  if (terminal === null)
    return activity.kind === "FINISHED" ? { how: "finished", code: null, signal: null, at: activity.since } : null;
  if (terminal.exit === null || worksOn(record) || !isSettled(record) || isUndecided(record, policy)) return null;
  if (isBetweenRuns(record) && mayStart(policy)) return null;
  const { code, signal, at } = terminal.exit;
  const how = activity.kind === "FINISHED" ? "finished" : health.state === "TERMINATED" ? "terminated" : "exited";
  return { how, code, signal, at };
}

/** Whoever stopped them has ended them, also when no holder was left to say so. */
export function worksOn({ seen: { terminal }, ending: { stop } }: AgentRecord): boolean {
  const isEnded = stop?.outcome?.kind === "stopped" || stop?.outcome?.kind === "already-over";
  return (terminal?.leftovers ?? null) !== null && !isEnded;
}

/** Its end was found to be an illness, and what is to be done about it is not decided yet. Who is only observed is left as it is. */
const isUndecided = (
  { health: { findings }, ladder: { handedOver } }: AgentRecord,
  { mode, enabled }: Policy,
): boolean =>
  handedOver === null &&
  mode !== "observe" &&
  enabled &&
  findings.some(({ kind, level }) => kind === "process-exited" && level !== "note");

/**
 * Why it may not be taken out of the list; `null`: it may. One that only ever sent beats and fell silent may, or whose run failed: nobody can say that
 * it lives, and should it beat again, it is new.
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

/** What it is shown to be doing: a process that ended does nothing, whatever it did last; but one that ended at its limit waits for that. */
export function isExited(record: AgentRecord): boolean {
  const { activity } = record.work;
  const waits = activity.kind === "WAITING" && activity.for === "provider" && endedAtLimit(record);
  return isOver(record) && activity.kind !== "FINISHED" && !waits;
}

/**
 * Whether whoever asks in the name of this agent is over. `life`: which one asks, where that is known; a later one than was heard of is there. Where it
 * is not known, the asker may be the life that is being started.
 */
export function isLifeOver(record: AgentRecord, life: number | null): boolean {
  if (life !== null && life > record.life.incarnation) return false;
  if (life === null && isStartingAgain(record)) return false;
  return isOver(record) || saidThatItIsDone(record);
}

/** Its work was given away and nothing more happens to it by itself: what is kept for it would be kept for ever. */
export const isGoneForGood = (record: AgentRecord): boolean =>
  (isOver(record) && isSettled(record)) || saidThatItIsDone(record) || isGone(record);

/** A program that says so in a terminal may still be there for the next thing. */
const saidThatItIsDone = ({ seen: { terminal }, work: { activity } }: AgentRecord): boolean =>
  terminal === null && activity.kind === "FINISHED";
