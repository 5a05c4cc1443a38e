import { z } from "zod";
import { ActivityReport, FindingReport, HealthReason, HealthState } from "./health.ts";
import { AgentId, Id } from "./heartbeat.ts";

export const BreakerState = z.enum(["CLOSED", "OPEN", "HALF_OPEN"]).meta({ id: "BreakerState" });
export type BreakerState = z.infer<typeof BreakerState>;

export const CircuitBreakerStatus = z
  .object({ name: z.string(), state: BreakerState })
  .meta({ id: "CircuitBreakerStatus" });
export type CircuitBreakerStatus = z.infer<typeof CircuitBreakerStatus>;

/** Announces an agent, or, for one already known, the start of its next incarnation. */
export const AgentRegistration = z
  .strictObject({
    agentId: AgentId,
    agentType: Id.optional(),
    node: Id.optional(),
    taskId: Id.nullish(),
    incarnation: z.number().int().positive().max(Number.MAX_SAFE_INTEGER).optional(),
  })
  .meta({ id: "AgentRegistration" });
export type AgentRegistration = z.infer<typeof AgentRegistration>;

/** `null` means not known; it is never the same as zero. */
export const AgentMetrics = z
  .object({
    uptimeSeconds: z.number(),
    tokenCount: z.number().nullable(),
    errorCount: z.number().nullable(),
    toolCallCount: z.number().nullable(),
    interventionCount: z.number(),
  })
  .meta({ id: "AgentMetrics" });
export type AgentMetrics = z.infer<typeof AgentMetrics>;

export const AgentHealth = z
  .object({
    agentId: z.string(),
    taskId: z.string().nullable(),
    state: HealthState,
    stateChangedAt: z.string(),
    stateReason: HealthReason,
    lastHeartbeat: z.string().nullable(),
    lastCheckpoint: z.string().nullable(),
    metrics: AgentMetrics,
    circuitBreakers: z.array(CircuitBreakerStatus),
    activity: ActivityReport,
    findings: z.array(FindingReport),
    incarnation: z.number().int(),
    lineage: z.string(),
    agentType: z.string().nullable(),
    node: z.string().nullable(),
  })
  .meta({ id: "AgentHealth" });
export type AgentHealth = z.infer<typeof AgentHealth>;

/** One point of an agent's past: how it stood at the end of a stretch of time, and what came in during it. */
export const HealthSnapshot = z
  .object({
    at: z.string(),
    state: HealthState,
    beats: z.number().int(),
    tokenCount: z.number().nullable(),
    errorCount: z.number().nullable(),
    toolCallCount: z.number().nullable(),
  })
  .meta({ id: "HealthSnapshot" });
export type HealthSnapshot = z.infer<typeof HealthSnapshot>;
