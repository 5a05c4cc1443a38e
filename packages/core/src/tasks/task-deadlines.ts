import type { MonoMs } from "@rouse/contract";
import { type Doubt, lastGap } from "../doubt.ts";
import { type AtWork, type Claim, isAtWork, type Stall, type TaskRecord } from "./task-record.ts";
import type { TaskRules } from "./task-signal.ts";

export type TaskDoubt = Pick<Doubt, "gaps" | "frozen">;

/** When the clocks could next change something. A timeout that a freeze holds back waits for the thaw. */
export function nextLook(task: TaskRecord, rules: TaskRules, doubt: TaskDoubt): MonoMs | null {
  const { state } = task;
  if (!isAtWork(state)) return alertDue(task, rules);
  const heldBack = state.timedOutAt !== null && doubt.frozen;
  const due = [
    heldBack ? null : timeoutDue(task, state.claim, rules, doubt),
    stallDue(task, state, rules, doubt),
    lengthDue(state.claim, rules),
  ].filter((at) => at !== null);
  return due.length === 0 ? null : Math.min(...due);
}

/** Our own blindness is not held against it: what was said meanwhile may still be on its way. */
export function timeoutDue(
  { timeout }: TaskRecord,
  { startedAt }: Claim,
  rules: TaskRules,
  doubt: TaskDoubt,
): MonoMs | null {
  if (timeout === null) return null;
  const seenAgainAt = lastGap(doubt)?.to ?? startedAt;
  return Math.max(startedAt + timeout, seenAgainAt > startedAt ? seenAgainAt + rules.recheck : startedAt);
}

export function stallDue(task: TaskRecord, state: AtWork, rules: TaskRules, doubt: TaskDoubt): MonoMs | null {
  if (state.timedOutAt !== null) return null;
  if (state.stalled === null) return quietSince(task, doubt) + rules.stalled;
  return state.stalled.escalated ? null : recheckDue(state.stalled, rules, doubt);
}

export const quietSince = (task: TaskRecord, doubt: TaskDoubt): MonoMs =>
  Math.max(task.updatedAt, lastGap(doubt)?.to ?? task.updatedAt);

const recheckDue = ({ recheckAt }: Stall, rules: TaskRules, doubt: TaskDoubt): MonoMs =>
  Math.max(recheckAt, (lastGap(doubt)?.to ?? -Infinity) + rules.recheck);

export const lengthDue = (claim: Claim, rules: TaskRules): MonoMs | null =>
  claim.longRunningTold ? null : claim.startedAt + rules.longRunning;

/** Nobody can do anything about a task that a timeout cancelled: they were told, and after a while that is all. */
export const alertDue = ({ state, alert }: TaskRecord, rules: TaskRules): MonoMs | null =>
  state.status === "cancelled" && alert !== null ? state.overAt + rules.recheck : null;
