export type {
  AgentAnswer,
  AgentHealth,
  AgentRegistration,
  AnswerAck,
  BreakerRules,
  BreakerSettings,
  BreakerState,
  CheckInAnswer,
  Checkpoint,
  CheckpointVerdict,
  CheckpointWithState,
  ClosedEscalation,
  Decision,
  DecisionResult,
  EscalationDecision,
  EscalationNotice,
  EscalationReport,
  EscalationResult,
  EscalationService,
  EventType,
  FaultCode,
  FreezeRequest,
  HealthMonitoringService,
  HealthSnapshot,
  Heartbeat,
  HeartbeatAck,
  IncidentList,
  KeptStep,
  NewCheckpoint,
  NudgeResult,
  RecoveryContext,
  RecoveryList,
  Reservation,
  SavedEvent,
  StepEvent,
  StepPage,
  StepQuery,
  StepsAck,
  SystemStatus,
  TakeRequest,
  TaskHealth,
  TaskPage,
  TaskReport,
  TaskStatus,
  WaitKind,
  WebhookMessage,
  WhyReport,
} from "@rouse/contract";
export { Fault } from "@rouse/contract";
export {
  type Agent,
  type AgentOptions,
  type AgentStep,
  type Connection,
  MonitoredAgent,
  type Nudge,
  ReplacedError,
  rouse,
  type SavedStep,
  type StepContext,
  type StopRequest,
  type ToolOptions,
} from "./agent/index.ts";
export type { AskAndAnswer, ClosedPage } from "./ask-and-answer.ts";
export type { Once } from "./call-api.ts";
export { type AgentQuery, connectRouse, type PastQuery, type RouseClient } from "./connect-rouse.ts";
export type { EventFilter, EventStreamOptions, StreamedEvent } from "./follow-events.ts";
export {
  type BreakerChange,
  BreakerOpenError,
  type BreakerOptions,
  type CallOptions,
  type CircuitBreaker,
  createBreaker,
} from "./guard/breaker.ts";
export { type BreakersOptions, type CircuitBreakers, createBreakers } from "./guard/breaker-groups.ts";
export { type ChatMessage, type Compacted, type CompactOptions, compactContext } from "./guard/compact-context.ts";
export {
  type Allow,
  type Allowance,
  type Cost,
  createRateLimit,
  type RateLimit,
  type RateLimitOptions,
  type TakeOptions,
} from "./guard/rate-limit.ts";
export { fetchWithRetry, RetryAfterError, type RetryOptions, retry } from "./guard/retry.ts";
export { readRetryAfter } from "./guard/retry-after.ts";
export { createRetryBudget, type RetryBudget, type RetryBudgetOptions } from "./guard/retry-budget.ts";
export { createSharedRateLimit, type SharedRateLimit, type SharedRateLimitOptions } from "./guard/shared-rate-limit.ts";
export type { ConnectOptions, Fetch } from "./open-line.ts";
export { readRecovery } from "./read-recovery.ts";
export { type CheckpointCalls, connectCheckpoints } from "./save-checkpoints.ts";
export { verifyWebhook, type WebhookVerdict } from "./verify-webhook.ts";
export { type BySpeaker, connectTasks, type NewTask, type TaskCalls, type TaskQuery } from "./work-on-tasks.ts";
