// Without zod, so that a command that only prints them does not load it.

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

export const activityKinds = ["STARTING", "RUNNING", "WAITING", "IDLE", "FINISHED", "EXITED"] as const;

/** What a detector can conclude. `note` is worth showing; the others are the health state it argues for. */
export const findingLevels = ["note", "degraded", "stuck", "failing", "unresponsive"] as const;

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
  "sequence-restarted",
  "stale-checkpoint",
  "no-progress",
  "no-tool-call",
  "zero-tokens",
  "token-spike",
  "error-rate",
  "consecutive-failures",
  "task-not-started",
  "self-reported",
  "run-failed",
  "memory-pressure",
  "no-output",
  "repeated-error",
  "token-burn",
  "completion-timeout",
  "context-exhausted",
  "spinning-on-file",
  "rate-limited",
  "request-retried",
  "process-exited",
  "holder-lost",
  "api-errors",
  "overdue-call",
  "memory-limit",
  "task-timed-out",
  "breaker-open",
  ...loopKinds,
] as const;

/**
 * Kinds of evidence. A stop needs absence and one other, or two others; absence is one kind, however many eyes report
 * it: no beats, no output, no progress, low CPU. `overdue`: a call is open beyond the time-out its program keeps.
 * `owner-rule`: the owner said in advance that this agent is to be stopped for it. `resource` and `self-report` are
 * shown; only a limit the owner set makes the first one count.
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

/** Why health changed: a finding, or one of the few things that change it otherwise. */
export const healthReasons = [
  ...findingKinds,
  "registered",
  "findings-cleared",
  "new-incarnation",
  "finished",
  "terminated",
] as const;
