import type { AgentHealth, SystemStatus, TerminalReport, WhyReport } from "@rouse/contract";

/** Ten past ten, the moment all samples are looked at. */
export const now = Date.parse("2026-02-05T10:10:00Z");

/** Clears the screen, sets the title, turns text red, and reverses what follows. */
export const hostile = "\u001b[2J\u001b]0;owned\u0007\u009b31mred\u202egnp.exe";

export const stuck: AgentHealth = {
  agentId: "worker-1",
  taskId: "bd-288",
  state: "STUCK",
  stateChangedAt: "2026-02-05T09:58:00.000Z",
  stateReason: "no-progress",
  over: null,
  lastHeartbeat: "2026-02-05T10:09:48.000Z",
  lastHeard: "2026-02-05T10:09:48.000Z",
  lastCheckpoint: null,
  phase: null,
  progress: null,
  metrics: { uptimeSeconds: 7200, tokenCount: 1200, errorCount: null, toolCallCount: 7, interventionCount: 0 },
  circuitBreakers: [],
  incident: null,
  handedOver: null,
  terminal: null,
  limit: null,
  activity: { kind: "RUNNING", since: "2026-02-05T09:20:00.000Z", open: { kind: "tool", name: "npm test" } },
  findings: [
    {
      kind: "no-progress",
      level: "stuck",
      confidence: 0.9,
      class: "absence",
      text: "no new fact in 42 min of work",
      evidence: { workedSeconds: 2520, staleAfterSeconds: 1800 },
      since: "2026-02-05T09:58:00.000Z",
    },
    {
      kind: "missed-beats",
      level: "note",
      confidence: 0.2,
      class: "absence",
      text: "1 expected beat missed",
      evidence: { missed: 1 },
      since: "2026-02-05T10:09:00.000Z",
      restrainedBy: "amnesty",
    },
  ],
  incarnation: 3,
  lineage: "worker-1",
  agentType: "coder",
  node: "build-1",
};

/** In a terminal of its own, with its owner's rule against idling. */
export const heldFor = (idleKillSeconds: number | null): TerminalReport => ({
  pid: 4711,
  family: "generic",
  structured: false,
  foreground: false,
  attached: 0,
  holder: "here",
  lastOutput: "2026-02-05T09:28:00.000Z",
  outputBytes: 12,
  outputKept: true,
  needsYou: null,
  errors: [],
  processes: null,
  session: null,
  completedAt: null,
  exit: null,
  restarts: 0,
  idleKillSeconds,
  eyes: [],
  input: "terminal",
});

export const healthy: AgentHealth = {
  ...stuck,
  agentId: "worker-10",
  taskId: null,
  state: "HEALTHY",
  stateReason: "registered",
  lastHeartbeat: null,
  lastHeard: null,
  activity: { kind: "WAITING", since: "2026-02-05T10:00:00.000Z", for: "provider" },
  findings: [],
  node: null,
};

export const status: SystemStatus = {
  status: "on-hold",
  total_agents: 2,
  active_agents: 2,
  degraded_agents: 0,
  agents_by_state: { STUCK: 1, HEALTHY: 1 },
  agents_over: {},
  last_heartbeat: "2026-02-05T10:09:48.000Z",
  started_at: "2026-02-05T08:00:00.000Z",
  version: "0.1.0",
  monitor: {
    lastGap: { cause: "suspend", endedAt: "2026-02-05T10:08:00.000Z", lastedSeconds: 300 },
    holds: [{ because: "mass-silence", scope: "node build-1", since: "2026-02-05T10:09:00.000Z" }],
    fleetIncidents: [],
    lagSeconds: 0,
    frozen: null,
  },
};

export const why: WhyReport = {
  agent: stuck,
  outlook: {
    quietSeconds: 2520,
    evidence: ["absence"],
    enough: false,
    next: [{ what: "ask", at: "2026-02-05T10:22:00.000Z" }],
  },
  eyes: [
    { eye: "beats", says: "at-work", at: "2026-02-05T10:09:48.000Z" },
    { eye: "cpu", says: "quiet", at: null },
    { eye: "network", says: "unseen", at: null },
  ],
  clocks: {
    silentSeconds: 12,
    silenceAllowedSeconds: 902,
    withoutProgressSeconds: 2520,
    progressClock: "running",
    nextLookAt: "2026-02-05T10:10:30.000Z",
  },
  beats: { accepted: 120, duplicates: 1, stale: 0, refused: 0, lost: 2, clockSkewSeconds: -1.5 },
  policy: { id: "default@1a2b3c4d", mode: "act" },
  partOf: null,
  steps: [],
  monitor: status.monitor,
  events: [
    {
      id: 12,
      time: "2026-02-05T09:58:00.000Z",
      type: "HEALTH_STATE_CHANGED",
      payload: { agentId: "worker-1", from: "DEGRADED", to: "STUCK", reason: "no-progress", findings: [] },
    },
    {
      id: 7,
      time: "2026-02-05T09:20:00.000Z",
      type: "AGENT_REGISTERED",
      payload: { agentId: "worker-1", incarnation: 3, taskId: null },
    },
  ],
};
