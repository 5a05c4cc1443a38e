import type { MonoMs } from "@rouse/contract";
import { changeTask } from "./change-task.ts";
import { type Changed, resolveAlert, unchanged } from "./task-alert.ts";
import type { Claim, TaskRecord } from "./task-record.ts";

/** A fact of work: it is under way, and whatever was said of its standing still is over. */
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

/** The agent still means its claim. That is no work. */
export function refreshClaim(task: TaskRecord, now: MonoMs): TaskRecord {
  const { state } = task;
  if (!("claim" in state) || state.claim === null) return task;
  return { ...task, state: { ...state, claim: refreshed(state.claim, now) } };
}

const refreshed = (claim: Claim, now: MonoMs): Claim => ({ ...claim, refreshedAt: now });
