import {
  type AgentHealth,
  type DurationMs,
  Fault,
  Heartbeat,
  type HistoryReport,
  type KeptHeartbeat,
  type MonoMs,
  renameSnakeCase,
  type SavedEvent,
  type SelfDoubtReport,
  type StepPage,
  type StepQuery,
  type SystemStatus,
  toIso,
  type WhyReport,
} from "@rouse/contract";
import type { AgentRecord, FleetWatch } from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { EventQuery, Store } from "../ports/store.ts";
import { describeAgent, describeGrounds } from "./describe-agent.ts";
import { describeOutlook } from "./describe-outlook.ts";
import { describeSteps } from "./describe-steps.ts";
import { fleetSight, type MaySee } from "./fleet-sight.ts";
import { readHistory } from "./read-history.ts";
import { recallSteps } from "./recall-steps.ts";
import type { Roster, Watched } from "./roster.ts";
import type { SelfDoubt } from "./self-doubt.ts";
import type { Moment, SteadyClock } from "./steady-clock.ts";

/** Every question that can be asked of the monitor. Asking changes nothing. */
export interface Reports {
  agent(agentId: string): AgentHealth;
  agents(): AgentHealth[];
  why(agentId: string): Promise<WhyReport>;
  history(agentId: string, duration: DurationMs): Promise<HistoryReport>;
  /** Newest first. */
  heartbeats(agentId: string, limit: number): Promise<KeptHeartbeat[]>;
  readonly maySee: MaySee;
  steps(agentId: string, query: StepQuery): Promise<StepPage>;
  events(query: EventQuery): Promise<SavedEvent[]>;
  status(): SystemStatus;
}

interface ReportParts {
  readonly roster: Roster;
  readonly store: Store;
  readonly clock: SteadyClock;
  readonly doubt: SelfDoubt;
  readonly fleet: FleetWatch;
  readonly config: () => Config;
  readonly readClock: () => Moment;
  readonly lastBeatAt: () => MonoMs | null;
  readonly storeIsDown: () => boolean;
  readonly started: Moment;
  readonly version: string;
}

export function createReports(parts: ReportParts): Reports {
  const { roster, store, clock, doubt, fleet, readClock } = parts;
  const iso = (at: MonoMs): string => toIso(clock.toWall(at));

  function mustFind(agentId: string): Watched {
    const watched = roster.find(agentId);
    if (watched === undefined) throw new Fault("agent-unknown", "no such agent; `rouse ps` lists those that are known");
    return watched;
  }

  const show = (record: AgentRecord, now: MonoMs): AgentHealth =>
    describeAgent(record, now, clock.toWall, parts.config().policyFor(record));

  function selfDoubt(): SelfDoubtReport {
    const gap = doubt.lastGap();
    const frozen = doubt.frozen();
    const pathHold = doubt.pathHold();
    const holds = [...fleet.holds(), ...(pathHold === null ? [] : [{ scope: "fleet", hold: pathHold }])];
    const lasted = gap === null ? 0 : Math.round((gap.to - gap.from) / 1000);
    return {
      lastGap: gap === null ? null : { cause: gap.cause, endedAt: iso(gap.to), lastedSeconds: lasted },
      holds: holds.map(({ scope, hold }) => ({ because: hold.because, scope, since: iso(hold.since) })),
      lagSeconds: doubt.lag(readClock().now) / 1000,
      frozen: frozen === null ? null : { ...frozen, since: iso(frozen.since) },
    };
  }

  function countAgents() {
    const byState: SystemStatus["agents_by_state"] = {};
    let active = 0;
    for (const { record } of roster.all()) {
      const { state } = record.health;
      byState[state] = (byState[state] ?? 0) + 1;
      if (record.activity.kind !== "FINISHED" && state !== "TERMINATED" && state !== "UNRESPONSIVE") active += 1;
    }
    return { byState, active };
  }

  function overall(monitor: SelfDoubtReport): SystemStatus["status"] {
    if (parts.storeIsDown()) return "store-unavailable";
    if (monitor.frozen !== null) return "frozen";
    return monitor.holds.length > 0 ? "on-hold" : "ok";
  }

  return {
    agent: (agentId) => show(mustFind(agentId).record, readClock().now),
    agents() {
      const { now } = readClock();
      return [...roster.all()].map(({ record }) => show(record, now));
    },
    async why(agentId) {
      const { record } = mustFind(agentId);
      const { now } = readClock();
      const events = await store.readEvents({ agentId, limit: 20, newestFirst: true });
      const policy = parts.config().policyFor(record);
      const about = doubt.about(record, now);
      return {
        agent: show(record, now),
        ...describeOutlook(record, now, policy, about, clock.toWall),
        ...describeGrounds(record, now, policy, about, clock.toWall),
        steps: describeSteps(record),
        monitor: selfDoubt(),
        events,
      };
    },
    async history(agentId, duration) {
      const { no, record } = mustFind(agentId);
      return readHistory(store, { no, agentId, state: record.health.state }, readClock().time, duration);
    },
    async heartbeats(agentId, limit) {
      const beats = await store.readBeats(mustFind(agentId).no, limit);
      return beats.map(({ body, time }) => ({ ...asUnderstood(body), receivedAt: toIso(time) }));
    },
    async steps(agentId, query) {
      const { no, record } = mustFind(agentId);
      return recallSteps(store, { no, agentId, structured: record.terminal?.structured === true }, query, iso);
    },
    maySee: fleetSight(parts),
    events: (query) => store.readEvents(query),
    status() {
      const { byState, active } = countAgents();
      const monitor = selfDoubt();
      const lastBeatAt = parts.lastBeatAt();
      return {
        status: overall(monitor),
        total_agents: roster.size(),
        active_agents: active,
        degraded_agents: byState.DEGRADED ?? 0,
        agents_by_state: byState,
        last_heartbeat: lastBeatAt === null ? null : iso(lastBeatAt),
        started_at: iso(parts.started.now),
        version: parts.version,
        monitor,
      };
    },
  };
}

/** A beat is kept as it was sent; it is shown under the names we know. */
function asUnderstood(body: string): Heartbeat {
  const sent = JSON.parse(body) as Record<string, unknown>;
  const beat = Heartbeat.safeParse("agentId" in sent ? sent : renameSnakeCase(sent));
  return beat.success ? beat.data : (sent as Heartbeat);
}
