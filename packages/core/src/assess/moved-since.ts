import { type LoopKind, loopKinds, type MonoMs } from "@rouse/contract";
import type { Activity, Mark } from "../facts.ts";
import type { NudgeLife } from "../incident.ts";
import type { AgentRecord } from "../record.ts";

/** So many new lines are more than the same error once more. */
export const linesThatMove = 5;

export const isLoop = (kind: string | null): boolean => loopKinds.includes(kind as LoopKind);

/** Whether the agent did something new since its nudge, and not the same again. */
export function movedSince(record: AgentRecord, { cause, sent }: Pick<NudgeLife, "cause" | "sent">): boolean {
  if (sent === null) return false;
  if (isLoop(cause)) return hasNewStep(record, sent.at);
  const newLines = (record.seen.terminal?.novel ?? 0) - sent.novel;
  if (cause === "repeated-error") return newLines >= linesThatMove;
  // An agent that had gone quiet has moved when it writes at all; of any other, the same lines again do not count.
  if (cause === "no-output" || cause === null) return newestFact(record) > sent.at;
  return newLines > 0 || newestOf(record.seen.facts.progress, record.seen.facts.checkpoint) > sent.at;
}

/** The nudge restarted the trail's window, but the trail still knows what was seen before. */
export function hasNewStep({ seen: { steps } }: AgentRecord, since: MonoMs): boolean {
  if (steps === null) return false;
  const { windowFrom } = steps;
  return steps.steps.some(
    (step) => step.event >= windowFrom && (step.at ?? since + 1) > since && (step.novelCall || step.novelResult),
  );
}

export const newestFact = ({ seen: { facts, terminal } }: AgentRecord): MonoMs =>
  newestOf(facts.progress, facts.checkpoint, terminal?.output ?? null);

/** Repeated lines are no work of an agent that tells of its progress; of any other agent they are all that is known. */
export const newestWork = (record: AgentRecord): MonoMs =>
  record.seen.facts.progress === null
    ? newestFact(record)
    : newestOf(record.seen.facts.progress, record.seen.facts.checkpoint);

const newestOf = (...marks: (Mark | null)[]): MonoMs =>
  Math.max(...marks.map((mark) => mark?.at ?? Number.NEGATIVE_INFINITY));

/**
 * A nudge clears the evidence. That is no recovery: the verdict stands until the agent has moved or has rightly come to
 * rest.
 */
export function awaitsNewEvidence(record: AgentRecord, now: MonoMs): boolean {
  const { health } = record;
  const { reached } = record.ladder;
  if (health.state !== "STUCK" || reached === null || isAtRest(record.work.activity, now)) return false;
  return !movedSince(record, reached) && !hasEndedTurn(record, reached.sent.at);
}

/** The program says that the turn is over, and not by a failure. */
const hasEndedTurn = ({ seen: { terminal } }: AgentRecord, since: MonoMs): boolean =>
  terminal !== null && terminal.failedTurn === null && (terminal.turnEndedAt?.at ?? since) > since;

/** A wait whose time is up is no rest. */
const isAtRest = (activity: Activity, now: MonoMs): boolean =>
  activity.kind === "WAITING"
    ? activity.until === null || activity.until > now
    : activity.kind !== "RUNNING" && activity.kind !== "STARTING";

/** The findings without those that a nudge clears. */
export const withoutCleared = ({ health: { findings } }: AgentRecord): AgentRecord["health"]["findings"] =>
  findings.filter(({ kind }) => !isLoop(kind) && kind !== "repeated-error");
