export type {
  AgentHealth,
  AgentRegistration,
  EventType,
  FaultCode,
  FreezeRequest,
  HealthMonitoringService,
  HealthSnapshot,
  Heartbeat,
  HeartbeatAck,
  KeptStep,
  SavedEvent,
  StepEvent,
  StepPage,
  StepQuery,
  StepsAck,
  SystemStatus,
  WhyReport,
} from "@rouse/contract";
export { Fault } from "@rouse/contract";
export { connectRouse, type RouseClient } from "./connect-rouse.ts";
export type { EventFilter, EventStreamOptions, StreamedEvent } from "./follow-events.ts";
export type { ConnectOptions } from "./open-line.ts";
