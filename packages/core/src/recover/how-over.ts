import type { HowOver, MonoMs, Policy, RemovalRefusal } from "@rouse/contract";
import { isAfterFailure } from "../assess/missed-beats.ts";
import { endedAtLimit } from "../limit.ts";
import { type AgentRecord, isOver } from "../record.ts";
import { isBetweenRuns } from "../restart-rule.ts";
import { isSettled } from "./fate-of-work.ts";
import { mayStart } from "./keep-running.ts";

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
