import type { AgentHealth, HealthSnapshot } from "./agent.ts";
import type { Heartbeat, HeartbeatAck } from "./heartbeat.ts";
import type { DurationMs } from "./time.ts";

/**
 * The library interface, the same embedded (`openRouse`) and over HTTP (`connectRouse`). It lists what this version does;
 * interventions, breakers and recovery join it when they exist.
 */
export interface HealthMonitoringService {
  getAgentHealth(agentId: string): Promise<AgentHealth>;
  getAllAgentHealth(): Promise<AgentHealth[]>;
  getHealthHistory(agentId: string, duration: DurationMs): Promise<HealthSnapshot[]>;
  recordHeartbeat(heartbeat: Heartbeat): Promise<HeartbeatAck>;
  getLastHeartbeat(agentId: string): Promise<Heartbeat | null>;
}
