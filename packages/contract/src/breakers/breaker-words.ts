import { z } from "zod";
import { Next } from "../page.ts";

export const BreakerState = z.enum(["CLOSED", "OPEN", "HALF_OPEN"]).meta({ id: "BreakerState" });
export type BreakerState = z.infer<typeof BreakerState>;

/**
 * `agent`: it runs inside the agent, which reports it. `observed`: Rouse runs it over calls that it sees. `rouse`: it
 * holds back what Rouse itself does.
 */
export const BreakerSource = z.enum(["agent", "observed", "rouse"]).meta({ id: "BreakerSource" });
export type BreakerSource = z.infer<typeof BreakerSource>;

export const CircuitBreakerStatus = z
  .object({
    /** `AGENT/OPERATION`, such as `worker-1/tool_execution/grep`. */
    name: z.string(),
    state: BreakerState,
    agentId: z.string(),
    operation: z.string(),
    source: BreakerSource,
    /** In this state. */
    since: z.string(),
    /** In a row: since its last success while it is closed, else those that opened it; 0 where nobody said how many. */
    failures: z.number(),
    /** How often it opened. */
    trips: z.number(),
    /** Of an open one: when something is let through again. */
    retryAt: z.string().nullable(),
    /** Somebody reset it, and its agent has not heard of it yet. */
    resetPending: z.boolean(),
    /** Nothing more comes of its agent, so what its breaker says is of then. */
    agentOver: z.boolean(),
  })
  .meta({ id: "CircuitBreakerStatus" });
export type CircuitBreakerStatus = z.infer<typeof CircuitBreakerStatus>;

/** A page of breakers. */
export const BreakerList = z
  .object({ breakers: z.array(CircuitBreakerStatus), next: Next })
  .meta({ id: "BreakerList" });
export type BreakerList = z.infer<typeof BreakerList>;

/** What a breaker guards: an operation, or one target of it, such as `external_api/api.example.com`. */
export const Operation = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:@+/-]{0,199}$/,
    "1 to 200 letters, digits or . _ : @ + - /, beginning with a letter or digit",
  )
  .meta({ id: "Operation" });

/** How one of an agent's own breakers stands, told with a heartbeat. */
export const BreakerNews = z
  .object({
    operation: Operation,
    state: BreakerState,
    failures: z.number().int().min(0).max(1_000_000).optional(),
    /** Of an open one: when something is let through again. */
    retryInSeconds: z.number().min(0).max(2_592_000).optional(),
  })
  .meta({ id: "BreakerNews" });
export type BreakerNews = z.infer<typeof BreakerNews>;
