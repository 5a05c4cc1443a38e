export type { AgentAnswer, BreakerRules, BreakerState, RecoveryContext, WaitKind } from "@rouse/contract";
export { Fault } from "@rouse/contract";
export { BreakerOpenError, type BreakerOptions, type CallOptions, type CircuitBreaker } from "../guard/breaker.ts";
export type {
  Agent,
  AgentOptions,
  AgentStep,
  Connection,
  Nudge,
  SavedStep,
  StepContext,
  StopRequest,
  ToolOptions,
} from "./agent-api.ts";
export { ReplacedError } from "./link.ts";
export { MonitoredAgent } from "./monitored-agent.ts";
export { rouse } from "./start-agent.ts";
