export type {
  AgentAnswer,
  AgentHealth,
  AgentRegistration,
  AnswerAck,
  CheckInAnswer,
  Checkpoint,
  CheckpointVerdict,
  CheckpointWithState,
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
  KeptStep,
  NewCheckpoint,
  NudgeResult,
  RecoveryContext,
  SavedEvent,
  StepEvent,
  StepPage,
  StepQuery,
  StepsAck,
  SystemStatus,
  TaskHealth,
  TaskPage,
  TaskReport,
  TaskStatus,
  WebhookMessage,
  WhyReport,
} from "@rouse/contract";
export { Fault } from "@rouse/contract";
export type { AskAndAnswer } from "./ask-and-answer.ts";
export { type AgentQuery, connectRouse, type RouseClient } from "./connect-rouse.ts";
export type { EventFilter, EventStreamOptions, StreamedEvent } from "./follow-events.ts";
export type { ConnectOptions, Fetch } from "./open-line.ts";
export { readRecovery } from "./read-recovery.ts";
export { type CheckpointCalls, connectCheckpoints } from "./save-checkpoints.ts";
export { verifyWebhook, type WebhookVerdict } from "./verify-webhook.ts";
export { type BySpeaker, connectTasks, type NewTask, type TaskCalls, type TaskQuery } from "./work-on-tasks.ts";
