import { z } from "zod";
import { CallerName } from "./audit.ts";
import { escalationIdPattern, isEscalationId, longestCommandId, longestEscalationId } from "./ids.ts";

/**
 * How bad an incident is. SEV-1: several critical tasks blocked, or the orchestrator does not answer. SEV-2: over a
 * limit. SEV-3: one agent.
 */
export const Severity = z.enum(["SEV-1", "SEV-2", "SEV-3"]).meta({ id: "Severity" });
export type Severity = z.infer<typeof Severity>;

/** What opens an incident. DEGRADED opens one only when the same finding stood for long and nothing came of it. */
export const Illness = z.enum(["UNRESPONSIVE", "STUCK", "FAILING", "DEGRADED"]).meta({ id: "Illness" });
export type Illness = z.infer<typeof Illness>;

/** How every incident ends. */
export const IncidentEnding = z.enum(["recovered", "quarantined", "handed-to-a-person"]).meta({ id: "IncidentEnding" });
export type IncidentEnding = z.infer<typeof IncidentEnding>;

/** Why it ended so. */
export const EndingReason = z
  .enum([
    "well-again",
    "finished",
    "ended",
    "replaced",
    "stood-probation",
    "new-life",
    "ended-by-person",
    "relapse",
    "restarts-exhausted",
    "recoveries-exhausted",
    "restart-failed",
    "not-supervised",
    "survivors",
    "mode",
    "protected",
    "kill-refused",
    "not-brought-back",
    "not-started-again",
    "in-a-persons-terminal",
    "nobody-answered",
    "handed-off",
    "at-its-limit",
    "at-its-cap",
    "refused-by-provider",
  ])
  .meta({ id: "EndingReason" });
export type EndingReason = z.infer<typeof EndingReason>;

/** How a nudge reaches an agent, best first. */
export const NudgeChannel = z
  .enum(["acknowledgement", "stdin", "hook", "steer", "terminal"])
  .meta({ id: "NudgeChannel" });
export type NudgeChannel = z.infer<typeof NudgeChannel>;

/** `seen` and `acted` need evidence from the agent's side; without it a nudge ends `unconfirmed`. */
export const NudgeState = z
  .enum(["queued", "sent", "seen", "acted", "unconfirmed", "not-sent"])
  .meta({ id: "NudgeState" });
export type NudgeState = z.infer<typeof NudgeState>;

/** Which of the fixed texts it is. `operator`: a person's own words. */
export const NudgeTemplate = z
  .enum(["reminder", "loop", "hand-off", "self-reflection", "task-taken", "limit-over", "operator"])
  .meta({ id: "NudgeTemplate" });
export type NudgeTemplate = z.infer<typeof NudgeTemplate>;

/** What an agent answers to a nudge: it goes on, it wants to hand its work over, or something is in its way. */
export const AgentAnswer = z
  .object({
    /** Id of the nudge it answers. */
    to: z.string().max(longestCommandId).optional(),
    kind: z.enum(["update", "handoff", "blocker"]),
    text: z.string().max(1000).optional(),
  })
  .meta({ id: "AgentAnswer" });
export type AgentAnswer = z.infer<typeof AgentAnswer>;

/** What the orchestrator may decide about an escalation. */
export const EscalationDecision = z
  .enum(["allow_more_time", "force_handoff", "terminate_and_recover"])
  .meta({ id: "EscalationDecision" });
export type EscalationDecision = z.infer<typeof EscalationDecision>;

export const EscalationId = z
  .string()
  .max(longestEscalationId)
  .regex(escalationIdPattern, "must be the id of an escalation, such as worker-1.3")
  .meta({ id: "EscalationId" });

/** The agent that an escalation is about, or `null` when no escalation has such an id. */
export const agentOfEscalation = (id: string): string | null =>
  isEscalationId(id) ? id.slice(0, id.lastIndexOf(".")) : null;

/** Why the orchestrator is asked. */
export const EscalationReason = z
  .enum([
    "nudges-unanswered",
    "nudges-undelivered",
    "falls-back",
    "no-way-to-nudge",
    "not-supervised",
    "one-kind-of-evidence",
    "handoff-requested",
    "blocker-reported",
    "unchanged-finding",
    "more-time-used-up",
    "restarts-exhausted",
    "recoveries-exhausted",
    "limit-over",
    "relapse",
    "mode",
    "protected",
    "attached",
    "holder-lost",
    "work-not-saved",
    "ordered",
    "mass-silence",
    "mass-failure",
  ])
  .meta({ id: "EscalationReason" });
export type EscalationReason = z.infer<typeof EscalationReason>;

export const DecisionRequest = z
  .strictObject({
    decision: EscalationDecision,
    actor: CallerName.optional(),
    reason: z.string().max(500).default("no reason given"),
    /** How much more time; the policy's escalation timeout when not given. */
    minutes: z.number().positive().max(1440).optional(),
  })
  .meta({ id: "DecisionRequest" });
export type DecisionRequest = z.infer<typeof DecisionRequest>;

/** A person's acknowledgement: seen, somebody is on it. */
export const AcknowledgeRequest = z.strictObject({ actor: CallerName.optional() }).meta({ id: "AcknowledgeRequest" });
export type AcknowledgeRequest = z.infer<typeof AcknowledgeRequest>;

export const EscalateRequest = z
  .strictObject({
    reason: z.string().max(500).default("no reason given"),
    actor: CallerName.optional(),
  })
  .meta({ id: "EscalateRequest" });
export type EscalateRequest = z.infer<typeof EscalateRequest>;

export const NudgeRequest = z
  .strictObject({
    /** A person's own words; the policy's reminder when not given. */
    message: z.string().min(1).max(2000).optional(),
    actor: CallerName.optional(),
  })
  .meta({ id: "NudgeRequest" });
export type NudgeRequest = z.infer<typeof NudgeRequest>;

export const EscalationReport = z
  .object({
    id: z.string(),
    agentId: z.string(),
    incarnation: z.number().int(),
    taskId: z.string().nullable(),
    incident: z.string(),
    severity: Severity,
    illness: Illness,
    cause: z.string(),
    reason: EscalationReason,
    openedAt: z.string(),
    /** When the ladder goes on without an answer. */
    answerBy: z.string(),
    /** Only SEV-1: by when a person must have acknowledged it. */
    acknowledgeBy: z.string().nullable(),
    acknowledged: z.object({ actor: z.string(), at: z.string() }).nullable(),
    /** What happens if nobody answers. */
    otherwise: z.enum(["terminate-and-recover", "hand-to-a-person", "keep-and-ask-again"]),
    /** How often this was asked before without an answer. */
    askedBefore: z.number().int(),
    decisions: z.array(EscalationDecision),
    summary: z.string(),
    /** Only of a question about many: one decision counts for all of them. `agents`: the first hundred. */
    members: z.object({ scope: z.string(), count: z.number().int(), agents: z.array(z.string()) }).optional(),
  })
  .meta({ id: "Escalation" });
export type EscalationReport = z.infer<typeof EscalationReport>;

/** The answer of sendNudge: by which channel the nudge goes and under which id; events tell what becomes of it. */
export const NudgeResult = z
  .object({
    agentId: z.string(),
    nudge: z.string().nullable(),
    state: NudgeState,
    channel: NudgeChannel.nullable(),
    message: z.string(),
    because: z.string().optional(),
  })
  .meta({ id: "NudgeResult" });
export type NudgeResult = z.infer<typeof NudgeResult>;

export const EscalationResult = z
  .object({ agentId: z.string(), escalation: z.string(), severity: Severity, answerBy: z.string() })
  .meta({ id: "EscalationResult" });
export type EscalationResult = z.infer<typeof EscalationResult>;

/**
 * Why an agent that is down is not started yet. `breaker-open`: the last attempts failed; `cooldown` and `backoff`: the
 * pause between two restarts, two recoveries.
 */
export const RecoveryHold = z.enum(["cooldown", "backoff", "breaker-open", "frozen"]).meta({ id: "RecoveryHold" });
export type RecoveryHold = z.infer<typeof RecoveryHold>;

/** An incident as it is shown. */
export const IncidentReport = z
  .object({
    id: z.string(),
    illness: Illness,
    cause: z.string(),
    severity: Severity,
    openedAt: z.string(),
    stage: z.string(),
    /** When the ladder moves on if nothing changes. */
    nextAt: z.string().nullable(),
    /** Of an agent that is down: what holds back the next attempt to bring it back. */
    heldBy: RecoveryHold.optional(),
    /** The open question about it. */
    escalation: z.string().nullable(),
    nudges: z.number().int(),
    nudge: z
      .object({ id: z.string(), state: NudgeState, channel: NudgeChannel, sentAt: z.string().nullable() })
      .nullable(),
  })
  .meta({ id: "Incident" });
export type IncidentReport = z.infer<typeof IncidentReport>;
