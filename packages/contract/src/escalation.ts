import { z } from "zod";
import { SavedEvent } from "./event.ts";
import { FindingKind, FindingReport } from "./health.ts";
import {
  EndingReason,
  EscalationDecision,
  EscalationReason,
  EscalationReport,
  IncidentEnding,
  Severity,
} from "./incident.ts";
import { Next } from "./page.ts";
import { Settings } from "./policy/settings.ts";

/** What a decision would lead to now. `left-alone`: an agent that is not ill is not stopped. */
export const DecisionEffect = z
  .enum([
    "waits-longer",
    "left-alone",
    "told-and-stopped",
    "told-only",
    "stays-ended",
    "resumes-after-checkpoint",
    "starts-over",
    "handed-to-a-person",
  ])
  .meta({ id: "DecisionEffect" });
export type DecisionEffect = z.infer<typeof DecisionEffect>;

/** How the agent would be recovered, as far as that is known beforehand. */
export const RecoveryOptions = z
  .object({
    /** Rouse started it, so Rouse can stop it and start it again. */
    supervised: z.boolean(),
    checkpoint: z
      .object({
        id: z.string(),
        step: z.number().int().nullable(),
        stepName: z.string().nullable(),
        time: z.string().nullable(),
      })
      .nullable(),
    /** Recoveries that are left, of its task and in this hour, whichever is fewer. */
    recoveriesLeft: z.number().int(),
    restartsLeft: z.number().int(),
    options: z.array(z.object({ decision: EscalationDecision, effect: DecisionEffect })),
  })
  .meta({ id: "RecoveryOptions" });
export type RecoveryOptions = z.infer<typeof RecoveryOptions>;

/** Advice from a closed table; `command` is what to type. */
export const RemediationHint = z
  .object({
    because: z.union([FindingKind, EscalationReason]),
    text: z.string(),
    command: z.string(),
  })
  .meta({ id: "RemediationHint" });
export type RemediationHint = z.infer<typeof RemediationHint>;

/** The agent's policy. Named part by part, so that a new setting, or one with a secret, is not sent by default. */
export const ConfigSnapshot = z
  .object({
    /** Name and fingerprint. */
    policy: z.string(),
    settings: Settings.pick({
      enabled: true,
      mode: true,
      protected: true,
      heartbeat: true,
      health_check: true,
      activity: true,
      intervention: true,
      recovery: true,
      restart: true,
      budgets: true,
    }).extend({
      escalation: Settings.shape.escalation.omit({ webhook_url: true, allow_private_webhook: true }),
      terminal: Settings.shape.terminal.omit({ patterns: true }),
    }),
  })
  .meta({ id: "ConfigSnapshot" });
export type ConfigSnapshot = z.infer<typeof ConfigSnapshot>;

/**
 * Everything needed to decide. Text that an agent wrote stands in fields of its own and is never part of a sentence.
 */
export const EscalationContext = z
  .object({
    /** Ids under which the same matter is found in events, in the audit trail and in other systems. */
    traceIds: z.array(z.string()),
    findings: z.array(FindingReport),
    /** Oldest first. */
    lastEvents: z.array(SavedEvent),
    config: ConfigSnapshot,
    recovery: RecoveryOptions,
    hints: z.array(RemediationHint),
    /** Where the answer goes. */
    answer: z.object({ path: z.string(), command: z.string() }),
  })
  .meta({ id: "EscalationContext" });
export type EscalationContext = z.infer<typeof EscalationContext>;

export const EscalationNotice = EscalationReport.extend({ context: EscalationContext }).meta({
  id: "EscalationNotice",
});
export type EscalationNotice = z.infer<typeof EscalationNotice>;

/** What the webhook delivers: a question, or that it need not be answered any more. */
export const WebhookMessage = z
  .discriminatedUnion("type", [
    /** `nonce`: new with every question; a decision in the answer is signed over it. */
    EscalationNotice.extend({ type: z.literal("escalation"), nonce: z.string() }),
    z.object({ type: z.literal("withdrawal"), id: z.string(), agentId: z.string(), because: z.string() }),
  ])
  .meta({ id: "WebhookMessage" });
export type WebhookMessage = z.infer<typeof WebhookMessage>;

/** How a question ended. `overtaken`: the agent became worse, or a person acted, before it was answered. */
export const EscalationEnding = z
  .discriminatedUnion("how", [
    z.object({
      how: z.literal("decided"),
      at: z.string(),
      decision: EscalationDecision,
      actor: z.string(),
      reason: z.string(),
    }),
    z.object({ how: z.literal("unanswered"), at: z.string(), waitedSeconds: z.number() }),
    z.object({ how: z.literal("incident-closed"), at: z.string(), ending: IncidentEnding, because: EndingReason }),
    z.object({ how: z.literal("overtaken") }),
  ])
  .meta({ id: "EscalationEnding" });
export type EscalationEnding = z.infer<typeof EscalationEnding>;

/** A question that no longer waits for an answer. */
export const ClosedEscalation = z
  .object({
    id: z.string(),
    agentId: z.string(),
    incident: z.string(),
    reason: EscalationReason,
    severity: Severity,
    openedAt: z.string(),
    ended: EscalationEnding,
  })
  .meta({ id: "ClosedEscalation" });
export type ClosedEscalation = z.infer<typeof ClosedEscalation>;

/** Open questions, or closed ones where those were asked for. */
export const EscalationList = z
  .object({ escalations: z.array(z.union([EscalationReport, ClosedEscalation])), next: Next })
  .meta({ id: "Escalations" });

/** A decision that is not accepted is a fault that says how the question ended. */
export const DecisionResult = z
  .object({ escalation: z.string(), outcome: z.literal("taken") })
  .meta({ id: "DecisionResult" });
export type DecisionResult = z.infer<typeof DecisionResult>;

/** An agent's answer is on disk. */
export const AnswerAck = z.object({ agentId: z.string(), status: z.literal("accepted") }).meta({ id: "AnswerAck" });
export type AnswerAck = z.infer<typeof AnswerAck>;
