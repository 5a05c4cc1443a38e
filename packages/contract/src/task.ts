import { z } from "zod";
import { CallerName } from "./audit.ts";
import { AgentId, Id } from "./heartbeat.ts";
import { Next } from "./page.ts";

/** `blocked`: it needs a person. `recovering`: its agent is being brought back, and no other may take it. */
export const TaskStatus = z
  .enum(["pending", "claimed", "running", "recovering", "blocked", "completed", "failed", "cancelled"])
  .meta({ id: "TaskStatus" });
export type TaskStatus = z.infer<typeof TaskStatus>;

export const TaskPriority = z.enum(["low", "normal", "high", "critical"]).meta({ id: "TaskPriority" });
export type TaskPriority = z.infer<typeof TaskPriority>;

/** What becomes of a task that exceeds its timeout. */
export const OnTimeout = z.enum(["reassign", "cancel", "person"]).meta({ id: "OnTimeout" });
export type OnTimeout = z.infer<typeof OnTimeout>;

/** Why a task is in its state, or lost its claim. */
export const TaskReason = z
  .enum([
    "created",
    "claimed",
    "started",
    "updated",
    "done",
    "agent-failed-it",
    "cancelled-by-person",
    "reassigned-by-person",
    "released-by-agent",
    "agent-stopped",
    "agent-finished",
    "agent-gone",
    "handed-off",
    "timed-out",
    "recoveries-exhausted",
    "repeated-error",
    "agent-blocked",
    "being-recovered",
    "recovered",
    "recovered-by-person",
    "marked-by-person",
    "unblocked-by-person",
  ])
  .meta({ id: "TaskReason" });
export type TaskReason = z.infer<typeof TaskReason>;

/** Why a request about a task was not granted. */
export const TaskRefusal = z
  .enum([
    "exists",
    "taken",
    "not-yours",
    "claim-lost",
    "over",
    "not-ready",
    "blocked",
    "being-recovered",
    "few-assignments",
    "disabled",
    "quarantined",
    "agent-over",
    "recoveries-exhausted",
  ])
  .meta({ id: "TaskRefusal" });
export type TaskRefusal = z.infer<typeof TaskRefusal>;

/** How many tasks an agent may hold: `few` is one at a time, `none` is none until a person says so. */
export const AssignmentStanding = z.enum(["normal", "few", "none"]).meta({ id: "AssignmentStanding" });
export type AssignmentStanding = z.infer<typeof AssignmentStanding>;

export const TaskRequest = z
  .strictObject({
    taskId: Id,
    title: z.string().max(500).default(""),
    priority: TaskPriority.default("normal"),
    timeoutMinutes: z.number().positive().max(43_200).nullable().default(null),
    onTimeout: OnTimeout.default("reassign"),
    /** Tasks that must be completed first. */
    dependsOn: z.array(Id).max(100).default([]),
    /** Who is named in alerts that it stands still, is late or needs a person. */
    owner: z.string().max(200).nullable().default(null),
    /** With it, the audit trail has a line that a person made the task. */
    actor: CallerName.optional(),
  })
  .meta({ id: "TaskRequest" });
export type TaskRequest = z.infer<typeof TaskRequest>;

export const ClaimRequest = z.strictObject({ agentId: AgentId }).meta({ id: "ClaimRequest" });

/** `claim` is the number of the claim: an agent that lost it cannot speak for the task any more. */
export const TaskUpdate = z
  .strictObject({
    agentId: AgentId,
    claim: z.number().int().positive().optional(),
    note: z.string().max(1000).optional(),
    status: z.enum(["running", "blocked"]).optional(),
  })
  .meta({ id: "TaskUpdate" });
export type TaskUpdate = z.infer<typeof TaskUpdate>;

/** How a claim ended: completed, failed, or released. */
export const TaskWord = TaskUpdate.omit({ status: true }).meta({ id: "TaskWord" });
export type TaskWord = z.infer<typeof TaskWord>;

export const TaskRefresh = TaskWord.omit({ note: true }).meta({ id: "TaskRefresh" });
export type TaskRefresh = z.infer<typeof TaskRefresh>;

/** A person's order about a task. `to`: the agent it is meant for; `null`: any that claims it. */
export const TaskOrder = z
  .strictObject({
    actor: CallerName.optional(),
    reason: z.string().max(500).default("no reason given"),
    to: AgentId.nullable().optional(),
  })
  .meta({ id: "TaskOrder" });
export type TaskOrder = z.infer<typeof TaskOrder>;

export const TaskClaim = z
  .object({
    number: z.number().int(),
    agentId: z.string(),
    since: z.string(),
    /** When the claim was last refreshed. */
    refreshedAt: z.string(),
  })
  .meta({ id: "TaskClaim" });
export type TaskClaim = z.infer<typeof TaskClaim>;

export const TaskReport = z
  .object({
    taskId: z.string(),
    title: z.string(),
    priority: TaskPriority,
    status: TaskStatus,
    because: TaskReason,
    owner: z.string().nullable(),
    claim: TaskClaim.nullable(),
    /** Only this agent may claim it. */
    reservedFor: z.string().nullable(),
    note: z.string().nullable(),
    dependsOn: z.array(z.string()),
    /** Those of them that are not completed yet. `status: null`: there is no such task. */
    waitsFor: z.array(z.object({ taskId: z.string(), status: TaskStatus.nullable() })),
    /** Tasks that wait for this one. */
    dependents: z.array(z.string()),
    createdAt: z.string(),
    startedAt: z.string().nullable(),
    updatedAt: z.string(),
    /** Counted from the claim on. */
    timeoutMinutes: z.number().nullable(),
    timeoutAt: z.string().nullable(),
    onTimeout: OnTimeout,
    /** Who completed or failed it. */
    endedBy: z.string().nullable(),
    flags: z.array(z.enum(["stalled", "escalated", "long-running", "timed-out", "unclaimed"])),
    recoveries: z.number().int(),
    lastCheckpoint: z.string().nullable(),
  })
  .meta({ id: "Task" });
export type TaskReport = z.infer<typeof TaskReport>;

/** Seed 004's view of the tasks. */
export const TaskHealth = z
  .object({
    total_tasks: z.number(),
    active_tasks: z.number(),
    stalled_tasks: z.number(),
    long_running_tasks: z.number(),
    blocked_tasks: z.number(),
    tasks_by_status: z.partialRecord(TaskStatus, z.number()),
    tasks: z.array(TaskReport),
  })
  .meta({ id: "TaskHealth" });
export type TaskHealth = z.infer<typeof TaskHealth>;

/** `total`: how many there are, of which this may be the first page. */
export const TaskPage = z
  .object({ tasks: z.array(TaskReport), total: z.number().int(), next: Next })
  .meta({ id: "Tasks" });
export type TaskPage = z.infer<typeof TaskPage>;

/** `null`: there is nothing to do at the moment. */
export const NextTask = z.object({ task: TaskReport.nullable() }).meta({ id: "NextTask" });
export type NextTask = z.infer<typeof NextTask>;

export const AssignmentsReport = z
  .object({ agentId: z.string(), standing: AssignmentStanding })
  .meta({ id: "Assignments" });
export type AssignmentsReport = z.infer<typeof AssignmentsReport>;
