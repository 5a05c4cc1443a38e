import { join } from "node:path";
import {
  AcknowledgeRequest,
  type AgentHealth,
  type AgentRegistration,
  DecisionRequest,
  type DecisionResult,
  type EscalationService,
  Fault,
  type HealthMonitoringService,
  type Heartbeat,
  type HeartbeatAck,
  type SavedEvent,
  type StepEvent,
  type StepPage,
  type StepQuery,
  type StepsAck,
  type SystemStatus,
  type WhyReport,
} from "@rouse/contract";
import { alertsToLog } from "./adapters/alerts-log/alerts-log.ts";
import { openFileAnchor } from "./adapters/anchor-file/open-file-anchor.ts";
import { systemClock, systemTimers } from "./adapters/clock-system/system-clock.ts";
import { openLog } from "./adapters/log-pino/open-log.ts";
import { openWebhook } from "./adapters/orchestrator-webhook/open-webhook.ts";
import { openWebhookAnchor } from "./adapters/orchestrator-webhook/open-webhook-anchor.ts";
import { openFileStates } from "./adapters/states-files/open-file-states.ts";
import { openSqliteStore } from "./adapters/store-sqlite/open-sqlite-store.ts";
import { openGitAnchor } from "./adapters/workspaces-git/open-git-anchor.ts";
import { openGitWorkspaces } from "./adapters/workspaces-git/open-git-workspaces.ts";
import { tooLate } from "./api/escalations.ts";
import { readRequest } from "./api/route.ts";
import type { Help } from "./build-services.ts";
import { readConfig, requireConfig } from "./config/read-config.ts";
import type { Answered } from "./escalations/take-orders.ts";
import { homeFolder } from "./home/home-folder.ts";
import { openHome } from "./home/open-home.ts";
import { openWebhookSecret } from "./home/secret-files.ts";
import { openSigningKey } from "./home/signing-key.ts";
import { type Monitor, startMonitor } from "./monitor.ts";
import { givenBy } from "./orders/note-orders.ts";
import { openAnchorsBy } from "./ports/anchors.ts";
import { noHolders } from "./ports/holders.ts";
import { version } from "./version.ts";

export interface OpenOptions {
  /** Where its data is kept; `$ROUSE_HOME` or `~/.rouse` when not given. */
  readonly home?: string;
  /** The text of a configuration file. */
  readonly config?: string;
}

/** A monitor inside this process: the service of the library, without a server. */
export interface EmbeddedRouse extends HealthMonitoringService, EscalationService {
  registerAgent(registration: AgentRegistration): Promise<AgentHealth>;
  why(agentId: string): Promise<WhyReport>;
  /** Tells what an agent did: calls, results, messages, errors, in order. Of texts only digests are kept. */
  recordSteps(agentId: string, events: readonly StepEvent[]): Promise<StepsAck>;
  steps(agentId: string, query?: StepQuery): Promise<StepPage>;
  status(): Promise<SystemStatus>;
  onEvents(listener: (events: readonly SavedEvent[]) => void): () => void;
  close(): Promise<void>;
}

/** Whoever has the data folder open is its owner. */
const program = { actor: "owner", as: "program" } as const;

export async function openRouse(options: OpenOptions = {}): Promise<EmbeddedRouse> {
  const config = requireConfig(
    readConfig({
      file: options.config === undefined ? null : { name: "config", text: options.config },
      environment: process.env,
    }),
  );
  const home = openHome(options.home ?? homeFolder(process.env));
  const log = openLog("warn");
  const store = await openSqliteStore({ folder: home.folder });
  const { folder } = home;
  const start = async (): Promise<Monitor> => {
    const secret = openWebhookSecret(folder);
    return startMonitor({
      store,
      alerts: alertsToLog(log),
      holders: noHolders,
      workspaces: openGitWorkspaces({ scratch: join(home.folder, "scratch") }),
      orchestrator: openWebhook({
        url: () => config.settings.escalation.webhook_url ?? null,
        allowPrivate: () => config.settings.escalation.allow_private_webhook,
        secret,
        clock: systemClock,
        timers: systemTimers,
        log,
      }),
      states: await openFileStates(home.folder),
      signing: openSigningKey(home.folder),
      anchors: openAnchorsBy({
        file: (path) => openFileAnchor({ path, folder }),
        git: (repository, ref) => openGitAnchor({ repository, ref, folder }),
        webhook: (to) => openWebhookAnchor({ to, secret, clock: systemClock, timers: systemTimers }),
      }),
      clock: systemClock,
      timers: systemTimers,
      log,
      config,
      version,
    });
  };
  const monitor = await start().catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  return {
    getAgentHealth: async (agentId) => monitor.agent(agentId),
    getAllAgentHealth: async () => monitor.agents(),
    getHealthHistory: async (agentId, duration) => (await monitor.history(agentId, duration)).history,
    async recordHeartbeat(heartbeat) {
      const [ack] = await new Promise<readonly HeartbeatAck[]>((taken, failed) =>
        monitor.takeBeats([{ beat: heartbeat }], taken, failed),
      );
      if (ack === undefined) throw new Error("one beat gets one acknowledgement");
      return ack;
    },
    getLastHeartbeat: async (agentId) =>
      withoutReceipt((await monitor.heartbeats(agentId, 1).catch(noneOfUnknown)).heartbeats[0]),
    sendNudge: (agentId, message) => monitor.help.orders.nudge(agentId, "owner", message ?? null, "program"),
    ...answerEscalations(monitor.help),
    escalateToOrchestrator: (agentId, reason) => monitor.help.orders.escalate(agentId, "owner", reason, "program"),
    terminateAgent: (agentId, reason) => monitor.terminate(agentId, { ...program, reason, force: false }),
    initiateRecovery: (taskId) =>
      monitor.help.recovery.recoverTask(taskId, { ...program, reason: "initiateRecovery", force: false }),
    getRecoveryStatus: async (taskId) => monitor.help.recovery.recoveryStatus(taskId),
    getCircuitBreakerStatus: async (name) => monitor.help.breakers.get(name),
    getAllCircuitBreakers: async () => monitor.help.breakers.list(),
    async resetCircuitBreaker(name) {
      await monitor.help.breakers.reset(name, { ...program, reason: "resetCircuitBreaker" });
    },
    registerAgent: (registration) => monitor.register(registration),
    recordSteps: (agentId, events) => monitor.takeSteps(agentId, events, null),
    steps: (agentId, query = {}) => monitor.steps(agentId, query),
    why: (agentId) => monitor.why(agentId),
    status: async () => monitor.status(),
    onEvents: (listener) => monitor.onEvents(listener),
    close: () => monitor.stop(),
  };
}

/** An unknown agent has no last heartbeat; that is no fault here. */
function noneOfUnknown(error: unknown): { heartbeats: never[] } {
  if (error instanceof Fault && error.code === "agent-unknown") return { heartbeats: [] };
  throw error;
}

function withoutReceipt(kept: (Heartbeat & { receivedAt: string }) | undefined): Heartbeat | null {
  if (kept === undefined) return null;
  const { receivedAt: _, ...heartbeat } = kept;
  return heartbeat;
}

/** Escalations for an embedding program: the same methods as over HTTP, with the same answers and faults. */
function answerEscalations({ orders, escalations }: Pick<Help, "orders" | "escalations">): EscalationService {
  return {
    async escalations({ agentId } = {}) {
      const open = orders.escalations();
      return agentId === undefined ? open : open.filter((one) => one.agentId === agentId);
    },
    async escalation(id) {
      const notice = await escalations.notice(id);
      if (notice === null) throw tooLate(id, await escalations.howItEnded(id));
      return notice;
    },
    decide: async (id, decision) =>
      resultOf(id, await orders.decide(id, givenBy("owner", readRequest(DecisionRequest, decision)))),
    acknowledge: async (id, by) =>
      resultOf(id, await orders.acknowledge(id, "owner", readRequest(AcknowledgeRequest, by).actor)),
  };
}

function resultOf(escalation: string, answered: Answered): DecisionResult {
  if (answered.outcome === "taken") return { escalation, outcome: "taken" };
  throw tooLate(escalation, answered.outcome === "over" ? answered.ended : null);
}
