import {
  type AlertSeverity,
  type DurationMs,
  type MonoMs,
  minutes,
  type OnTimeout,
  type TaskPriority,
  type TaskReason,
  type TaskRequest,
} from "@rouse/contract";

/** An agent's claim on a task. Clocks belong to it: a new claim starts new ones. */
export interface Claim {
  /** Numbers only grow, so a lost claim is recognised by its number. */
  readonly number: number;
  readonly agentId: string;
  /** The life that claimed it; `null` when unknown. */
  readonly incarnation: number | null;
  readonly since: MonoMs;
  /** The last confirmation of the claim, for display. It is no work. */
  readonly refreshedAt: MonoMs;
  /** From when its work counts: `since`, moved on by the time it was blocked and by our gaps. */
  readonly startedAt: MonoMs;
  /** Up to when gaps are part of `startedAt` already; absent: `since`. */
  readonly watchedFrom?: MonoMs;
  readonly longRunningTold: boolean;
}

/** No work was heard of since `since`. */
export interface Stall {
  readonly since: MonoMs;
  readonly recheckAt: MonoMs;
  readonly escalated: boolean;
}

/** Each status with its own data. */
export type TaskState =
  | { readonly status: "pending" }
  | AtWork
  | {
      readonly status: "recovering";
      /** The agent that it is kept for, and the life that went down. */
      readonly agentId: string;
      readonly incarnation: number | null;
      readonly since: MonoMs;
    }
  /** A blocked task keeps its claim only if the agent itself reported the block. */
  | { readonly status: "blocked"; readonly since: MonoMs; readonly claim: Claim | null }
  | { readonly status: "completed" | "failed"; readonly by: Claim; readonly overAt: MonoMs }
  | { readonly status: "cancelled"; readonly overAt: MonoMs };

export interface AtWork {
  readonly status: "claimed" | "running";
  readonly claim: Claim;
  readonly stalled: Stall | null;
  /** It was told that the task timed out, but a freeze or the mode keeps the claim. */
  readonly timedOutAt: MonoMs | null;
}

type TaskAlertCause = "stalled" | "escalated" | "timed-out" | "blocked";

/** The one open alert of a task. */
export interface TaskAlert {
  readonly key: string;
  readonly cause: TaskAlertCause;
  readonly agentId: string | null;
  readonly severity: AlertSeverity;
  readonly raisedAt: MonoMs;
}

/** Everything core knows of one task. Plain data: it is saved as it is. */
export interface TaskRecord {
  readonly taskId: string;
  readonly title: string;
  readonly priority: TaskPriority;
  readonly owner: string | null;
  readonly timeout: DurationMs | null;
  readonly onTimeout: OnTimeout;
  readonly dependsOn: readonly string[];
  readonly createdAt: MonoMs;
  /** The last work on it: a claim, an update, a checkpoint. */
  readonly updatedAt: MonoMs;
  /** When it came into its status. */
  readonly changedAt: MonoMs;
  /** An agent's own words: shown, never acted upon. */
  readonly note: string | null;
  readonly state: TaskState;
  /** Why it is in this state. */
  readonly because: TaskReason;
  /** How many claims were ever given. */
  readonly claims: number;
  /** Only this agent may claim it: a person reserved it. */
  readonly reservedFor: string | null;
  /** Recoveries begun since a person last looked at it. */
  readonly recoveries: number;
  readonly lastCheckpoint: string | null;
  readonly alert: TaskAlert | null;
  /** How many alerts there were: a key is never used twice. */
  readonly alertsRaised: number;
  /** The next moment at which something could change by itself. */
  readonly wakeAt: MonoMs | null;
}

export function newTask(request: TaskRequest, now: MonoMs): TaskRecord {
  return {
    taskId: request.taskId,
    title: request.title,
    priority: request.priority,
    owner: request.owner,
    timeout: request.timeoutMinutes === null ? null : minutes(request.timeoutMinutes),
    onTimeout: request.onTimeout,
    dependsOn: request.dependsOn,
    createdAt: now,
    updatedAt: now,
    changedAt: now,
    note: null,
    state: { status: "pending" },
    because: "created",
    claims: 0,
    reservedFor: null,
    recoveries: 0,
    lastCheckpoint: null,
    alert: null,
    alertsRaised: 0,
    wakeAt: now,
  };
}

/** The claim that may speak for the task now. */
export function claimOf({ state }: Pick<TaskRecord, "state">): Claim | null {
  switch (state.status) {
    case "claimed":
    case "running":
    case "blocked":
      return state.claim;
    case "pending":
    case "recovering":
    case "completed":
    case "failed":
    case "cancelled":
      return null;
  }
}

export const isAtWork = (state: TaskState): state is AtWork => state.status === "claimed" || state.status === "running";

export const isTaskOver = ({ state }: Pick<TaskRecord, "state">): boolean => "overAt" in state;

/** A critical task waits for a person who may not know of it: not one that a person blocked. */
export const isCriticalBlocked = ({ priority, state, because }: TaskRecord): boolean =>
  priority === "critical" && state.status === "blocked" && because !== "marked-by-person";

/** The agent that holds the task, or is being brought back for it. */
export const workerOf = (task: Pick<TaskRecord, "state">): string | null => (isTaskOver(task) ? null : agentOf(task));

/** The agent that the task is about: it holds it, ended it, or is being brought back for it. */
export function agentOf({ state }: Pick<TaskRecord, "state">): string | null {
  switch (state.status) {
    case "claimed":
    case "running":
    case "blocked":
      return state.claim?.agentId ?? null;
    case "recovering":
      return state.agentId;
    case "completed":
    case "failed":
      return state.by.agentId;
    case "pending":
    case "cancelled":
      return null;
  }
}

const takingReasons = ["timed-out", "cancelled-by-person", "reassigned-by-person", "marked-by-person"] as const;

export interface TakenTask {
  readonly taskId: string;
  readonly because: (typeof takingReasons)[number];
}

/**
 * The agent that lost a task in this turn without letting go of it. It has to be told, or two agents would do the same
 * work.
 */
export function takenFrom(
  before: TaskRecord,
  after: TaskRecord,
): { readonly agentId: string; readonly task: TakenTask } | null {
  const agentId = workerOf(before);
  const because = reasonOf(after);
  // A task taken for one of these reasons has no claim; the next claim has its own reason.
  if (agentId === null || because === null) return null;
  return { agentId, task: { taskId: after.taskId, because } };
}

/** What an agent that comes back for a task has to know, when the task was taken meanwhile. */
export function takenMeanwhile(task: TaskRecord, agentId: string): TakenTask | null {
  const worker = workerOf(task);
  const because = reasonOf(task) ?? (worker === null ? null : "reassigned-by-person");
  return because === null || worker === agentId ? null : { taskId: task.taskId, because };
}

const reasonOf = ({ because }: TaskRecord): TakenTask["because"] | null =>
  takingReasons.find((reason: TaskReason) => reason === because) ?? null;
