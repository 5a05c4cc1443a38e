import { type LoopKind, loopKinds, type MonoMs } from "@rouse/contract";
import type { Activity, Mark } from "../facts.ts";
import type { NudgeLife } from "../incident.ts";
import type { AgentRecord } from "../record.ts";

/** New lines that are more than the same error once more. */
export const linesThatMove = 5;

export const isLoop = (kind: string | null): boolean => loopKinds.includes(kind as LoopKind);

/** Whether the agent did something new since it was nudged: not the same again, and not merely something. */
export function movedSince(record: AgentRecord, { cause, sent }: Pick<NudgeLife, "cause" | "sent">): boolean {
  if (sent === null) return false;
  if (isLoop(cause)) return hasNewStep(record, sent.at);
  const newLines = (record.seen.terminal?.novel ?? 0) - sent.novel;
  if (cause === "repeated-error") return newLines >= linesThatMove;
  // Who had gone quiet has moved when it writes at all. Of anybody else, the same lines once more are nothing.
  if (cause === "no-output" || cause === null) return newestFact(record) > sent.at;
  return newLines > 0 || newestOf(record.seen.facts.progress, record.seen.facts.checkpoint) > sent.at;
}

/** The trail was started anew with the nudge, and still knows what had been seen before it. */
export function hasNewStep({ seen: { steps } }: AgentRecord, since: MonoMs): boolean {
  if (steps === null) return false;
  const { windowFrom } = steps;
  return steps.steps.some(
    (step) => step.event >= windowFrom && (step.at ?? since + 1) > since && (step.novelCall || step.novelResult),
  );
}

export const newestFact = ({ seen: { facts, terminal } }: AgentRecord): MonoMs =>
  newestOf(facts.progress, facts.checkpoint, terminal?.output ?? null);

/** Lines that say the same again are no work of one that tells of its work; of anybody else nobody knows better. */
export const newestWork = (record: AgentRecord): MonoMs =>
  record.seen.facts.progress === null
    ? newestFact(record)
    : newestOf(record.seen.facts.progress, record.seen.facts.checkpoint);

const newestOf = (...marks: (Mark | null)[]): MonoMs =>
  Math.max(...marks.map((mark) => mark?.at ?? Number.NEGATIVE_INFINITY));

/**
 * After a nudge the evidence is cleared, so what was found is found no more. That is our doing and no recovery: the verdict stands until the agent has
 * moved, or has rightly come to rest.
 */
export function awaitsNewEvidence(record: AgentRecord, now: MonoMs): boolean {
  const { health } = record;
  const { reached } = record.ladder;
  if (health.state !== "STUCK" || reached === null || isAtRest(record.work.activity, now)) return false;
  return !movedSince(record, reached) && !hasEndedTurn(record, reached.sent.at);
}

/** Its program says that it is done for now, and not for a failure. */
const hasEndedTurn = ({ seen: { terminal } }: AgentRecord, since: MonoMs): boolean =>
  terminal !== null && terminal.failedTurn === null && (terminal.turnEndedAt?.at ?? since) > since;

/** A wait whose time is up is none. */
const isAtRest = (activity: Activity, now: MonoMs): boolean =>
  activity.kind === "WAITING"
    ? activity.until === null || activity.until > now
    : activity.kind !== "RUNNING" && activity.kind !== "STARTING";

/** What was found of steps stands until the next step, and of errors until the next look; of what a nudge has cleared, nothing does. */
export const withoutCleared = ({ health: { findings } }: AgentRecord): AgentRecord["health"]["findings"] =>
  findings.filter(({ kind }) => !isLoop(kind) && kind !== "repeated-error");
