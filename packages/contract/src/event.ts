import { z } from "zod";
import { FindingReport, HealthReason, HealthState } from "./health.ts";
import { AckReason, Heartbeat } from "./heartbeat.ts";

/** What made the monitor blind for a while. Each is answered with an amnesty. */
export const GapCause = z.enum(["stall", "suspend", "clock-step", "restart", "store-outage"]).meta({ id: "GapCause" });
export type GapCause = z.infer<typeof GapCause>;

/** Why the monitor holds back every verdict that rests on silence. */
export const HoldCause = z.enum(["mass-silence", "path-unproven"]).meta({ id: "HoldCause" });
export type HoldCause = z.infer<typeof HoldCause>;

export const AlertSeverity = z.enum(["critical", "warning", "info"]).meta({ id: "AlertSeverity" });
export type AlertSeverity = z.infer<typeof AlertSeverity>;

const agentId = z.string();

/**
 * Facts, in the past tense, under the names the event bus of the seeds uses. AGENT_HEARTBEAT is streamed only to those who ask
 * for it by name and is not numbered: the beats themselves are kept, not a second copy of each.
 */
const payloads = {
  AGENT_HEARTBEAT: Heartbeat,
  AGENT_REGISTERED: z.object({ agentId, incarnation: z.number(), taskId: z.string().nullable() }),
  AGENT_INCARNATION_STARTED: z.object({
    agentId,
    from: z.number(),
    to: z.number(),
    because: z.enum(["registered-again", "announced-in-heartbeat", "sequence-started-over"]),
  }),
  AGENT_FINISHED: z.object({ agentId, incarnation: z.number() }),
  AGENT_RECOVERED: z.object({ agentId, from: HealthState, illForSeconds: z.number() }),
  HEALTH_STATE_CHANGED: z.object({
    agentId,
    from: HealthState,
    to: HealthState,
    reason: HealthReason,
    findings: z.array(FindingReport.omit({ since: true })),
  }),
  HEARTBEAT_MISSED: z.object({ agentId, missed: z.number(), silentSeconds: z.number() }),
  HEARTBEATS_LOST: z.object({ agentId, count: z.number(), afterSequence: z.number(), beforeSequence: z.number() }),
  HEARTBEAT_REFUSED: z.object({ agentId, because: AckReason, sequenceNumber: z.number().nullable() }),
  ALERT_RAISED: z.object({
    agentId: agentId.nullable(),
    alert: z.string(),
    severity: AlertSeverity,
    summary: z.string(),
  }),
  ALERT_RESOLVED: z.object({ agentId: agentId.nullable(), alert: z.string() }),
  MONITOR_STARTED: z.object({ version: z.string(), resumed: z.boolean(), agents: z.number() }),
  MONITOR_STOPPED: z.object({}),
  MONITOR_GAP: z.object({ cause: GapCause, lastedSeconds: z.number(), detail: z.string() }),
  HOLD_STARTED: z.object({ because: HoldCause, scope: z.string(), silent: z.number(), of: z.number() }),
  HOLD_ENDED: z.object({ because: HoldCause, scope: z.string(), lastedSeconds: z.number() }),
  CONFIG_RELOADED: z.object({ policy: z.string() }),
  CONFIG_REFUSED: z.object({ problems: z.array(z.string()) }),
  MONITOR_FROZEN: z.object({ actor: z.string(), reason: z.string() }),
  MONITOR_THAWED: z.object({ actor: z.string(), reason: z.string() }),
} as const;

export type EventType = keyof typeof payloads;
export const eventTypes = Object.keys(payloads) as EventType[];

/** An event as core states it; the runtime numbers it and adds the time when it is saved. */
export type RouseEvent = { [T in EventType]: { type: T; payload: z.infer<(typeof payloads)[T]> } }[EventType];

export type SavedEvent = RouseEvent & { id: number; time: string };

const eventSchemas = eventTypes.map((type) =>
  z.object({ id: z.number().int(), time: z.string(), type: z.literal(type), payload: payloads[type] }),
);
export const SavedEvent = z.union(eventSchemas).meta({ id: "Event" }) as unknown as z.ZodType<SavedEvent>;
