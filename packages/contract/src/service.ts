import type { AgentHealth, HealthSnapshot } from "./agent.ts";
import type { OrderAnswer } from "./api.ts";
import type { CircuitBreakerStatus } from "./breakers/breaker-words.ts";
import type { RecoveryStatus } from "./checkpoint.ts";
import type { DecisionResult, EscalationNotice } from "./escalation.ts";
import type { Heartbeat, HeartbeatAck } from "./heartbeat.ts";
import type {
  AcknowledgeRequest,
  DecisionRequest,
  EscalationReport,
  EscalationResult,
  NudgeResult,
} from "./incident.ts";
import type { DurationMs } from "./time.ts";

/**
 * The library interface, the same embedded (`openRouse`) and over HTTP (`connectRouse`). It lists what this version
 * does.
 */
export interface HealthMonitoringService {
  getAgentHealth(agentId: string): Promise<AgentHealth>;
  getAllAgentHealth(): Promise<AgentHealth[]>;
  getHealthHistory(agentId: string, duration: DurationMs): Promise<HealthSnapshot[]>;
  recordHeartbeat(heartbeat: Heartbeat): Promise<HeartbeatAck>;
  getLastHeartbeat(agentId: string): Promise<Heartbeat | null>;
  sendNudge(agentId: string, message?: string): Promise<NudgeResult>;
  escalateToOrchestrator(agentId: string, reason: string): Promise<EscalationResult>;
  terminateAgent(agentId: string, reason: string): Promise<TerminationResult>;
  initiateRecovery(taskId: string): Promise<RecoveryResult>;
  getRecoveryStatus(taskId: string): Promise<RecoveryStatus>;
  getCircuitBreakerStatus(name: string): Promise<CircuitBreakerStatus>;
  getAllCircuitBreakers(): Promise<CircuitBreakerStatus[]>;
  resetCircuitBreaker(name: string): Promise<void>;
}

/** Only the decision is required. */
export type Decision = Pick<DecisionRequest, "decision"> & Partial<DecisionRequest>;

/** Questions about unhealthy agents, and answers to them; the same embedded and over HTTP. */
export interface EscalationService {
  /** Open questions about one agent, or about all. */
  escalations(only?: { readonly agentId?: string }): Promise<EscalationReport[]>;
  /** One question with all that is known. Rejects with `escalation-closed` when it has ended. */
  escalation(id: string): Promise<EscalationNotice>;
  /** Answers a question. A second or late answer gets a `Fault` (`escalation-closed`) that says how it ended. */
  decide(id: string, decision: Decision): Promise<DecisionResult>;
  /** A person has seen the question. It still waits for a decision. */
  acknowledge(id: string, by?: Partial<AcknowledgeRequest>): Promise<DecisionResult>;
}

export type TerminationResult = OrderAnswer;
export type RecoveryResult = OrderAnswer;
