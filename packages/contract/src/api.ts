import { z } from "zod";
import { AgentHealth, HealthSnapshot, OverReport } from "./agent.ts";
import { CallerName } from "./audit.ts";
import { LostWork } from "./checkpoint.ts";
import { EscalationEnding } from "./escalation.ts";
import { FleetCause, GapCause, HoldCause, SavedEvent } from "./event.ts";
import { faultCodes } from "./fault.ts";
import { EvidenceClass, HealthState } from "./health.ts";
import { Heartbeat, HeartbeatAck } from "./heartbeat.ts";
import { OrderRefusal, StopDetails, TreeTier } from "./holder.ts";
import { EndingReason, IncidentEnding, IncidentReport } from "./incident.ts";
import { overKinds } from "./over-words.ts";
import { Next } from "./page.ts";

/** A `Fault` on the wire (RFC 9457): the `application/problem+json` of every refused request. */
export const Problem = z
  .object({
    /** `urn:rouse:problem:` and the code. */
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    /** What is wrong here, and what to do about it. */
    detail: z.string(),
    /** Stable: scripts and metrics may use it. */
    code: z.enum(faultCodes),
    /** The same request may succeed later. */
    retryable: z.boolean(),
    /** Only with `escalation-closed`: how the question ended. */
    ended: EscalationEnding.optional(),
  })
  .meta({ id: "Problem" });
export type Problem = z.infer<typeof Problem>;

export const AckList = z.object({ acks: z.array(HeartbeatAck) }).meta({ id: "HeartbeatAcks" });
/** One acknowledgement for one beat, a list for many. */
export const HeartbeatAnswer = z.union([HeartbeatAck, AckList]).meta({ id: "HeartbeatAnswer" });
export const HistoryReport = z
  .object({
    agentId: z.string(),
    from: z.string(),
    to: z.string(),
    stepSeconds: z.number(),
    history: z.array(HealthSnapshot),
  })
  .meta({ id: "History" });
export type HistoryReport = z.infer<typeof HistoryReport>;

/** A kept beat: what the agent sent, and when it arrived by the monitor's clock. */
export const KeptHeartbeat = Heartbeat.extend({ receivedAt: z.string() }).meta({ id: "KeptHeartbeat" });
export type KeptHeartbeat = z.infer<typeof KeptHeartbeat>;
export const HeartbeatList = z.object({ heartbeats: z.array(KeptHeartbeat), next: Next }).meta({ id: "Heartbeats" });

/**
 * Many agents that fell silent, or ended, together, as one incident. `members` of those that `came` are still silent or
 * down; `escalation`: the question about them, while it is open.
 */
export const FleetIncidentReport = z
  .object({
    id: z.string(),
    because: FleetCause,
    scope: z.string(),
    since: z.string(),
    members: z.number(),
    came: z.number(),
    escalation: z.string().nullable(),
  })
  .meta({ id: "FleetIncident" });

/** The monitor's doubts about itself right now. */
export const SelfDoubtReport = z
  .object({
    lastGap: z.object({ cause: GapCause, endedAt: z.string(), lastedSeconds: z.number() }).nullable(),
    holds: z.array(z.object({ because: HoldCause, scope: z.string(), since: z.string() })),
    fleetIncidents: z.array(FleetIncidentReport),
    lagSeconds: z.number(),
    frozen: z
      .object({ since: z.string(), actor: z.string(), as: z.string().optional(), reason: z.string() })
      .nullable(),
    /**
     * Amnesty: until then no agent is judged by silence, after the last gap; absent when it is over. By the policy of
     * agents that have none of their own.
     */
    amnestyUntil: z.string().optional(),
    /** Since when nothing can be saved, so no agent is heard or judged: what is told of agents is of that moment. */
    storeDownSince: z.string().optional(),
  })
  .meta({ id: "SelfDoubt" });
export type SelfDoubtReport = z.infer<typeof SelfDoubtReport>;

/** Agents, and the monitor's doubts about itself. */
export const AgentList = z
  .object({ agents: z.array(AgentHealth), monitor: SelfDoubtReport.optional(), next: Next })
  .meta({ id: "Agents" });
export type AgentList = z.infer<typeof AgentList>;

/**
 * One of an agent's last steps. Equal arguments and equal results have equal letters; `A~` is result A but for numbers,
 * ids and times. `null` is unknown, and unknown equals nothing.
 */
export const StepReport = z
  .object({
    /** The number of the event that completed it, counted from 0. */
    event: z.number(),
    /** `null` for a reply without a call. */
    tool: z.string().nullable(),
    args: z.string().nullable(),
    result: z.string().nullable(),
    failed: z.boolean().nullable(),
    /** A finding rests on this step. */
    evidence: z.boolean(),
  })
  .meta({ id: "StepReport" });
export type StepReport = z.infer<typeof StepReport>;

/** What would be done about an agent, and when, if nothing changed. */
export const Outlook = z
  .object({
    /** Since it last showed a new line or fact; `null` when it never did. */
    quietSeconds: z.number().nullable(),
    /** Kinds of evidence against it now, and whether they are enough to stop it. */
    evidence: z.array(EvidenceClass),
    enough: z.boolean(),
    next: z.array(z.object({ what: z.enum(["nudge", "ask", "stop"]), at: z.string() })),
  })
  .meta({ id: "Outlook" });
export type Outlook = z.infer<typeof Outlook>;

/** An eye, and what it shows. `unseen`: nothing could be seen through it. */
export const EyeReport = z
  .object({
    eye: z.enum(["beats", "steps", "output", "cpu", "disk", "network", "files", "children", "terminal-read"]),
    says: z.enum(["at-work", "quiet", "unseen"]),
    at: z.string().nullable(),
  })
  .meta({ id: "Eye" });
export type EyeReport = z.infer<typeof EyeReport>;

/** Everything behind a verdict: the state, its clocks, the findings, what is held back, and the last events. */
export const WhyReport = z
  .object({
    agent: AgentHealth,
    outlook: Outlook,
    eyes: z.array(EyeReport),
    clocks: z.object({
      silentSeconds: z.number(),
      silenceAllowedSeconds: z.number(),
      withoutProgressSeconds: z.number().nullable(),
      progressClock: z.enum(["running", "stopped"]),
      nextLookAt: z.string().nullable(),
    }),
    beats: z.object({
      accepted: z.number(),
      duplicates: z.number(),
      stale: z.number(),
      refused: z.number(),
      lost: z.number(),
      clockSkewSeconds: z.number().nullable(),
    }),
    policy: z.object({ id: z.string(), mode: z.string() }),
    /** The incident of the fleet that its silence is part of. */
    partOf: z.string().nullable(),
    /** The last steps it told of, oldest first. */
    steps: z.array(StepReport),
    monitor: SelfDoubtReport,
    events: z.array(SavedEvent),
  })
  .meta({ id: "Why" });
export type WhyReport = z.infer<typeof WhyReport>;

/**
 * Seed 004's system summary. Tasks and notifications are counted once Rouse keeps them; until then they are not in it.
 */
export const SystemStatus = z
  .object({
    status: z.enum(["ok", "on-hold", "frozen", "store-unavailable"]),
    total_agents: z.number(),
    active_agents: z.number(),
    degraded_agents: z.number(),
    /** Agents that have not ended, and those that were terminated. */
    agents_by_state: z.partialRecord(HealthState, z.number()),
    agents_over: z.partialRecord(z.enum(overKinds), z.number()),
    last_heartbeat: z.string().nullable(),
    started_at: z.string(),
    version: z.string(),
    monitor: SelfDoubtReport,
  })
  .meta({ id: "SystemStatus" });
export type SystemStatus = z.infer<typeof SystemStatus>;

/** A person's order to stop an agent or to start it again. */
export const OrderRequest = z
  .strictObject({
    reason: z.string().max(500).default("no reason given"),
    actor: CallerName.optional(),
    /** Stop it even when its working tree cannot be saved first. */
    force: z.boolean().default(false),
  })
  .meta({ id: "OrderRequest" });
export type OrderRequest = z.infer<typeof OrderRequest>;

/** The outcome. `under-way`: not finished yet; events tell the rest. Survivors are never reported as stopped. */
export const OrderAnswer = z
  .discriminatedUnion("outcome", [
    z.object({
      agentId: z.string(),
      outcome: z.literal("stopped"),
      forced: z.boolean().optional(),
      tier: TreeTier.optional(),
      ...StopDetails.shape,
    }),
    z.object({
      agentId: z.string(),
      outcome: z.literal("already-over"),
      spared: StopDetails.shape.spared,
    }),
    /** It was down and would have been started again; now it stays down. */
    z.object({ agentId: z.string(), outcome: z.literal("restart-cancelled") }),
    z.object({ agentId: z.string(), outcome: z.literal("restarted"), incarnation: z.number() }),
    z.object({ agentId: z.string(), outcome: z.literal("not-restarted"), problem: z.string() }),
    z.object({
      agentId: z.string(),
      outcome: z.literal("termination_incomplete"),
      survivors: z.array(z.object({ pid: z.number(), name: z.string() })),
    }),
    z.object({ agentId: z.string(), outcome: z.literal("refused"), because: OrderRefusal }),
    z.object({ agentId: z.string(), outcome: z.literal("under-way") }),
  ])
  .meta({ id: "OrderAnswer" });
export type OrderAnswer = z.infer<typeof OrderAnswer>;

/** A person's order to remove an agent that has ended from the list. */
export const RemoveRequest = z
  .strictObject({ reason: z.string().max(500).default("no reason given"), actor: CallerName.optional() })
  .meta({ id: "RemoveRequest" });
export type RemoveRequest = z.infer<typeof RemoveRequest>;

/** Why an agent stays in the list: something of it is left, it may come back, or it waits for a person. */
export const RemovalRefusal = z
  .enum(["runs", "beats", "left-processes", "starts-again", "question-open", "holds-task", "held"])
  .meta({ id: "RemovalRefusal" });
export type RemovalRefusal = z.infer<typeof RemovalRefusal>;

export const RemovedAgent = z
  .object({
    agentId: z.string(),
    incarnation: z.number().int(),
    /** How it ended; `null` for one that fell silent. */
    over: OverReport.nullable(),
  })
  .meta({ id: "RemovedAgent" });
export type RemovedAgent = z.infer<typeof RemovedAgent>;

export const FreezeRequest = z
  .strictObject({
    reason: z.string().max(500).default("no reason given"),
    actor: CallerName.optional(),
  })
  .meta({ id: "FreezeRequest" });
export type FreezeRequest = z.infer<typeof FreezeRequest>;

/** For a process that runs, or one that can save. */
export const Probe = z.object({ status: z.literal("ok") }).meta({ id: "Probe" });

/** An empty answer. */
export const Empty = z.object({}).meta({ id: "Empty" });

/** A message of MCP, which is JSON-RPC. */
export const JsonRpc = z.unknown().meta({ id: "JsonRpc", description: "A message of MCP (JSON-RPC 2.0)" });

export const OpenApi = z.record(z.string(), z.unknown()).meta({ id: "OpenApi" });

/** Seed 004's view of the agents. */
export const AgentsHealth = z
  .object({
    ...SystemStatus.pick({ total_agents: true, active_agents: true, degraded_agents: true, agents_by_state: true })
      .shape,
    agents: z.array(AgentHealth),
  })
  .meta({ id: "AgentsHealth" });

/** `policy`: that of agents that have none of their own. */
export const ConfigReport = z
  .object({
    preset: z.string(),
    policy: z.string(),
    sources: z.array(z.string()),
    settings: z.record(z.string(), z.unknown()),
  })
  .meta({ id: "ConfigReport" });

export const EventPage = z.object({ events: z.array(SavedEvent), next: Next }).meta({ id: "Events" });

/** Incidents of one agent or of the fleet, open or closed. */
export const IncidentList = z
  .object({
    incidents: z.array(
      z.union([
        IncidentReport.extend({
          state: z.literal("open"),
          of: z.literal("agent"),
          agentId: z.string(),
          taskId: z.string().nullable(),
        }),
        FleetIncidentReport.extend({ state: z.literal("open"), of: z.literal("fleet") }),
        z.object({
          state: z.literal("closed"),
          of: z.literal("agent"),
          id: z.string(),
          agentId: z.string(),
          ending: IncidentEnding,
          because: EndingReason,
          closedAt: z.string(),
          lastedSeconds: z.number(),
        }),
        z.object({
          state: z.literal("closed"),
          of: z.literal("fleet"),
          id: z.string(),
          scope: z.string(),
          because: z.string(),
          came: z.number(),
          closedAt: z.string(),
          lastedSeconds: z.number(),
        }),
      ]),
    ),
    next: Next,
  })
  .meta({ id: "Incidents" });
export type IncidentList = z.infer<typeof IncidentList>;

/** One attempt to bring an agent back. `tried-again`: the next attempt began before this one had an outcome. */
export const Recovery = z
  .object({
    agentId: z.string(),
    taskId: z.string().nullable(),
    attempt: z.number(),
    because: z.string(),
    fromCheckpoint: z.string().nullable(),
    startedAt: z.string(),
    outcome: z.enum(["under-way", "completed", "failed", "tried-again"]),
    endedAt: z.string().nullable(),
    completed: z
      .object({
        newAgentId: z.string(),
        incarnation: z.number(),
        fromCheckpoint: z.string().nullable(),
        step: z.number().nullable(),
        lost: LostWork,
        tookSeconds: z.number(),
      })
      .optional(),
    failed: z.object({ reason: z.string() }).optional(),
  })
  .meta({ id: "Recovery" });
export type Recovery = z.infer<typeof Recovery>;
export const RecoveryList = z.object({ recoveries: z.array(Recovery), next: Next }).meta({ id: "Recoveries" });
export type RecoveryList = z.infer<typeof RecoveryList>;
