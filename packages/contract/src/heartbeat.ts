import { z } from "zod";
import { BreakerNews } from "./breakers/breaker-words.ts";
import { OpenWork, WaitKind } from "./health.ts";
import { idPattern, idRule, longestCommandId, ownPrefix, ownPrefixRule } from "./ids.ts";
import { AgentAnswer } from "./incident.ts";

export const Id = z.string().regex(idPattern, idRule);

/** The monitor's own beat, sent through the whole path to show that it works. */
export const canaryId = "rouse.canary";

export const AgentId = Id.refine((id) => !id.startsWith(ownPrefix), ownPrefixRule);

const AgentTime = z
  .string()
  .max(64)
  .refine((text) => !Number.isNaN(Date.parse(text)), "must be a date and time such as 2026-02-05T10:30:00Z");

const Count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);

/** What an agent may say of itself: an activity, that its run failed, or a status of older agents (DEGRADED, …). */
export const agentStatuses = [
  "STARTING",
  "RUNNING",
  "WAITING",
  "IDLE",
  "FINISHED",
  "FAILED",
  "DEGRADED",
  "UNRESPONSIVE",
  "QUARANTINED",
  "TERMINATED",
] as const;
export const AgentStatus = z.enum(agentStatuses).meta({ id: "AgentStatus" });
export type AgentStatus = z.infer<typeof AgentStatus>;

/** Free-form readings. Those named here are understood; the rest is kept as it came. */
export const HealthMetrics = z
  .record(z.string().max(100), z.unknown())
  .refine((metrics) => Object.keys(metrics).length <= 64, "at most 64 metrics")
  .refine((metrics) => JSON.stringify(metrics).length <= 8192, "at most 8 kB of metrics")
  .meta({
    id: "HealthMetrics",
    description:
      "Understood: consecutiveFailures (count), errorRate (0 to 1), memory and context (share of the limit, 0 to 1). Snake case works too.",
  });
export type HealthMetrics = z.infer<typeof HealthMetrics>;

/** 30 days, in seconds. */
export const longestPromiseSeconds = 2_592_000;

export const Heartbeat = z
  .object({
    agentId: Id,
    taskId: Id.nullish(),
    incarnation: z.number().int().positive().max(Number.MAX_SAFE_INTEGER).optional(),
    sequenceNumber: Count.optional(),
    timestamp: AgentTime.optional(),
    status: AgentStatus.optional(),
    waitingFor: WaitKind.optional(),
    waitingUntil: AgentTime.optional(),
    open: OpenWork.nullish(),
    phase: z.string().max(200).nullish(),
    progressIndicator: z.string().max(1000).nullish(),
    lastToolCall: z.string().max(200).nullish(),
    lastCheckpoint: z.string().max(200).nullish(),
    tokenCount: Count.optional(),
    errorCount: Count.optional(),
    toolCallCount: Count.optional(),
    agentType: Id.optional(),
    node: Id.optional(),
    /**
     * A promise to be heard again within this time, until a beat without it. The first beat that is late by more than
     * `graceSeconds` is told.
     */
    everySeconds: z.number().min(1).max(longestPromiseSeconds).optional(),
    graceSeconds: z.number().min(0).max(longestPromiseSeconds).optional(),
    healthMetrics: HealthMetrics.optional(),
    /** Its circuit breakers that changed since its last beat; all that are not closed with the first beat of a life. */
    breakers: z.array(BreakerNews).max(100).optional(),
    /** Ids of commands the agent has read: the evidence that a nudge was seen. */
    seen: z.array(z.string().max(longestCommandId)).max(20).optional(),
    /** Who has read them; `program` when not given. Only `agent` is a receipt: a timer shows commands to nobody. */
    seenBy: z.enum(["agent", "program"]).optional(),
    answer: AgentAnswer.optional(),
    checksum: z.string().max(200).optional(),
  })
  .meta({
    id: "Heartbeat",
    description:
      "Only agentId is needed. Unknown fields are ignored. Snake case is understood, and so are agentName, currentTask and a status in free words. checksum, when given, is the SHA-256 (hex) of the canonical JSON (RFC 8785) of this object without its checksum field.",
  });
export type Heartbeat = z.infer<typeof Heartbeat>;

/** The same message under the snake-case names that Python agents tend to send. */
const snakeNames: Readonly<Record<string, keyof Heartbeat>> = {
  agent_id: "agentId",
  task_id: "taskId",
  current_task_id: "taskId",
  sequence_number: "sequenceNumber",
  waiting_for: "waitingFor",
  waiting_until: "waitingUntil",
  current_phase: "phase",
  progress_indicator: "progressIndicator",
  last_tool_call_timestamp: "lastToolCall",
  last_tool_call: "lastToolCall",
  last_checkpoint: "lastCheckpoint",
  token_count: "tokenCount",
  error_count: "errorCount",
  tool_call_count: "toolCallCount",
  agent_type: "agentType",
  every_seconds: "everySeconds",
  grace_seconds: "graceSeconds",
  health_metrics: "healthMetrics",
  seen_by: "seenBy",
};

export function renameSnakeCase(message: Record<string, unknown>): Record<string, unknown> {
  const renamed: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(message)) {
    const name = Object.hasOwn(snakeNames, key) ? snakeNames[key] : key;
    if (name !== undefined && name !== "__proto__") renamed[name] = value;
  }
  return renamed;
}

/**
 * A heartbeat under the names of this contract. One with an `agentId` is read as it is; then snake case counts, and last
 * the names of Convex-style agents: `agentName`, `currentTask` and a `status` in words of their own. Whoever checks for
 * whom a heartbeat speaks must read it through here, too: otherwise the one name is checked and the other believed.
 */
export function understandNames(message: Record<string, unknown>): Record<string, unknown> {
  if ("agentId" in message) return message;
  const renamed = renameSnakeCase(message);
  const { agentName, agent_name, currentTask, current_task, status, ...rest } = renamed;
  const name = agentName ?? agent_name;
  if (name === undefined || "agentId" in renamed) return renamed;
  return {
    agentId: name,
    ...readTask(currentTask === undefined ? current_task : currentTask),
    ...readStatus(status),
    ...rest,
  };
}

/** A task in free words names no task that Rouse could know: it is what the agent is doing. */
function readTask(task: unknown): Record<string, unknown> {
  if (task === undefined || task === "") return {};
  return typeof task === "string" && !idPattern.test(task) ? { phase: task.slice(0, 200) } : { taskId: task };
}

/**
 * What free words mean by a status. Any other word says nothing; `offline` is no `FINISHED`, which would complete the
 * agent's tasks.
 */
const statusWords: ReadonlyMap<string, AgentStatus> = new Map<string, AgentStatus>([
  ...agentStatuses.map((status) => [status.toLowerCase(), status] as const),
  ["working", "RUNNING"],
  ["busy", "RUNNING"],
  ["active", "RUNNING"],
  ["in_progress", "RUNNING"],
  ["offline", "IDLE"],
  ["done", "FINISHED"],
  ["completed", "FINISHED"],
  ["error", "FAILED"],
]);

function readStatus(status: unknown): Record<string, unknown> {
  if (typeof status !== "string") return status === undefined ? {} : { status };
  const known = statusWords.get(status.toLowerCase());
  return known === undefined ? {} : { status: known };
}

export const AckStatus = z.enum(["accepted", "duplicate", "stale", "rejected"]).meta({ id: "AckStatus" });
export type AckStatus = z.infer<typeof AckStatus>;

/** Why a beat was not taken as news, from a closed set. */
export const AckReason = z
  .enum([
    "seen-before",
    "older-than-last",
    "old-incarnation",
    "held",
    "wrong-checksum",
    "absurd-time",
    "malformed",
    "reserved-id",
  ])
  .meta({ id: "AckReason" });
export type AckReason = z.infer<typeof AckReason>;

/** Something the monitor asks of an agent; it rides on the acknowledgement. */
export const Command = z
  .object({
    id: z.string(),
    kind: z.enum(["check-in", "nudge", "recovery", "reset-breaker"]),
    because: z.string(),
    /** Of a nudge: what to tell the agent, facts in fixed words. */
    message: z.string().optional(),
    /** Of a reset: the operation whose breaker is to be closed. */
    breaker: z.string().optional(),
    /** Of a recovery: the context as in ROUSE_RECOVERY. */
    recovery: z.unknown().optional(),
  })
  .meta({
    id: "Command",
    description:
      "check-in: send a full heartbeat now; the monitor was blind for a while. nudge: show `message` to the agent; name its id under `seen` in the next heartbeat and answer under `answer`. recovery: where to go on. reset-breaker: close the breaker of this operation, and name the id under `seen`.",
  });
export type Command = z.infer<typeof Command>;

/** The answer to a check-in: the nudges that the agent had not seen, and once where to go on. */
export const CheckInAnswer = z
  .object({ agentId: z.string(), commands: z.array(Command) })
  .meta({ id: "CheckInAnswer" });
export type CheckInAnswer = z.infer<typeof CheckInAnswer>;

export const HeartbeatAck = z
  .object({
    agentId: z.string(),
    sequenceNumber: z.number().int().nullable(),
    status: AckStatus,
    receivedAt: z.string(),
    commands: z.array(Command),
    because: AckReason.optional(),
    problem: z.string().optional(),
  })
  .meta({ id: "HeartbeatAck" });
export type HeartbeatAck = z.infer<typeof HeartbeatAck>;
