import type { MonoMs } from "@rouse/contract";
import { type Change, changeTask, dropClaim, giveClaim, noteWork } from "./change-task.ts";
import { type Changed, unchanged } from "./task-alert.ts";
import { claimOf, isTaskOver, type TaskRecord } from "./task-record.ts";
import type { AgentDownSignal, TaskContext } from "./task-signal.ts";

/** An agent went down: its claims and reservations end, and its tasks go where the work can go on. */
export function agentWentDown(task: TaskRecord, signal: AgentDownSignal, context: TaskContext): Changed {
  const { now, rules } = context;
  const { state } = task;
  // Silence is only our judgement: in observe mode somebody else decides what it means.
  if (signal.because === "agent-gone" && rules.mode === "observe") return unchanged(task);
  switch (state.status) {
    case "claimed":
    case "running":
      return state.claim.agentId === signal.agentId ? releaseTask(task, signal, context) : unchanged(task);
    case "recovering":
      return state.agentId === signal.agentId ? releaseTask(task, signal, context) : unchanged(task);
    case "pending": {
      if (isOrderedBack(signal) && isFree(task, signal)) return releaseTask(task, signal, context);
      if (!isKeptForNobody(task, signal)) return unchanged(task);
      const facts = { reservedFor: null };
      return changeTask(task, { to: state, because: signal.because, actor: "rouse", facts }, now);
    }
    case "blocked":
      if (isOrderedBack(signal) && isFree(task, signal)) return releaseTask(task, signal, context);
      if (state.claim?.agentId === signal.agentId) return dropClaim(task, signal.because);
      return unchanged(isKeptForNobody(task, signal) ? { ...task, reservedFor: null } : task);
    case "completed":
    case "failed":
    case "cancelled":
      return unchanged(task);
  }
}

/** A reservation for an agent that does not come back would keep the task from everybody else. */
const isKeptForNobody = (task: TaskRecord, signal: AgentDownSignal): boolean =>
  task.reservedFor === signal.agentId && signal.fate !== "recovering";

/** A person who orders the agent back has looked at the task, unless a person blocked it. */
const isFree = ({ because, reservedFor }: TaskRecord, { agentId }: AgentDownSignal): boolean =>
  because !== "marked-by-person" && (reservedFor === null || reservedFor === agentId);

const isOrderedBack = ({ because }: AgentDownSignal): boolean => because === "recovered-by-person";

function releaseTask(task: TaskRecord, signal: AgentDownSignal, { now, rules }: TaskContext): Changed {
  const { agentId, because, fate } = signal;
  const left = { actor: "rouse", releasedBecause: because };
  if (fate === "blocked") return changeTask(task, { ...left, to: waitsForPerson(now), because }, now);
  const ordered = isOrderedBack(signal);
  const spends = !ordered && signal.afterLimit !== true;
  if (spends && task.recoveries >= rules.maxRecoveries)
    return changeTask(task, { ...left, to: waitsForPerson(now), because: "recoveries-exhausted" }, now);
  if (fate === "released") return changeTask(task, { ...left, to: { status: "pending" }, because }, now);
  // A person's order begins the count anew.
  const recoveries = ordered ? 0 : task.recoveries + (spends ? 1 : 0);
  if (task.state.status === "recovering") return unchanged({ ...task, recoveries });
  const incarnation = claimOf(task)?.incarnation ?? null;
  const to = { status: "recovering", agentId, incarnation, since: now } as const;
  return changeTask(task, { ...left, to, because: ordered ? because : "being-recovered", facts: { recoveries } }, now);
}

const waitsForPerson = (now: MonoMs): Change["to"] => ({ status: "blocked", since: now, claim: null });

/** The agent's new life takes up the task of its last one, with a claim of its own. */
export function agentCameBack(task: TaskRecord, agentId: string, incarnation: number, now: MonoMs): Changed {
  if (task.state.status !== "recovering" || task.state.agentId !== agentId) return unchanged(task);
  return giveClaim(task, { agentId, incarnation }, "recovered", now);
}

/** A checkpoint is work, unless it comes from an agent that does not hold the task. */
export function noteCheckpoint(task: TaskRecord, checkpoint: string, agentId: string | null, now: MonoMs): Changed {
  if (isTaskOver(task)) return unchanged(task);
  const kept: TaskRecord = { ...task, lastCheckpoint: checkpoint };
  const own = agentId === null || agentId === claimOf(task)?.agentId;
  return own ? noteWork(kept, null, now) : unchanged(kept);
}
