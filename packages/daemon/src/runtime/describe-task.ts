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
  readonly rulesFor: (taskId: string) => TaskRules;
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
    startedAt: worked === null ? null : iso(worked.startedAt),
    updatedAt: iso(task.updatedAt),
    timeoutMinutes: task.timeout === null ? null : task.timeout / minutes(1),
    timeoutAt: timeoutAt === null ? null : iso(timeoutAt),
    onTimeout: task.onTimeout,
    endedBy: "by" in task.state ? task.state.by.agentId : null,
    flags: flagsOf(task, view),
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
  isAtWork(task.state) ? timeoutDue(task, task.state.claim, view.rulesFor(task.taskId), view.doubt) : null;

function flagsOf(task: TaskRecord, view: TaskView): Flag[] {
  const { state } = task;
  const flags: Flag[] = [];
  if (isAtWork(state)) {
    if (state.stalled !== null) flags.push("stalled");
    if (state.stalled?.escalated) flags.push("escalated");
    if (state.claim.longRunningTold) flags.push("long-running");
  }
  if (task.because === "timed-out" || (isAtWork(state) && state.timedOutAt !== null)) flags.push("timed-out");
  if (isUnclaimed(task, view)) flags.push("unclaimed");
  return flags;
}

/** It could be had, and nobody takes it. What still waits for other tasks cannot be had. */
const isUnclaimed = (task: TaskRecord, { now, rulesFor, statusSince, isCompleted }: TaskView): boolean =>
  task.state.status === "pending" &&
  now - statusSince(task.taskId) > rulesFor(task.taskId).stalled &&
  isTaskReady(task, isCompleted);

/** More are counted, but not listed: nobody looks at so many. */
const mostListed = 1000;

/** Seed 004's view: how many, and those that are not over, the ones something is the matter with first. */
export function describeTaskHealth(tasks: readonly TaskRecord[], view: TaskView): TaskHealth {
  const byStatus: Partial<Record<TaskStatus, number>> = {};
  for (const { state } of tasks) byStatus[state.status] = (byStatus[state.status] ?? 0) + 1;
  const active = tasks.filter((task) => !isTaskOver(task)).map((task) => describeTask(task, view));
  const flagged = (flag: Flag): number => active.filter(({ flags }) => flags.includes(flag)).length;
  return {
    total_tasks: tasks.length,
    active_tasks: active.length,
    stalled_tasks: flagged("stalled"),
    long_running_tasks: flagged("long-running"),
    blocked_tasks: byStatus.blocked ?? 0,
    tasks_by_status: byStatus,
    tasks: active.toSorted((a, b) => trouble(b) - trouble(a)).slice(0, mostListed),
  };
}

const trouble = ({ status, flags }: TaskReport): number => (status === "blocked" ? 10 : 0) + flags.length;
