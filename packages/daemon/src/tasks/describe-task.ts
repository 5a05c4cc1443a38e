import {
  type EpochMs,
  type MonoMs,
  minutes,
  type TaskClaim,
  type TaskHealth,
  type TaskReport,
  type TaskStatus,
  toIso,
} from "@rouse/contract";
import {
  type AtWork,
  type Claim,
  claimOf,
  isAtWork,
  isTaskOver,
  isTaskReady,
  type TaskDoubt,
  type TaskRecord,
  type TaskRules,
  timeoutDue,
} from "@rouse/core";

/** What a task is looked at with. */
export interface TaskView {
  readonly now: MonoMs;
  readonly toWall: (at: MonoMs) => EpochMs;
  readonly doubt: TaskDoubt;
  readonly rulesFor: (task: TaskRecord) => TaskRules;
  readonly statusSince: (taskId: string) => MonoMs;
  readonly isCompleted: (taskId: string) => boolean;
  /** `null`: there is none. */
  readonly statusOf: (taskId: string) => TaskStatus | null;
  readonly dependentsOf: (taskId: string) => readonly string[];
}

type Iso = (at: MonoMs) => string;
type Flag = TaskReport["flags"][number];

/** The record as people and programs outside see it: dates instead of steady time. */
export function describeTask(task: TaskRecord, view: TaskView): TaskReport {
  const iso: Iso = (at) => toIso(view.toWall(at));
  const claim = claimOf(task);
  const worked = "by" in task.state ? task.state.by : claim;
  const timeoutAt = timeoutOf(task, view);
  return {
    taskId: task.taskId,
    title: task.title,
    priority: task.priority,
    status: task.state.status,
    because: task.because,
    owner: task.owner,
    claim: claim === null ? null : describeClaim(claim, iso),
    reservedFor: task.reservedFor,
    note: task.note,
    dependsOn: [...task.dependsOn],
    waitsFor: waitsFor(task, view),
    dependents: [...view.dependentsOf(task.taskId)],
    createdAt: iso(task.createdAt),
    startedAt: worked === null ? null : iso(worked.since),
    updatedAt: iso(task.updatedAt),
    timeoutMinutes: task.timeout === null ? null : task.timeout / minutes(1),
    timeoutAt: timeoutAt === null ? null : iso(timeoutAt),
    onTimeout: task.onTimeout,
    endedBy: "by" in task.state ? task.state.by.agentId : null,
    flags: [...flagsOf(task, view)],
    recoveries: task.recoveries,
    lastCheckpoint: task.lastCheckpoint,
  };
}

const waitsFor = ({ dependsOn }: TaskRecord, { isCompleted, statusOf }: TaskView): TaskReport["waitsFor"] =>
  dependsOn.filter((taskId) => !isCompleted(taskId)).map((taskId) => ({ taskId, status: statusOf(taskId) }));

const describeClaim = ({ number, agentId, since, refreshedAt }: Claim, iso: Iso): TaskClaim => ({
  number,
  agentId,
  since: iso(since),
  refreshedAt: iso(refreshedAt),
});

const timeoutOf = (task: TaskRecord, view: TaskView): MonoMs | null =>
  isAtWork(task.state) ? timeoutDue(task, task.state.claim, { rules: view.rulesFor(task), doubt: view.doubt }) : null;

function flagsOf(task: TaskRecord, view: TaskView): readonly Flag[] {
  const { state } = task;
  const late = task.because === "timed-out" || (isAtWork(state) && state.timedOutAt !== null);
  if (isAtWork(state)) return flagsOfWork(state, late);
  if (isUnclaimed(task, view)) return late ? ["timed-out", "unclaimed"] : ["unclaimed"];
  return late ? ["timed-out"] : [];
}

function flagsOfWork({ stalled, claim }: AtWork, late: boolean): Flag[] {
  const flags: Flag[] = [];
  if (stalled !== null) flags.push("stalled");
  if (stalled?.escalated) flags.push("escalated");
  if (claim.longRunningTold) flags.push("long-running");
  if (late) flags.push("timed-out");
  return flags;
}

/** It could be had, and nobody takes it. What still waits for other tasks cannot be had. */
const isUnclaimed = (task: TaskRecord, { now, rulesFor, statusSince, isCompleted }: TaskView): boolean =>
  task.state.status === "pending" &&
  now - statusSince(task.taskId) > rulesFor(task).stalled &&
  isTaskReady(task, isCompleted);

/** More are counted, but not listed: nobody looks at so many. */
const mostListed = 1000;

/** Seed 004's view: how many, and those that are not over, the ones something is the matter with first. */
export function describeTaskHealth(tasks: readonly TaskRecord[], view: TaskView): TaskHealth {
  const byStatus: Partial<Record<TaskStatus, number>> = {};
  const byFlag: Partial<Record<Flag, number>> = {};
  const byUrgency = new Map<number, TaskRecord[]>();
  for (const task of tasks) {
    byStatus[task.state.status] = (byStatus[task.state.status] ?? 0) + 1;
    if (isTaskOver(task)) continue;
    const flags = flagsOf(task, view);
    for (const flag of flags) byFlag[flag] = (byFlag[flag] ?? 0) + 1;
    const urgency = (task.state.status === "blocked" ? 10 : 0) + flags.length;
    const alike = byUrgency.get(urgency);
    if (alike === undefined) byUrgency.set(urgency, [task]);
    else alike.push(task);
  }
  const active = [...byUrgency].sort(([a], [b]) => b - a).flatMap(([, alike]) => alike);
  return {
    total_tasks: tasks.length,
    active_tasks: active.length,
    stalled_tasks: byFlag.stalled ?? 0,
    long_running_tasks: byFlag["long-running"] ?? 0,
    blocked_tasks: byStatus.blocked ?? 0,
    tasks_by_status: byStatus,
    // There may be many: those to be listed are chosen before anything is described.
    tasks: active.slice(0, mostListed).map((task) => describeTask(task, view)),
  };
}
