import { z } from "zod";
import { BreakerState } from "./breakers/breaker-words.ts";
import { LostWork } from "./checkpoint.ts";
import { ActivityKind, FindingReport, HealthReason, HealthState } from "./health.ts";
import { findingKinds } from "./health-words.ts";
import { AckReason, Heartbeat } from "./heartbeat.ts";
import { ContainmentMeans, ContainRefusal, HolderLoss, StopDetails, TreeTier } from "./holder.ts";
import {
  AgentAnswer,
  EndingReason,
  EscalationDecision,
  EscalationReason,
  Illness,
  IncidentEnding,
  NudgeChannel,
  NudgeTemplate,
  Severity,
} from "./incident.ts";
import { TaskPriority, TaskReason, TaskStatus } from "./task.ts";
import { ExitCause, ExitStatus, LimitKind, Question, RunningProcess } from "./terminal.ts";

/** What made the monitor blind for a while. Each is answered with an amnesty. */
export const GapCause = z.enum(["stall", "suspend", "clock-step", "restart", "store-outage"]).meta({ id: "GapCause" });
export type GapCause = z.infer<typeof GapCause>;

/** Why the monitor holds back every verdict that rests on silence. */
/** What happened to many agents at once. */
export const FleetCause = z.enum(["mass-silence", "mass-failure"]).meta({ id: "FleetCause" });
export type FleetCause = z.infer<typeof FleetCause>;

export const HoldCause = z.enum(["mass-silence", "path-unproven"]).meta({ id: "HoldCause" });
export type HoldCause = z.infer<typeof HoldCause>;

export const AlertSeverity = z.enum(["critical", "warning", "info"]).meta({ id: "AlertSeverity" });
export type AlertSeverity = z.infer<typeof AlertSeverity>;

/** Why an agent is stopped: what was found, the orchestrator's decision, or a person's word. */
export const StopCause = z.enum([...findingKinds, "decided", "ordered"]).meta({ id: "StopCause" });
export type StopCause = z.infer<typeof StopCause>;

/** Why an agent is not stopped although something argues for it. Each is a condition of the kill gate. */
export const StopRefusal = z
  .enum([
    "frozen",
    "attached",
    "monitor-in-doubt",
    "holder-lost",
    "one-kind-of-evidence",
    "mode",
    "protected",
    "host-budget",
    "fleet-budget",
    "work-not-saved",
    "well-again",
    "already-over",
    "identity",
    "order-of-nobody",
    "overtaken",
  ])
  .meta({ id: "StopRefusal" });
export type StopRefusal = z.infer<typeof StopRefusal>;

/** Why an agent is started again. */
export const RestartCause = z
  .enum(["process-exited", "stopped-as-unresponsive", "limit-over", "recovery", "ordered", "kept-running"])
  .meta({ id: "RestartCause" });
export type RestartCause = z.infer<typeof RestartCause>;

/** Why an agent's own token was not enough for what was said with it. */
export const SpeechRefusal = z
  .enum(["other-agent", "other-task", "other-life", "not-allowed"])
  .meta({ id: "SpeechRefusal" });
export type SpeechRefusal = z.infer<typeof SpeechRefusal>;

/** Why a decision in the answer to a question does not count. */
export const AnswerRefusal = z.enum(["unsigned", "wrong", "too-old", "malformed"]).meta({ id: "AnswerRefusal" });
export type AnswerRefusal = z.infer<typeof AnswerRefusal>;

/** Why a contained agent is let go: the matter is over, a person spoke to it, or its policy no longer wants it. */
export const LetGoReason = z.enum(["no-longer-handed-over", "person", "policy"]).meta({ id: "LetGoReason" });
export type LetGoReason = z.infer<typeof LetGoReason>;

const agentId = z.string();

/**
 * Facts, in the past tense, under the names the event bus of the seeds uses. AGENT_HEARTBEAT and AGENT_ACTIVITY_CHANGED
 * are streamed only to those who ask for them by name and are not numbered: the beats themselves are kept, not a second
 * copy of each, and what an agent does changes with every call.
 */
const payloads = {
  AGENT_HEARTBEAT: Heartbeat,
  AGENT_ACTIVITY_CHANGED: z.object({ agentId, from: ActivityKind, to: ActivityKind }),
  AGENT_REGISTERED: z.object({ agentId, incarnation: z.number(), taskId: z.string().nullable() }),
  AGENT_INCARNATION_STARTED: z.object({
    agentId,
    from: z.number(),
    to: z.number(),
    because: z.enum(["registered-again", "announced-in-heartbeat", "sequence-started-over", "started-by-holder"]),
  }),
  /** A person took it out of the list after it was over. What happened to it stays in the history. */
  AGENT_REMOVED: z.object({ agentId, incarnation: z.number(), actor: z.string(), reason: z.string() }),
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
  /** `agentId` is whose token it was; `claimed` is the agent, task, incarnation or request that is not its own. */
  AGENT_SPEECH_REFUSED: z.object({ agentId, claimed: z.string(), because: SpeechRefusal }),
  /** A holder keeps its terminal: newly started, or found again by a restarted monitor. */
  AGENT_HELD: z.object({ agentId, incarnation: z.number(), pid: z.number(), adopted: z.boolean() }),
  /** `because` is absent in events of earlier versions: the holder was gone. */
  HOLDER_LOST: z.object({
    agentId,
    incarnation: z.number(),
    process: z.enum(["gone", "alive"]),
    because: HolderLoss.optional(),
  }),
  /** A person opened its terminal, or left it; `attached`: how many terminals are open now. */
  AGENT_ATTACHED: z.object({ agentId, incarnation: z.number(), attached: z.number() }),
  AGENT_DETACHED: z.object({ agentId, incarnation: z.number(), attached: z.number() }),
  PROCESS_EXITED: ExitStatus.extend({ agentId, incarnation: z.number() }),
  /** Leftovers: processes that outlived the agent's own. */
  AGENT_LEFT_PROCESSES: z.object({ agentId, processes: z.array(RunningProcess) }),
  /** A person has to allow something, to answer or to say what is next. */
  AGENT_NEEDS_YOU: z.object({ agentId, what: Question, pattern: z.string() }),
  AGENT_NEEDS_YOU_NO_MORE: z.object({ agentId, waitedSeconds: z.number() }),
  /** Once for each limit. `resetsInSeconds` is null where its provider named no reset. */
  LIMIT_REACHED: z.object({
    agentId,
    what: LimitKind,
    resetsInSeconds: z.number().nullable(),
    by: z.enum(["text", "stream"]),
    pattern: z.string(),
  }),
  /** `went-on`: it was seen to go on; `time-up`: the limit is over, and nothing more was seen. */
  LIMIT_RESUMED: z.object({
    agentId,
    how: z.enum(["went-on", "started-again", "nudged", "time-up"]),
    waitedSeconds: z.number(),
  }),
  TERMINATION_ORDERED: z.object({
    agentId,
    incarnation: z.number(),
    key: z.string(),
    actor: z.string(),
    because: StopCause,
    evidence: z.array(z.string()),
  }),
  TERMINATION_REFUSED: z.object({ agentId, because: StopRefusal, cause: StopCause }),
  TERMINATION_INCOMPLETE: z.object({
    agentId,
    incarnation: z.number(),
    survivors: z.array(z.object({ pid: z.number(), name: z.string() })),
  }),
  /** `reason` and `checkpoint` are the names the event bus of the seeds uses. */
  AGENT_TERMINATED: z.object({
    agentId,
    incarnation: z.number(),
    actor: z.string(),
    because: StopCause,
    reason: z.string(),
    forced: z.boolean(),
    checkpoint: z.string().nullable(),
    snapshot: z.string().nullable(),
    evidence: z.array(z.string()),
    /** How sure it is that no process is left; absent where its holder does not tell. */
    tier: TreeTier.optional(),
    ...StopDetails.shape,
  }),
  WORK_SAVED: z.object({ agentId, incarnation: z.number(), commit: z.string().nullable(), changed: z.number() }),
  WORK_NOT_SAVED: z.object({ agentId, incarnation: z.number(), problem: z.string() }),
  RESTART_ORDERED: z.object({
    agentId,
    incarnation: z.number(),
    key: z.string(),
    because: RestartCause,
    attempt: z.number(),
  }),
  RESTART_FAILED: z.object({ agentId, incarnation: z.number(), problem: z.string() }),
  /**
   * Its program says that its provider's limit still stands: it is started when that is over, and nothing has failed.
   */
  RESTART_PUT_OFF: z.object({
    agentId,
    incarnation: z.number(),
    key: z.string(),
    resetsInSeconds: z.number().nullable(),
  }),
  /** A person ended it for good while it was down and would have been started again. */
  RESTART_CANCELLED: z.object({ agentId, incarnation: z.number(), actor: z.string() }),
  RESTARTS_EXHAUSTED: z.object({ agentId, attempts: z.number(), windowSeconds: z.number() }),
  AGENT_RESTARTED: z.object({
    agentId,
    from: z.number(),
    to: z.number(),
    because: RestartCause,
    cause: ExitCause.nullable(),
    /** From the first finding to the new life: the chain of causes. */
    chain: z.array(z.string()),
  }),
  INCIDENT_OPENED: z.object({
    agentId,
    incident: z.string(),
    illness: Illness,
    cause: HealthReason,
    severity: Severity,
  }),
  /**
   * It goes on in circles although a person was called, and is contained; `calls`: how many tool calls it made since.
   */
  AGENT_CONTAINED: z.object({ agentId, incident: z.string(), how: ContainmentMeans, calls: z.number() }),
  AGENT_NOT_CONTAINED: z.object({ agentId, incident: z.string(), how: ContainmentMeans, because: ContainRefusal }),
  AGENT_LET_GO: z.object({ agentId, incident: z.string(), because: LetGoReason }),
  INCIDENT_CLOSED: z.object({
    agentId,
    incident: z.string(),
    ending: IncidentEnding,
    because: EndingReason,
    lastedSeconds: z.number(),
  }),
  NUDGE_QUEUED: z.object({
    agentId,
    nudge: z.string(),
    attempt: z.number(),
    channel: NudgeChannel,
    template: NudgeTemplate,
    actor: z.string(),
  }),
  NUDGE_SENT: z.object({
    agentId,
    nudge: z.string(),
    attempt: z.number(),
    channel: NudgeChannel,
    message: z.string(),
  }),
  NUDGE_NOT_SENT: z.object({ agentId, nudge: z.string(), channel: NudgeChannel, because: z.string() }),
  NUDGE_SEEN: z.object({ agentId, nudge: z.string(), evidence: z.string() }),
  NUDGE_ACTED: z.object({ agentId, nudge: z.string(), evidence: z.string() }),
  NUDGE_UNCONFIRMED: z.object({
    agentId,
    nudge: z.string(),
    waitedSeconds: z.number(),
    /** Its screen is the only eye on it; or there would have been a sign. Absent in events of earlier versions. */
    because: z.enum(["only-screen", "no-sign"]).optional(),
  }),
  AGENT_ANSWERED: z.object({ agentId, answer: AgentAnswer }),
  ESCALATION_TRIGGERED: z.object({
    agentId,
    escalation: z.string(),
    incident: z.string(),
    reason: EscalationReason,
    severity: Severity,
    answerWithinSeconds: z.number(),
  }),
  ESCALATION_RAISED: z.object({ agentId, escalation: z.string(), severity: Severity, criticalBlocked: z.number() }),
  ESCALATION_DECIDED: z.object({
    agentId,
    escalation: z.string(),
    decision: EscalationDecision,
    actor: z.string(),
    reason: z.string(),
  }),
  ESCALATION_ACKNOWLEDGED: z.object({ agentId, escalation: z.string(), actor: z.string() }),
  ESCALATION_UNACKNOWLEDGED: z.object({ agentId, escalation: z.string(), waitedSeconds: z.number() }),
  ESCALATION_UNANSWERED: z.object({ agentId, escalation: z.string(), waitedSeconds: z.number() }),
  ESCALATION_UNDELIVERED: z.object({ agentId, escalation: z.string(), problem: z.string() }),
  /** The webhook's address answered with a decision, and could not show that it may decide. */
  ESCALATION_ANSWER_REFUSED: z.object({ agentId, escalation: z.string(), because: AnswerRefusal }),
  /** `fromCheckpoint` is empty when the task starts over. */
  RECOVERY_INITIATED: z.object({
    taskId: z.string().nullable(),
    agentId,
    /** The newest known one; RECOVERY_COMPLETED tells which one was used. */
    fromCheckpoint: z.string().nullable(),
    attempt: z.number(),
    because: z.string(),
  }),
  RECOVERY_COMPLETED: z.object({
    taskId: z.string().nullable(),
    agentId,
    newAgentId: z.string(),
    incarnation: z.number(),
    fromCheckpoint: z.string().nullable(),
    step: z.number().nullable(),
    lost: LostWork,
    tookSeconds: z.number(),
  }),
  RECOVERY_FAILED: z.object({ taskId: z.string().nullable(), agentId, reason: z.string(), attempts: z.number() }),
  CHECKPOINT_SAVED: z.object({
    agentId: agentId.nullable(),
    taskId: z.string(),
    checkpoint: z.string(),
    step: z.number(),
    stepName: z.string(),
  }),
  CHECKPOINT_REFUSED: z.object({ agentId: agentId.nullable(), taskId: z.string(), problem: z.string() }),
  TASK_CREATED: z.object({ agentId: agentId.nullable(), taskId: z.string(), priority: TaskPriority }),
  TASK_CHANGED: z.object({
    agentId: agentId.nullable(),
    taskId: z.string(),
    from: TaskStatus,
    to: TaskStatus,
    because: TaskReason,
    actor: z.string(),
  }),
  TASK_CLAIMED: z.object({ agentId, taskId: z.string(), claim: z.number() }),
  TASK_RELEASED: z.object({ agentId, taskId: z.string(), claim: z.number(), because: TaskReason }),
  TASK_STALLED: z.object({ agentId: agentId.nullable(), taskId: z.string(), withoutUpdateSeconds: z.number() }),
  TASK_ESCALATED: z.object({ agentId: agentId.nullable(), taskId: z.string(), withoutUpdateSeconds: z.number() }),
  TASK_LONG_RUNNING: z.object({ agentId: agentId.nullable(), taskId: z.string(), runningSeconds: z.number() }),
  TASK_TIMED_OUT: z.object({ agentId: agentId.nullable(), taskId: z.string(), runningSeconds: z.number() }),
  TASK_BLOCKED: z.object({ agentId: agentId.nullable(), taskId: z.string(), because: z.string() }),
  ASSIGNMENTS_REDUCED: z.object({ agentId, failed: z.number(), of: z.number() }),
  ASSIGNMENTS_STOPPED: z.object({ agentId, failed: z.number(), of: z.number() }),
  ASSIGNMENTS_RESTORED: z.object({ agentId, actor: z.string() }),
  CIRCUIT_BREAKER_STATE_CHANGED: z.object({ name: z.string(), from: BreakerState, to: BreakerState }),
  BRAKE_STARTED: z.object({ kills: z.number(), windowSeconds: z.number() }),
  BRAKE_ENDED: z.object({ lastedSeconds: z.number() }),
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
  VERDICTS_HELD_BACK: z.object({ because: HoldCause, scope: z.string(), silent: z.number(), of: z.number() }),
  VERDICTS_RESUMED: z.object({ because: HoldCause, scope: z.string(), lastedSeconds: z.number() }),
  /**
   * Many agents fell silent, or ended, together. `agents`: the first hundred of its members. `because`, `members`:
   * absent in events of earlier versions.
   */
  FLEET_INCIDENT_OPENED: z.object({
    incident: z.string(),
    because: FleetCause.optional(),
    scope: z.string(),
    members: z.number().optional(),
    of: z.number(),
    agents: z.array(z.string()),
  }),
  FLEET_INCIDENT_CLOSED: z.object({
    incident: z.string(),
    scope: z.string(),
    /** `none-left`: some of its members were not heard again, or did not come back: they ended, or were removed. */
    because: z.enum(["all-heard", "all-back", "none-left", "part-of-a-wider-one"]),
    /** How many agents it was about in all. */
    came: z.number(),
    lastedSeconds: z.number(),
  }),
  AUDIT_ANCHOR_FAILED: z.object({ anchor: z.string(), problem: z.string() }),
  AUDIT_ANCHOR_RESTORED: z.object({ anchor: z.string(), number: z.number() }),
  CONFIG_RELOADED: z.object({ policy: z.string() }),
  CONFIG_REFUSED: z.object({ problems: z.array(z.string()) }),
  MONITOR_FROZEN: z.object({ actor: z.string(), as: z.string().optional(), reason: z.string() }),
  MONITOR_THAWED: z.object({ actor: z.string(), as: z.string().optional(), reason: z.string() }),
} as const;

/** Streamed only to those who ask for them by name, and never saved. */
export const unsavedEvents = ["AGENT_HEARTBEAT", "AGENT_ACTIVITY_CHANGED"] as const satisfies readonly EventType[];

export type EventType = keyof typeof payloads;
export const eventTypes = Object.keys(payloads) as EventType[];

/** An event as core states it; the runtime numbers it and adds the time when it is saved. */
export type RouseEvent = { [T in EventType]: { type: T; payload: z.infer<(typeof payloads)[T]> } }[EventType];

export type SavedEvent = RouseEvent & { id: number; time: string };

const eventSchemas = eventTypes.map((type) =>
  z.object({ id: z.number().int(), time: z.string(), type: z.literal(type), payload: payloads[type] }),
);
export const SavedEvent = z.union(eventSchemas).meta({ id: "Event" }) as unknown as z.ZodType<SavedEvent>;
