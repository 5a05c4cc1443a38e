import { describeDuration, type MonoMs, type OnTimeout } from "@rouse/contract";
import { blindSince, lastGap } from "../doubt.ts";
import { changeTask } from "./change-task.ts";
import { startLater } from "./forgive-blindness.ts";
import { andThen, type Changed, nameTask, raiseAlert, resolveAlert, unchanged } from "./task-alert.ts";
import { type AtWork, type Claim, isAtWork, type Stall, type TaskRecord, type TaskState } from "./task-record.ts";
import type { TaskContext, TaskDoubt, TaskRules } from "./task-signal.ts";

/** What time alone does to a task. Only work has clocks: waiting for a claim, a person or a recovery is no delay. */
export function watchTaskClocks(task: TaskRecord, context: TaskContext): Changed {
  const { now, rules } = context;
  const closing = alertDue(task, rules);
  if (closing !== null) return now < closing ? unchanged(task) : resolveAlert(task);
  const late = watching(task, (state) => watchTimeout(task, state, context));
  const stalled = andThen(late, (next) => watching(next, (state) => watchStall(next, state, context)));
  return andThen(stalled, (next) => watching(next, (state) => watchLength(next, state, context)));
}

const watching = (task: TaskRecord, watch: (state: AtWork) => Changed): Changed =>
  isAtWork(task.state) ? watch(task.state) : unchanged(task);

/** A timeout is told when it is due; the claim is taken as soon as freeze and mode allow. */
function watchTimeout(task: TaskRecord, state: AtWork, context: TaskContext): Changed {
  const { now, rules, doubt } = context;
  const due = timeoutDue(task, state.claim, context);
  if (due === null || now < due) return unchanged(task);
  const told = state.timedOutAt === null ? tellTimeout(task, state, now, rules) : unchanged(task);
  return isHandsOff(rules, doubt) ? told : andThen(told, (late) => takeAway(late, now));
}

function tellTimeout(task: TaskRecord, state: AtWork, now: MonoMs, { mode }: TaskRules): Changed {
  const { taskId, onTimeout } = task;
  const { agentId, startedAt } = state.claim;
  const ran = now - startedAt;
  const then = mode === "observe" ? "it stays there, as the mode is observe" : `then ${becomes[onTimeout]}`;
  const summary = `${nameTask(task)} is over its timeout after ${describeDuration(ran)} with ${agentId}; ${then}`;
  const late: TaskRecord = { ...task, state: { ...state, timedOutAt: now } };
  const payload = { agentId, taskId, runningSeconds: wholeSeconds(ran) };
  const told: Changed = { task: late, events: [{ type: "TASK_TIMED_OUT", payload }], actions: [] };
  return andThen(told, (next) => raiseAlert(next, { cause: "timed-out", severity: "critical", summary }, now));
}

const becomes: Readonly<Record<OnTimeout, string>> = {
  reassign: "it is given back",
  cancel: "it is cancelled",
  person: "it waits for a person",
};

function takeAway(task: TaskRecord, now: MonoMs): Changed {
  const ends: Readonly<Record<OnTimeout, TaskState>> = {
    reassign: { status: "pending" },
    cancel: { status: "cancelled", overAt: now },
    person: { status: "blocked", since: now, claim: null },
  };
  return changeTask(task, { to: ends[task.onTimeout], because: "timed-out", actor: "rouse", keepAlert: true }, now);
}

/** Without an update somebody is told; without one at the second look, once more and louder. */
function watchStall(task: TaskRecord, state: AtWork, context: TaskContext): Changed {
  const { now, rules, doubt } = context;
  const due = stallDue(task, state, context);
  if (due === null || now < due) return unchanged(task);
  const { stalled } = state;
  const since = stalled?.since ?? quietSince(task, doubt);
  const next: Stall = { since, recheckAt: stalled?.recheckAt ?? now + rules.recheck, escalated: stalled !== null };
  const { taskId } = task;
  const { agentId } = state.claim;
  const payload = { agentId, taskId, withoutUpdateSeconds: wholeSeconds(now - since) };
  const told: Changed = {
    task: { ...task, state: { ...state, stalled: next } },
    events: [{ type: next.escalated ? "TASK_ESCALATED" : "TASK_STALLED", payload }],
    actions: [],
  };
  const summary = `${nameTask(task)} had no update from ${agentId} for ${describeDuration(now - since)}`;
  const alert = next.escalated
    ? ({ cause: "escalated", severity: "critical", summary } as const)
    : ({ cause: "stalled", severity: "warning", summary } as const);
  return andThen(told, (quiet) => raiseAlert(quiet, alert, now));
}

function watchLength(task: TaskRecord, state: AtWork, { now, rules }: TaskContext): Changed {
  const { claim } = state;
  const due = lengthDue(claim, rules);
  if (due === null || now < due) return unchanged(task);
  const { agentId, startedAt } = claim;
  const payload = { agentId, taskId: task.taskId, runningSeconds: wholeSeconds(now - startedAt) };
  return {
    task: { ...task, state: { ...state, claim: { ...claim, longRunningTold: true } } },
    events: [{ type: "TASK_LONG_RUNNING", payload }],
    actions: [],
  };
}

const wholeSeconds = (ms: number): number => Math.floor(ms / 1000);

/** A deadline does not depend on the moment at which it is asked for. */
type Bounds = Pick<TaskContext, "rules"> & { readonly doubt: TaskDoubt };

/** A freeze or the mode forbids interventions: the task is told of, and stays where it is. */
const isHandsOff = ({ mode }: Pick<TaskRules, "mode">, { frozen }: Pick<TaskDoubt, "frozen">): boolean =>
  frozen || mode === "observe";

/** When the clocks could next change something. A timeout that is held back waits for the thaw or another mode. */
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

/** When the task times out. Gaps of ours do not count, and what was said in them may still be on its way. */
export function timeoutDue({ timeout }: TaskRecord, claim: Claim, { rules, doubt }: Bounds): MonoMs | null {
  if (timeout === null) return null;
  const due = startLater(claim, doubt).startedAt + timeout;
  // Only the first gap near the deadline counts, or a stumbling monitor would never reach it.
  const near = doubt.gaps.find(({ to }) => to > claim.since && to + rules.recheck > due);
  // Later gaps are no time in which the agent could have been heard.
  return near === undefined ? due : near.to + rules.recheck + blindSince(doubt, near.to);
}

function stallDue(task: TaskRecord, state: AtWork, bounds: Bounds): MonoMs | null {
  const { rules, doubt } = bounds;
  if (state.timedOutAt !== null) return null;
  if (state.stalled === null) return quietSince(task, doubt) + rules.stalled;
  return state.stalled.escalated ? null : recheckDue(state.stalled, bounds);
}

const quietSince = (task: TaskRecord, doubt: TaskDoubt): MonoMs =>
  Math.max(task.updatedAt, lastGap(doubt)?.to ?? task.updatedAt);

const recheckDue = ({ recheckAt }: Stall, { rules, doubt }: Bounds): MonoMs =>
  Math.max(recheckAt, (lastGap(doubt)?.to ?? -Infinity) + rules.recheck);

const lengthDue = (claim: Claim, rules: TaskRules): MonoMs | null =>
  claim.longRunningTold ? null : claim.startedAt + rules.longRunning;

/** The alert of a cancelled task closes after a while: nobody can do anything about it. */
const alertDue = ({ state, alert }: TaskRecord, rules: TaskRules): MonoMs | null =>
  state.status === "cancelled" && alert !== null ? state.overAt + rules.recheck : null;
