import type { AckReason, AckStatus, MonoMs, RouseEvent } from "@rouse/contract";
import { type AgentRecord, isOver, isStartingAgain, nextIncarnation, type TaskAtHand } from "../record.ts";
import type { Signal } from "../signal.ts";
import { isSaid } from "./read-beat.ts";

export interface Accepted {
  readonly record: AgentRecord;
  readonly answer: {
    readonly status: AckStatus;
    readonly sequence: number | null;
    readonly because: AckReason | null;
  } | null;
  readonly events: readonly RouseEvent[];
}

/** A signal that brought knowledge and needs no answer. */
export const learnt = (record: AgentRecord, events: readonly RouseEvent[] = []): Accepted => ({
  record,
  answer: null,
  events,
});

export const hearNow = (record: AgentRecord, now: MonoMs): AgentRecord => ({
  ...record,
  life: { ...record.life, heard: true, heardAt: now },
});

/**
 * Registering again starts a new life, unless the present one was never heard: then it is the same registration
 * repeated.
 */
export function acceptRegistration(
  record: AgentRecord,
  signal: Extract<Signal, { kind: "registered" }>,
  now: MonoMs,
): Accepted {
  const { registration } = signal;
  const isNewLife = record.life.heard && !isHeld(record);
  const wanted = registration.incarnation ?? (isNewLife ? record.life.incarnation + 1 : record.life.incarnation);
  if (wanted < record.life.incarnation) return { record, answer: refusal(null, "old-incarnation"), events: [] };
  if (isOursToNumber(record, wanted)) return { record, answer: refusal(null, "held"), events: [] };
  const isNew = wanted > record.life.incarnation;
  const base = isNew ? nextIncarnation(record, wanted, now) : record;
  const { taskId } = registration;
  const isNamed = base.task.claimed ? isSaid(taskId) : taskId !== undefined;
  const next: AgentRecord = {
    ...base,
    identity: {
      ...base.identity,
      agentType: registration.agentType ?? base.identity.agentType,
      node: registration.node ?? base.identity.node,
    },
    task: isNamed ? assignTask(base.task, taskId ?? null, now) : base.task,
  };
  const answer = { status: "accepted", sequence: null, because: null } as const;
  return { record: next, answer, events: isNew ? [incarnationStarted(record, wanted, "registered-again")] : [] };
}

/** The holder of a held agent says when a life begins. A program that starts over in its terminal is the same life. */
export const isHeld = ({ seen: { terminal } }: AgentRecord): boolean => terminal !== null && terminal.exit === null;

/**
 * Only we number the lives of a held agent: any other number would lock its holder out for good. An agent that is being
 * started again may be heard before its holder, and then it has the next number.
 */
export const isOursToNumber = (record: AgentRecord, wanted: number): boolean =>
  wanted > record.life.incarnation &&
  (isHeld(record) || (isStartingAgain(record) && wanted > record.life.incarnation + 1));

/** A task that was taken away need not be started. If it was the only one and timed out, what follows is overtime. */
export function noteTaken(
  record: AgentRecord,
  { taskId, because, alone }: Extract<Signal, { kind: "task-taken" }>,
  now: MonoMs,
): AgentRecord {
  if (record.task.id !== taskId) return record;
  const isOvertime = because === "timed-out" && alone && !isOver(record);
  const overtime = isOvertime ? { taskId, since: now } : record.task.overtime;
  return { ...record, task: { ...record.task, assignedAt: null, overtime } };
}

/**
 * An agent that works through a queue names its task by claiming it. A task that it named itself goes first until done.
 */
export function noteClaim(
  record: AgentRecord,
  { taskId, claim }: Extract<Signal, { kind: "assigned" }>,
  now: MonoMs,
): AgentRecord {
  const isOwnWord = record.task.id !== null && !record.task.claimed;
  if (claim === "held") {
    const task = isOwnWord ? record.task : { ...assignTask(record.task, taskId, now), claimed: true };
    // The agent has a task of its own again, so nothing is overtime.
    return { ...record, task: { ...task, overtime: null } };
  }
  if (record.task.id !== taskId) return record;
  if (!isOwnWord) return { ...record, task: assignTask(record.task, null, now) };
  // The task stays known: its checkpoints are the best start if a person brings the agent back.
  return claim === "done" ? { ...record, task: { ...record.task, claimed: true } } : record;
}

export const assignTask = (task: TaskAtHand, id: string | null, now: MonoMs): TaskAtHand => ({
  ...task,
  id,
  assignedAt: id === task.id ? task.assignedAt : id === null ? null : now,
  claimed: false,
});

export const refusal = (sequence: number | null, because: AckReason) => ({
  status: "rejected" as const,
  sequence,
  because,
});

export function incarnationStarted(
  record: AgentRecord,
  to: number,
  because: "registered-again" | "announced-in-heartbeat" | "sequence-started-over",
): RouseEvent {
  return {
    type: "AGENT_INCARNATION_STARTED",
    payload: { agentId: record.agentId, from: record.life.incarnation, to, because },
  };
}
