import { z } from "zod";

/** Is it there, is it getting anywhere, is it breaking things? */
export const healthStates = [
  "HEALTHY",
  "DEGRADED",
  "UNRESPONSIVE",
  "STUCK",
  "FAILING",
  "QUARANTINED",
  "TERMINATED",
] as const;
export const HealthState = z.enum(healthStates).meta({ id: "HealthState" });
export type HealthState = z.infer<typeof HealthState>;

/** What a waiting agent waits for. */
export const WaitKind = z.enum(["input", "provider", "children", "schedule"]).meta({ id: "WaitKind" });
export type WaitKind = z.infer<typeof WaitKind>;

/** What a running agent has open: it is the model's or the tool's turn to produce the next event. */
export const OpenWork = z
  .object({
    kind: z.enum(["model", "tool"]),
    name: z.string().max(200).optional(),
    timeoutSeconds: z.number().nonnegative().max(604_800).optional(),
  })
  .meta({ id: "OpenWork" });
export type OpenWork = z.infer<typeof OpenWork>;

/** Beside health stands activity: it decides which clock runs. */
export const ActivityKind = z.enum(["STARTING", "RUNNING", "WAITING", "IDLE", "FINISHED"]).meta({ id: "ActivityKind" });
export type ActivityKind = z.infer<typeof ActivityKind>;

export const ActivityReport = z
  .object({
    kind: ActivityKind,
    since: z.string(),
    open: OpenWork.optional(),
    for: WaitKind.optional(),
    until: z.string().optional(),
    /** Of a wait that was read off its terminal: whether a field of its stream says so, or only words. */
    by: z.enum(["text", "stream"]).optional(),
  })
  .meta({ id: "Activity" });
export type ActivityReport = z.infer<typeof ActivityReport>;

/** What a detector can conclude. `note` is worth showing; the others are the health state it argues for. */
export const findingLevels = ["note", "degraded", "stuck", "failing", "unresponsive"] as const;
export const FindingLevel = z.enum(findingLevels).meta({ id: "FindingLevel" });
export type FindingLevel = z.infer<typeof FindingLevel>;

/** What the steps of a run can show by repeating themselves. */
export const loopKinds = [
  "identical-step",
  "identical-call",
  "identical-change",
  "cycle",
  "error-class",
  "error-streak",
  "blocked-call",
  "replies-only",
  "same-words",
  "no-novelty",
  "stale-results",
] as const;
export type LoopKind = (typeof loopKinds)[number];

export const findingKinds = [
  "missed-beats",
  "stale-checkpoint",
  "no-progress",
  "no-tool-call",
  "zero-tokens",
  "token-spike",
  "error-rate",
  "consecutive-failures",
  "task-not-started",
  "self-reported",
  "memory-pressure",
  "no-output",
  "repeated-error",
  "token-burn",
  "completion-timeout",
  "context-exhausted",
  "spinning-on-file",
  "rate-limited",
  "process-exited",
  "holder-lost",
  "api-errors",
  "overdue-call",
  "memory-limit",
  ...loopKinds,
] as const;
export const FindingKind = z.enum(findingKinds).meta({ id: "FindingKind" });
export type FindingKind = z.infer<typeof FindingKind>;

/**
 * Kinds of evidence. A stop needs absence and one other, or two others; absence is one kind, however many eyes report it: no beats, no output, no
 * progress, low CPU. `overdue`: a call is open beyond the time-out its program keeps. `owner-rule`: the owner said in advance that this agent is to be
 * stopped for it. `resource` and `self-report` are shown; only a limit the owner set makes the first one count.
 */
export const evidenceClasses = [
  "absence",
  "process",
  "repetition",
  "explicit-error",
  "overdue",
  "unanswered-nudge",
  "resource",
  "owner-rule",
  "order",
  "self-report",
] as const;
export const EvidenceClass = z.enum(evidenceClasses).meta({ id: "EvidenceClass" });
export type EvidenceClass = z.infer<typeof EvidenceClass>;

/** Why a finding argues for less than it could: the monitor doubts itself, or the agent said in advance that it would be quiet. */
export const HeldBecause = z
  .enum(["amnesty", "mass-silence", "path-unproven", "unwitnessed", "open-work", "waiting", "starting"])
  .meta({ id: "HeldBecause" });
export type HeldBecause = z.infer<typeof HeldBecause>;

export const FindingReport = z
  .object({
    kind: FindingKind,
    level: FindingLevel,
    confidence: z.number().min(0).max(1),
    class: EvidenceClass,
    text: z.string(),
    evidence: z.record(z.string(), z.union([z.number(), z.string()])),
    since: z.string(),
    held: HeldBecause.optional(),
  })
  .meta({ id: "Finding" });
export type FindingReport = z.infer<typeof FindingReport>;

/** Why health changed: a finding, or one of the few things that change it otherwise. */
export const healthReasons = [
  ...findingKinds,
  "registered",
  "findings-cleared",
  "new-incarnation",
  "finished",
  "terminated",
] as const;
export const HealthReason = z.enum(healthReasons).meta({ id: "HealthReason" });
export type HealthReason = z.infer<typeof HealthReason>;
