import type { MonoMs, RouseEvent, TaskReason } from "@rouse/contract";
import { alertOfBlock, andThen, type Changed, raiseAlert, resolveAlert, unchanged } from "./task-alert.ts";
import { type AtWork, agentOf, type Claim, claimOf, type TaskRecord, type TaskState } from "./task-record.ts";

export interface Change {
  readonly to: TaskState;
  readonly because: TaskReason;
  /** `rouse`, an agent, or a person. */
  readonly actor: string;
  /** Why the claim ended, where that differs from why the task changed. */
  readonly releasedBecause?: TaskReason;
  /** The open alert was raised for this very change. */
  readonly keepAlert?: boolean;
  readonly facts?: Partial<Omit<TaskRecord, "taskId" | "changedAt" | "state" | "because" | "alert" | "alertsRaised">>;
}

/** The one place where a task changes its state: who lost or got the claim, why, and who has to be told. */
export function changeTask(before: TaskRecord, change: Change, now: MonoMs): Changed {
  const { to, because, facts } = change;
  const changedAt = to.status === before.state.status ? before.changedAt : now;
  const after: TaskRecord = { ...before, ...facts, changedAt, state: to, because };
  const moved: Changed = { task: after, events: tellChange(before, after, change), actions: [] };
  return change.keepAlert === true
    ? moved
    : andThen(moved, (task) => settleAlert(task, now, agentOf(after) ?? agentOf(before)));
}

function settleAlert(task: TaskRecord, now: MonoMs, about: string | null): Changed {
  const wanted = task.state.status === "blocked" ? alertOfBlock(task, task.because) : null;
  return wanted === null ? resolveAlert(task) : raiseAlert(task, wanted, now, about);
}

function tellChange(before: TaskRecord, after: TaskRecord, change: Change): RouseEvent[] {
  const { taskId } = before;
  const { because, actor } = change;
  const agentId = agentOf(after) ?? agentOf(before);
  const from = before.state.status;
  const to = after.state.status;
  return [
    ...tellRelease(before, after, change.releasedBecause ?? because),
    ...tellClaim(before, after),
    { type: "TASK_CHANGED", payload: { agentId, taskId, from, to, because, actor } },
    ...(to === "blocked" ? [{ type: "TASK_BLOCKED" as const, payload: { agentId, taskId, because } }] : []),
  ];
}

/** A claim that ended with the task done or failed was not taken from anybody. */
function tellRelease(before: TaskRecord, after: TaskRecord, because: TaskReason): RouseEvent[] {
  const lost = claimOf(before);
  if (lost === null || lost.number === claimOf(after)?.number || "by" in after.state) return [];
  const { agentId, number: claim } = lost;
  return [{ type: "TASK_RELEASED", payload: { agentId, taskId: before.taskId, claim, because } }];
}

function tellClaim(before: TaskRecord, after: TaskRecord): RouseEvent[] {
  const given = claimOf(after);
  if (given === null || given.number === claimOf(before)?.number) return [];
  return [{ type: "TASK_CLAIMED", payload: { agentId: given.agentId, taskId: after.taskId, claim: given.number } }];
}

/** Gives the next claim of the task. */
export function giveClaim(
  task: TaskRecord,
  to: { readonly agentId: string; readonly incarnation: number | null },
  because: "claimed" | "recovered",
  now: MonoMs,
): Changed {
  const number = task.claims + 1;
  const { agentId, incarnation } = to;
  const life = { since: now, refreshedAt: now, startedAt: now, longRunningTold: false };
  const claim: Claim = { number, agentId, incarnation, ...life };
  const status = because === "recovered" ? "running" : "claimed";
  const change: Change = {
    to: { status, claim, stalled: null, timedOutAt: null },
    because,
    // A task that is still held is given only to a later life of the same agent.
    releasedBecause: "agent-gone",
    actor: because === "recovered" ? "rouse" : agentId,
    facts: { claims: number, updatedAt: now, reservedFor: null },
  };
  return changeTask(task, change, now);
}

/** Back to work with the same claim. The time that the task was blocked does not count. */
export function resumeClaim(claim: Claim, blockedSince: MonoMs, now: MonoMs): AtWork {
  const startedAt = claim.startedAt + (now - blockedSince);
  const resumed = { ...claim, startedAt, watchedFrom: now, refreshedAt: now };
  return { status: "running", claim: resumed, stalled: null, timedOutAt: null };
}

/** Takes the claim off a blocked task, which stays blocked. */
export function dropClaim(task: TaskRecord, because: TaskReason): Changed {
  const { state } = task;
  if (state.status !== "blocked" || state.claim === null) return unchanged(task);
  const after: TaskRecord = { ...task, state: { ...state, claim: null } };
  return { task: after, events: tellRelease(task, after, because), actions: [] };
}

/** Notes work on the task: it is running, and a stall is over. */
export function noteWork(before: TaskRecord, note: string | null, now: MonoMs): Changed {
  const task: TaskRecord = { ...before, updatedAt: now, note: note ?? before.note };
  const { state } = task;
  switch (state.status) {
    case "claimed": {
      const to = { ...state, status: "running", claim: refreshed(state.claim, now), stalled: null } as const;
      const { agentId: actor } = state.claim;
      // Work does not undo a timeout.
      return changeTask(task, { to, because: "started", actor, keepAlert: state.timedOutAt !== null }, now);
    }
    case "running": {
      const moved = { ...task, state: { ...state, claim: refreshed(state.claim, now), stalled: null } };
      return state.timedOutAt === null ? resolveAlert(moved) : unchanged(moved);
    }
    case "blocked":
      return unchanged(refreshClaim(task, now));
    case "pending":
    case "recovering":
    case "completed":
    case "failed":
    case "cancelled":
      return unchanged(before);
  }
}

/** The agent confirms its claim, which is no work. */
export function refreshClaim(task: TaskRecord, now: MonoMs): TaskRecord {
  const { state } = task;
  if (!("claim" in state) || state.claim === null) return task;
  return { ...task, state: { ...state, claim: refreshed(state.claim, now) } };
}

const refreshed = (claim: Claim, now: MonoMs): Claim => ({ ...claim, refreshedAt: now });
