import { z } from "zod";
import { CircuitBreakerStatus } from "./breakers/breaker-words.ts";
import { ActivityReport, FindingReport, HealthReason, HealthState } from "./health.ts";
import { AgentId, Id } from "./heartbeat.ts";
import { ContainmentMeans } from "./holder.ts";
import { EndingReason, IncidentReport } from "./incident.ts";
import { overKinds } from "./over-words.ts";
import {
  AgentFamily,
  AgentInput,
  ExitStatus,
  EyeState,
  LimitKind,
  ProcessFacts,
  Question,
  RunningProcess,
} from "./terminal.ts";

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

export const RestartRuleReport = z
  .object({
    when: z.enum(["no", "on-failure", "always"]),
    max: z.number().int().nonnegative(),
    windowSeconds: z.number(),
  })
  .meta({ id: "RestartRuleReport" });
export type RestartRuleReport = z.infer<typeof RestartRuleReport>;

/** What the terminal and the processes of a held agent show. */
export const TerminalReport = z
  .object({
    pid: z.number().int(),
    family: AgentFamily,
    structured: z.boolean(),
    foreground: z.boolean(),
    attached: z.number().int(),
    holder: z.enum(["here", "lost"]),
    lastOutput: z.string().nullable(),
    /** When its program's hooks or session file last told of work; absent where they never did. */
    lastTold: z.string().optional(),
    outputBytes: z.number(),
    outputKept: z.boolean(),
    needsYou: z.object({ what: Question, since: z.string() }).nullable(),
    /** Classes of errors seen lately, masked, with their counts. */
    errors: z.array(z.object({ text: z.string(), times: z.number().int(), last: z.string() })),
    processes: ProcessFacts.nullable(),
    session: z.object({ id: z.string(), model: z.string().nullable() }).nullable(),
    completedAt: z.string().nullable(),
    exit: ExitStatus.extend({ at: z.string() }).nullable(),
    /** Leftovers: processes that outlived the agent's own. */
    leftovers: z.array(RunningProcess).optional(),
    /** Why its last turn failed, as the program itself says. */
    failedTurn: z.string().optional(),
    restarts: z.number().int(),
    /**
     * Whether it was brought back with the conversation of its last life; absent where it was not brought back, or its
     * program keeps none.
     */
    conversation: z.enum(["kept", "lost"]).optional(),
    /** Its owner's rule (`spawn --idle-kill`): it is stopped after so long without any sign of work. */
    idleKillSeconds: z.number().nullable(),
    /** What follows when it ends (`spawn --restart`): so many starts within the window. Absent where none was given. */
    restartRule: RestartRuleReport.optional(),
    /** Through which eyes its program is seen, and what cannot be known without an eye. */
    eyes: z.array(EyeState),
    /** How a message reaches it now. */
    input: AgentInput,
  })
  .meta({ id: "Terminal" });
export type TerminalReport = z.infer<typeof TerminalReport>;

/** A provider's limit. `until`: when it is taken to be over, with a margin. `named`: the provider said when. */
export const LimitReport = z
  .object({
    what: LimitKind,
    since: z.string(),
    until: z.string(),
    /** The reset as it was advertised; absent where none was named. */
    resetsAt: z.string().optional(),
    /** When Rouse starts the agent again, tells it to go on or calls a person; absent once a person has been called. */
    seenToAt: z.string().optional(),
    named: z.boolean(),
    by: z.enum(["text", "stream"]),
    /** The program says that it goes on by itself. */
    continues: z.boolean(),
    /** How often in a row it hit a limit again soon after it had gone on. */
    attempts: z.number().int(),
  })
  .meta({ id: "Limit" });
export type LimitReport = z.infer<typeof LimitReport>;

/** How it ended, and when. */
export const OverReport = z
  .object({ how: z.enum(overKinds), code: z.number().int().nullable(), signal: z.string().nullable(), at: z.string() })
  .meta({ id: "Over" });
export type OverReport = z.infer<typeof OverReport>;

export const AgentHealth = z
  .object({
    agentId: z.string(),
    taskId: z.string().nullable(),
    /** For an agent that has ended: its health when it ended. */
    state: HealthState,
    stateChangedAt: z.string(),
    stateReason: HealthReason,
    /** Nothing more will happen to it by itself. `null` while it lives, has leftovers, or may be started again. */
    over: OverReport.nullable(),
    lastHeartbeat: z.string().nullable(),
    /** The newest of its heartbeats, its steps, its output and what its program reported. */
    lastHeard: z.string().nullable(),
    lastCheckpoint: z.string().nullable(),
    /** What it last said of its work in this life, in its own words: cut, and without control characters. */
    phase: z.string().nullable(),
    progress: z.string().nullable(),
    metrics: AgentMetrics,
    circuitBreakers: z.array(CircuitBreakerStatus),
    /** What is being done about it. */
    incident: IncidentReport.nullable(),
    /**
     * Since when it was handed to a person: Rouse does nothing about it until the agent is healthy or has a new life.
     */
    handedOver: z
      .object({
        incident: z.string(),
        because: EndingReason,
        at: z.string(),
        /** How it is contained meanwhile; absent when it is not. */
        contained: ContainmentMeans.optional(),
      })
      .nullable(),
    activity: ActivityReport,
    limit: LimitReport.nullable(),
    findings: z.array(FindingReport),
    incarnation: z.number().int(),
    lineage: z.string(),
    agentType: z.string().nullable(),
    node: z.string().nullable(),
    /** Only for an agent started with `rouse run` or `rouse spawn`. */
    terminal: TerminalReport.nullable(),
  })
  .meta({ id: "AgentHealth" });
export type AgentHealth = z.infer<typeof AgentHealth>;

/** One point of an agent's history: its state at the end of a stretch of time, and what came in during it. */
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
