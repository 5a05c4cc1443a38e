import {
  type EpochMs,
  Fault,
  type MonoMs,
  minutes,
  type TaskClaim,
  type TaskHealth,
  type TaskRefusal,
  type TaskReport,
  type TaskStatus,
  toIso,
} from "@rouse/contract";
import {
  agentOf,
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

/** What a report of a task is made with. */
export interface TaskView {
  readonly now: MonoMs;
  readonly toWall: (at: MonoMs) => EpochMs;
  readonly doubt: TaskDoubt;
  readonly rulesFor: (task: TaskRecord) => TaskRules;
  readonly statusSince: (taskId: string) => MonoMs;
  readonly isCompleted: (taskId: string) => boolean;
  /** `null`: no such task. */
  readonly statusOf: (taskId: string) => TaskStatus | null;
  readonly dependentsOf: (taskId: string) => readonly string[];
}

type Iso = (at: MonoMs) => string;
type Flag = TaskReport["flags"][number];

/** A task as the API shows it: dates instead of steady time. */
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
    updatedAt: iso(Math.max(task.updatedAt, task.changedAt)),
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
  isAtWork(task.state) ? timeoutDue(task, task.state.claim, { rules: view.rulesFor(task), doubt: view.doubt }) : null;

function flagsOf(task: TaskRecord, view: TaskView): Flag[] {
  const work = isAtWork(task.state) ? task.state : null;
  const flags: Flag[] = [];
  if (work !== null && work.stalled !== null) flags.push("stalled");
  if (work?.stalled?.escalated) flags.push("escalated");
  if (work?.claim.longRunningTold) flags.push("long-running");
  if (task.because === "timed-out" || (work !== null && work.timedOutAt !== null)) flags.push("timed-out");
  if (isUnclaimed(task, view)) flags.push("unclaimed");
  return flags;
}

/** Whether it is ready and nobody takes it. */
const isUnclaimed = (task: TaskRecord, { now, rulesFor, statusSince, isCompleted }: TaskView): boolean =>
  task.state.status === "pending" &&
  now - statusSince(task.taskId) > rulesFor(task).stalled &&
  isTaskReady(task, isCompleted);

/** More tasks are counted, but not listed. */
const mostListed = 1000;

/** Seed 004's view: how many there are, and those that are not over, blocked and flagged ones first. */
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
    // There may be many: only those that are listed are described.
    tasks: active.slice(0, mostListed).map((task) => describeTask(task, view)),
  };
}

interface Asked {
  readonly task: TaskRecord;
  /** The agent that asked, or that a person named; `null` when they named none. */
  readonly agentId: string | null;
  /** The tasks it depends on that are not completed. */
  readonly waitsFor: readonly string[];
}

/** A refusal in one sentence: the reason, and what can be done about it. */
export function explainRefusal(because: TaskRefusal, asked: Asked): Fault {
  return new Fault("task-refused", `${sentenceFor(because, asked)} (${because})`);
}

function sentenceFor(because: TaskRefusal, { task, agentId, waitsFor }: Asked): string {
  const { taskId } = task;
  const who = agentId ?? "that agent";
  switch (because) {
    case "exists":
      return `task ${taskId} is there already, ${task.state.status}`;
    case "taken":
      return `task ${taskId} is ${describeHolder(task)}`;
    case "not-yours":
      return `${who} does not hold task ${taskId}: it is ${describeHolder(task)}`;
    case "claim-lost":
      return `the claim on task ${taskId} that was named is over: it is ${describeHolder(task)}`;
    case "over":
      return `task ${taskId} is ${task.state.status}; nothing more can be done with it`;
    case "not-ready":
      return `task ${taskId} waits for ${listed(waitsFor)}`;
    case "blocked":
      return `task ${taskId} needs a person; \`rouse tasks unblock ${taskId}\` frees it`;
    case "being-recovered":
      return `${agentOf(task) ?? "its agent"} is being brought back with task ${taskId}; it is kept for it`;
    case "few-assignments":
      return `too many of ${who}'s last tasks failed: it gets one at a time, and has one`;
    case "disabled":
      return `too many of ${who}'s last tasks failed: it gets none until \`rouse tasks trust ${who}\``;
    case "quarantined":
      return `${who} is quarantined: it gets no new tasks`;
    case "agent-over":
      return `${who} is not there any more: it gets no tasks before it is started again`;
    case "recoveries-exhausted":
      return `agents went down too often with task ${taskId}; \`rouse tasks unblock ${taskId}\` lets it be tried again`;
  }
}

function describeHolder(task: TaskRecord): string {
  const claim = claimOf(task);
  if (claim !== null) return `${claim.agentId}'s by claim ${claim.number}`;
  if (task.state.status === "pending" && task.reservedFor !== null) return `meant for ${task.reservedFor}`;
  return task.state.status === "pending" ? "nobody's, and can be claimed" : task.state.status;
}

const mostNamed = 5;

function listed(ids: readonly string[]): string {
  const more = ids.length - mostNamed;
  return ids.slice(0, mostNamed).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
