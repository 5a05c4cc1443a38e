import type { AgentHealth, HealthSnapshot } from "./agent.ts";
import type { OrderAnswer } from "./api.ts";
import type { RecoveryStatus } from "./checkpoint.ts";
import type { Heartbeat, HeartbeatAck } from "./heartbeat.ts";
import type { EscalationResult, NudgeResult } from "./incident.ts";
import type { DurationMs } from "./time.ts";

/**
 * The library interface, the same embedded (`openRouse`) and over HTTP (`connectRouse`). It lists what this version does; breakers join it when
 * they exist.
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
}

export type TerminationResult = OrderAnswer;
export type RecoveryResult = OrderAnswer;
