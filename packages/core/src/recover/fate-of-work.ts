import type { TaskReason } from "@rouse/contract";
import { endedAtLimit } from "../limit.ts";
import { type AgentRecord, isOver, isStartingAgain } from "../record.ts";
import type { TerminalFacts } from "../terminal-facts.ts";

/** What a turn of an agent means for the tasks it holds. */
export type Fate =
  /** `afterLimit`: the agent did not fail, so no recovery is charged. */
  | { readonly kind: "recovering"; readonly because: TaskReason; readonly afterLimit: boolean }
  | { readonly kind: "released" | "blocked"; readonly because: TaskReason }
  | { readonly kind: "recovered"; readonly incarnation: number }
  | { readonly kind: "completed" };

/**
 * Claims are released when an agent is stopped, so that others can work. While it is being brought back they are kept
 * for it, so that nobody does the same work beside it.
 */
export function fateOfWork(before: AgentRecord, after: AgentRecord): Fate | null {
  if (after.life.incarnation > before.life.incarnation)
    return { kind: "recovered", incarnation: after.life.incarnation };
  const isOrderedNow = isStartingAgain(after) && after.ending.restart?.key !== before.ending.restart?.key;
  // The finished run has done its task, and the next one takes its own.
  if (isOrderedNow && after.ending.restart?.because === "kept-running")
    return isOver(before) ? null : fateOfDead(after);
  if (isOrderedNow)
    return {
      kind: "recovering",
      because: isOrdered(after) ? "recovered-by-person" : "being-recovered",
      afterLimit: after.ending.restart?.because === "limit-over",
    };
  if (wasHandedOff(before, after)) return { kind: "released", because: "handed-off" };
  if (isOver(after) && isSettled(after) && !(isOver(before) && isSettled(before))) return fateOfDead(after);
  // The word of an agent that we did not start is all there is.
  const saysDone =
    after.seen.terminal === null && after.work.activity.kind === "FINISHED" && before.work.activity.kind !== "FINISHED";
  if (saysDone) return { kind: "completed" };
  return isGone(after) && !isGone(before) ? { kind: "released", because: "agent-gone" } : null;
}

const isOrdered = ({ ending: { restart } }: AgentRecord): boolean => restart?.because === "ordered";

/** Rouse does nothing more about the agent. */
export const isSettled = (record: AgentRecord): boolean =>
  record.ladder.incident === null &&
  !isStartingAgain(record) &&
  !endedAtLimit(record) &&
  (record.ending.stop === null || !record.ending.stop.thenRestart);

const wasHandedOff = (before: AgentRecord, { ladder: { handedOver } }: AgentRecord): boolean =>
  handedOver?.because === "handed-off" && handedOver.incident !== before.ladder.handedOver?.incident;

function fateOfDead({
  seen: { terminal },
  work: { activity },
  ending: { stop },
  ladder: { handedOver },
}: AgentRecord): Fate {
  if (activity.kind === "FINISHED" && !isBrokenOff(terminal)) return { kind: "completed" };
  if (stop?.cause === "repeated-error") return { kind: "blocked", because: "repeated-error" };
  const because = handedOver?.because;
  if (because === "recoveries-exhausted" || because === "relapse" || because === "restarts-exhausted")
    return { kind: "blocked", because: "recoveries-exhausted" };
  return { kind: "released", because: "agent-stopped" };
}

/**
 * A person or a signal ended the agent in the middle of its work, even with status 0. After its turn, status 0 is the
 * ordinary way to leave a program.
 */
function isBrokenOff(terminal: TerminalFacts | null): boolean {
  const exit = terminal?.exit ?? null;
  if (terminal === null || exit === null || (exit.cause !== "person" && exit.cause !== "killed")) return false;
  const isDone = terminal.completedAt !== null || terminal.turnEndedAt !== null;
  return !isDone || (exit.cause === "person" && exit.code !== 0);
}

/**
 * An agent that is silent, not ours to start again, and handed to a person for whatever reason: its work must not wait
 * for it. An agent that is heard again keeps its work, also while a person still has its silence in hand.
 */
export const isGone = ({ health, seen: { terminal }, ladder: { handedOver } }: AgentRecord): boolean =>
  terminal === null && health.state === "UNRESPONSIVE" && handedOver !== null;
