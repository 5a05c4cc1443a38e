import {
  type AgentHealth,
  type AgentList,
  type AgentRegistration,
  type BreakerList,
  type BreakerSettings,
  type CircuitBreakerStatus,
  Fault,
  type FreezeRequest,
  type HealthMonitoringService,
  type HealthState,
  type Heartbeat,
  type HeartbeatAck,
  type HistoryReport,
  type IncidentList,
  type KeptHeartbeat,
  type OrderAnswer,
  type OrderRequest,
  type RecoveryList,
  type RecoveryStatus,
  type RemovedAgent,
  type RemoveRequest,
  type Reservation,
  type SavedEvent,
  type StepEvent,
  type StepPage,
  type StepQuery,
  type StepsAck,
  type SystemStatus,
  type TakeRequest,
  type WhyReport,
} from "@rouse/contract";
import { agentPath, breakerRulesPath, taskPath } from "./agent-path.ts";
import { type AskAndAnswer, askAndAnswer } from "./ask-and-answer.ts";
import { ask, askAll, type Once, searchFor, withSearch } from "./call-api.ts";
import {
  type EventFilter,
  type EventStreamOptions,
  eventSearch,
  followEvents,
  type StreamedEvent,
} from "./follow-events.ts";
import { type ConnectOptions, type Line, openLine } from "./open-line.ts";
import { type CheckpointCalls, checkpointCalls } from "./save-checkpoints.ts";
import { type Call, faultOf, send } from "./send.ts";
import { takeFromRateLimit } from "./take-from-rate-limit.ts";
import { type TaskCalls, workOnTasks } from "./work-on-tasks.ts";

/**
 * A Rouse in another process. Every call that fails rejects with a `Fault`; no connection is kept open between calls.
 */
export interface RouseClient
  extends Omit<HealthMonitoringService, keyof AskAndAnswer>,
    AskAndAnswer,
    CheckpointCalls,
    TaskCalls {
  getAllAgentHealth(only?: AgentQuery): Promise<AgentHealth[]>;
  /** The same with the monitor's doubts about itself: freeze, hold, amnesty. */
  fleet(only?: AgentQuery): Promise<AgentList>;
  resetCircuitBreaker(name: string, order?: Partial<FreezeRequest>): Promise<void>;
  /** What the owner's settings say for the breakers of this agent. `rouse.agent()` asks by itself. */
  breakerRules(agentId: string): Promise<BreakerSettings>;
  /** Reserves a place in the queue of a shared rate limit. `createSharedRateLimit` also waits. */
  takeFromRateLimit(name: string, request: TakeRequest): Promise<Reservation>;
  registerAgent(registration: AgentRegistration): Promise<AgentHealth>;
  why(agentId: string): Promise<WhyReport>;
  /**
   * Tells what an agent did: calls, results, messages, errors, in order. Digests are enough; where there is text, Rouse
   * makes digests of it and keeps nothing else. Events that cannot be read are named in the answer, the others are
   * taken.
   */
  recordSteps(agentId: string, events: readonly StepEvent[], once?: Once): Promise<StepsAck>;
  /** What is kept of an agent's steps, oldest first. */
  steps(agentId: string, query?: StepQuery): Promise<StepPage>;
  /** One page, oldest first: what came after an event, or without `after` the newest. */
  events(page?: EventFilter & { limit?: number }): Promise<SavedEvent[]>;
  /**
   * Everything from now on (or after an event), each event once and in order. A dropped connection is taken up again
   * where it broke off; the iteration ends when `signal` is aborted, and throws when the first connection fails or
   * going on makes no sense.
   */
  streamEvents(options?: EventStreamOptions): AsyncIterable<StreamedEvent>;
  /** One page: what is wrong now, or was. */
  incidents(page?: PastQuery & { state?: "open" | "closed" }): Promise<IncidentList>;
  /** One page: how agents were brought back, the last first. */
  recoveries(page?: PastQuery): Promise<RecoveryList>;
  status(): Promise<SystemStatus>;
  freeze(order?: Partial<FreezeRequest>): Promise<SystemStatus>;
  thaw(order?: Partial<FreezeRequest>): Promise<SystemStatus>;
  /** Stops the whole tree of processes of an agent that Rouse started. */
  terminateAgent(agentId: string, order?: string | Partial<OrderRequest>): Promise<OrderAnswer>;
  /** Stops such an agent and starts it again the same way. */
  recoverAgent(agentId: string, order?: Partial<OrderRequest>): Promise<OrderAnswer>;
  initiateRecovery(taskId: string, order?: Partial<OrderRequest>): Promise<OrderAnswer>;
  /**
   * Removes an agent that has ended from the list. Rejects with `order-refused` and the reason while something of it is
   * left or may come back.
   */
  removeAgent(agentId: string, order?: Partial<RemoveRequest>): Promise<RemovedAgent>;
}

/** Each field narrows the list. */
export interface AgentQuery {
  readonly filter?: "unhealthy";
  readonly state?: HealthState | readonly HealthState[];
  readonly type?: string;
  readonly node?: string;
  readonly task?: string;
  /** Part of a name: of the agent, its type, node or task. */
  readonly q?: string;
}

export interface PastQuery {
  readonly agentId?: string;
  readonly limit?: number;
  /** `next` of the previous page. */
  readonly cursor?: string;
}

const agentsPerPage = 5000;

async function listAgents(line: Line, only: AgentQuery): Promise<AgentList> {
  const search = searchFor({ ...only, limit: agentsPerPage });
  const [first, ...rest] = await askAll<AgentList>(line, "/api/v1/agents", search);
  if (rest.length === 0) return first;
  return { ...first, agents: [first, ...rest].flatMap(({ agents }) => agents), next: null };
}

export function connectRouse(options: ConnectOptions): RouseClient {
  const line = openLine(options);
  return {
    ...agentCalls(line),
    ...askAndAnswer(line),
    ...checkpointCalls(line),
    ...workOnTasks(line),
    async events(page = {}) {
      const search = eventSearch(page);
      if (page.limit !== undefined) search.set("limit", String(page.limit));
      return (await ask<{ events: SavedEvent[] }>(line, { path: `/api/v1/events?${search}` })).events;
    },
    streamEvents: (stream = {}) => followEvents(line, stream),
    incidents: (page = {}) => ask(line, { path: withSearch("/api/v1/incidents", searchFor(page)) }),
    recoveries: (page = {}) => ask(line, { path: withSearch("/api/v1/recoveries", searchFor(page)) }),
    status: () => ask(line, { path: "/api/health/status" }),
    takeFromRateLimit: async (name, request) => takeFromRateLimit(line, name, request),
    freeze: (order = {}) => ask(line, { path: "/api/v1/freeze", body: order }),
    thaw: (order = {}) => ask(line, { path: "/api/v1/thaw", body: order }),
  };
}

function agentCalls(line: Line) {
  return {
    getAgentHealth: async (agentId: string) => ask<AgentHealth>(line, { path: agentPath(agentId) }),
    getAllAgentHealth: async (only: AgentQuery = {}) => (await listAgents(line, only)).agents,
    fleet: (only: AgentQuery = {}) => listAgents(line, only),
    async getHealthHistory(agentId: string, duration: number) {
      const path = `${agentPath(agentId)}/history?duration=${duration}ms`;
      return (await ask<HistoryReport>(line, { path })).history;
    },
    recordHeartbeat: (heartbeat: Heartbeat) => sendHeartbeat(line, { path: "/api/v1/heartbeats", body: heartbeat }),
    async getLastHeartbeat(agentId: string): Promise<Heartbeat | null> {
      const path = `${agentPath(agentId)}/heartbeats?limit=1`;
      const [kept] = await ask<{ heartbeats: KeptHeartbeat[] }>(line, { path }).then(
        ({ heartbeats }) => heartbeats,
        noneOfUnknown,
      );
      if (kept === undefined) return null;
      const { receivedAt: _, ...heartbeat } = kept;
      return heartbeat;
    },
    registerAgent: (registration: AgentRegistration) =>
      ask<AgentHealth>(line, { path: "/api/v1/agents", body: registration }),
    terminateAgent: async (agentId: string, order: string | Partial<OrderRequest> = {}) =>
      ask<OrderAnswer>(line, {
        path: `${agentPath(agentId)}/terminate`,
        body: typeof order === "string" ? { reason: order } : order,
      }),
    recoverAgent: async (agentId: string, order: Partial<OrderRequest> = {}) =>
      ask<OrderAnswer>(line, { path: `${agentPath(agentId)}/recover`, body: order }),
    initiateRecovery: async (taskId: string, order: Partial<OrderRequest> = {}) =>
      ask<OrderAnswer>(line, { path: `${taskPath(taskId)}/recover`, body: order }),
    getRecoveryStatus: async (taskId: string) => ask<RecoveryStatus>(line, { path: `${taskPath(taskId)}/recovery` }),
    getCircuitBreakerStatus: async (name: string) => ask<CircuitBreakerStatus>(line, { path: breakerPath(name) }),
    getAllCircuitBreakers: async () =>
      (await askAll<BreakerList>(line, "/api/v1/breakers")).flatMap(({ breakers }) => breakers),
    async resetCircuitBreaker(name: string, order: Partial<FreezeRequest> = {}): Promise<void> {
      await ask(line, { path: `${breakerPath(name)}/reset`, body: order });
    },
    breakerRules: async (agentId: string) => ask<BreakerSettings>(line, { path: breakerRulesPath(agentId) }),
    removeAgent: async (agentId: string, order: Partial<RemoveRequest> = {}) =>
      ask<RemovedAgent>(line, { method: "DELETE", path: agentPath(agentId), body: order }),
    recordSteps: async (agentId: string, events: readonly StepEvent[], once?: Once) =>
      ask<StepsAck>(line, { path: `${agentPath(agentId)}/steps`, body: events, key: once?.key }),
    steps: async (agentId: string, query: StepQuery = {}) =>
      ask<StepPage>(line, { path: withSearch(`${agentPath(agentId)}/steps`, searchFor(query)) }),
    why: async (agentId: string) => ask<WhyReport>(line, { path: `${agentPath(agentId)}/why` }),
  };
}

/** An agent that Rouse does not know has no last heartbeat; that is no error. */
function noneOfUnknown(error: unknown): never[] {
  if (error instanceof Fault && error.code === "agent-unknown") return [];
  throw error;
}

/** A refused beat has an acknowledgement that says why: an agent should read it, not crash over it. */
async function sendHeartbeat(line: Line, call: Call): Promise<HeartbeatAck> {
  const answer = await send(line, call);
  const ack = answer.body as HeartbeatAck | null;
  if (ack !== null && (answer.ok || ack.status === "rejected")) return ack;
  throw faultOf(line, answer);
}

const breakerPath = (name: string): string => `/api/v1/breakers/${encodeURIComponent(name)}`;
