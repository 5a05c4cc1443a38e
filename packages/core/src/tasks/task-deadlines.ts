import type { MonoMs } from "@rouse/contract";
import { blindSince, lastGap } from "../doubt.ts";
import { startLater } from "./forgive-blindness.ts";
import { type AtWork, type Claim, isAtWork, type Stall, type TaskRecord } from "./task-record.ts";
import type { TaskContext, TaskDoubt, TaskRules } from "./task-signal.ts";

/** A deadline does not depend on the moment it is asked for at. */
type Bounds = Pick<TaskContext, "rules"> & { readonly doubt: TaskDoubt };

/** A person stopped all interventions, or wants none of them for this task: it is told of, and stays where it is. */
export const isHandsOff = ({ mode }: Pick<TaskRules, "mode">, { frozen }: Pick<TaskDoubt, "frozen">): boolean =>
  frozen || mode === "observe";

/** When the clocks could next change something. A timeout that is held back waits for the thaw, or for another mode. */
export function nextLook(task: TaskRecord, bounds: Bounds): MonoMs | null {
  const { rules, doubt } = bounds;
  const { state } = task;
  if (!isAtWork(state)) return alertDue(task, rules);
  const heldBack = state.timedOutAt !== null && isHandsOff(rules, doubt);
  const due = [
    heldBack ? null : timeoutDue(task, state.claim, bounds),
    stallDue(task, state, bounds),
    lengthDue(state.claim, rules),
  ].filter((at) => at !== null);
  return due.length === 0 ? null : Math.min(...due);
}

/** Our own blindness is not held against it, and what was said meanwhile may still be on its way. */
export function timeoutDue({ timeout }: TaskRecord, claim: Claim, { rules, doubt }: Bounds): MonoMs | null {
  if (timeout === null) return null;
  const due = startLater(claim, doubt).startedAt + timeout;
  // The first gap near its end counts, or a monitor that stumbles again and again would never come to it.
  const near = doubt.gaps.find(({ to }) => to > claim.since && to + rules.recheck > due);
  // What we were blind for after it is no part of the time in which its agent could have been heard.
  return near === undefined ? due : near.to + rules.recheck + blindSince(doubt, near.to);
}

export function stallDue(task: TaskRecord, state: AtWork, bounds: Bounds): MonoMs | null {
  const { rules, doubt } = bounds;
  if (state.timedOutAt !== null) return null;
  if (state.stalled === null) return quietSince(task, doubt) + rules.stalled;
  return state.stalled.escalated ? null : recheckDue(state.stalled, bounds);
}

export const quietSince = (task: TaskRecord, doubt: TaskDoubt): MonoMs =>
  Math.max(task.updatedAt, lastGap(doubt)?.to ?? task.updatedAt);

const recheckDue = ({ recheckAt }: Stall, { rules, doubt }: Bounds): MonoMs =>
  Math.max(recheckAt, (lastGap(doubt)?.to ?? -Infinity) + rules.recheck);

export const lengthDue = (claim: Claim, rules: TaskRules): MonoMs | null =>
  claim.longRunningTold ? null : claim.startedAt + rules.longRunning;

/** Nobody can do anything about a task that a timeout cancelled: they were told, and after a while that is all. */
export const alertDue = ({ state, alert }: TaskRecord, rules: TaskRules): MonoMs | null =>
  state.status === "cancelled" && alert !== null ? state.overAt + rules.recheck : null;
