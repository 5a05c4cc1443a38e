import {
  type AgentHealth,
  type CircuitBreakerStatus,
  type DurationMs,
  Heartbeat,
  type HeartbeatList,
  type HistoryReport,
  type MonoMs,
  type SavedEvent,
  type SelfDoubtReport,
  type StepPage,
  type StepQuery,
  type SystemStatus,
  toIso,
  understandNames,
  type WhyReport,
} from "@rouse/contract";
import { type AgentRecord, beatRhythm, howOver, whatHoldsBack } from "@rouse/core";
import type { z } from "zod";
import { noAgent, policySubject } from "../config/choose-policy.ts";
import { describeFleetIncidents, fleetSight, type MaySee } from "../fleet/fleet-matters.ts";
import type { EventQuery } from "../ports/store.ts";
import type { MonitorServices } from "../shared-services.ts";
import { describeSteps } from "../steps/describe-steps.ts";
import { recallSteps } from "../steps/recall-steps.ts";
import { describeAgent, describeGrounds, describeOutlook } from "./describe-agent.ts";
import { readHistory } from "./read-history.ts";

/** Every question that can be asked of the monitor. Asking changes nothing. */
export interface Reports {
  agent(agentId: string): AgentHealth;
  agents(): AgentHealth[];
  /**
   * Agents after a number, in the order they became known. `next` is the number to go on after, where there are more.
   */
  agentsAfter(after: number, limit: number, wants: AgentFilter): { agents: AgentHealth[]; next: number | null };
  /** What the monitor holds against itself. */
  doubts(): SelfDoubtReport;
  why(agentId: string): Promise<WhyReport>;
  history(agentId: string, duration: DurationMs): Promise<HistoryReport>;
  /** Newest first. `before` is the beat that the page before ended with. */
  heartbeats(agentId: string, limit: number, before?: number): Promise<z.infer<typeof HeartbeatList>>;
  readonly maySee: MaySee;
  steps(agentId: string, query: StepQuery): Promise<StepPage>;
  events(query: EventQuery): Promise<SavedEvent[]>;
  status(): SystemStatus;
}

/** Which agents to show: `record` is asked first, because `shown` needs the whole description. */
interface AgentFilter {
  readonly record: (record: AgentRecord) => boolean;
  readonly shown: (agent: AgentHealth) => boolean;
}

type Shown = "roster" | "store" | "clock" | "doubt" | "fleet" | "incidents";

interface ReportParts extends Pick<MonitorServices, Shown | "config" | "readClock" | "started" | "version"> {
  readonly lastBeatAt: () => MonoMs | null;
  readonly storeDownSince: () => MonoMs | null;
  readonly breakersOf: (agentId: string) => CircuitBreakerStatus[];
}

export function createReports(parts: ReportParts): Reports {
  const { roster, store, clock, doubt, fleet, readClock } = parts;
  const iso = (at: MonoMs): string => toIso(clock.toWall(at));

  const show = (record: AgentRecord, now: MonoMs): AgentHealth => ({
    ...describeAgent(record, now, clock.toWall, parts.config().policyFor(policySubject(record))),
    circuitBreakers: parts.breakersOf(record.agentId),
  });

  function selfDoubt(): SelfDoubtReport {
    const gap = doubt.lastGap();
    const frozen = doubt.frozen();
    const pathHold = doubt.pathHold();
    const holds = [...fleet.holds(), ...(pathHold === null ? [] : [{ scope: "fleet", hold: pathHold }])];
    const downSince = parts.storeDownSince();
    const lasted = gap === null ? 0 : Math.round((gap.to - gap.from) / 1000);
    return {
      lastGap: gap === null ? null : { cause: gap.cause, endedAt: iso(gap.to), lastedSeconds: lasted },
      fleetIncidents: describeFleetIncidents(parts.incidents, iso),
      holds: holds.map(({ scope, hold }) => ({ because: hold.because, scope, since: iso(hold.since) })),
      lagSeconds: doubt.lag(readClock().now) / 1000,
      frozen: frozen === null ? null : { ...frozen, since: iso(frozen.since) },
      ...amnesty(gap?.to ?? null),
      ...(downSince === null ? {} : { storeDownSince: iso(downSince) }),
    };
  }

  /** An agent that was silent while we were blind gets one whole TTL after it. */
  function amnesty(blindUntil: MonoMs | null): Pick<SelfDoubtReport, "amnestyUntil"> {
    if (blindUntil === null) return {};
    const { now } = readClock();
    const policy = parts.config().policyFor(noAgent);
    const { ttl } = beatRhythm({ kind: "RUNNING", since: now, open: null }, policy);
    const until = blindUntil + ttl + policy.beatGrace + doubt.lag(now);
    return until > now ? { amnestyUntil: iso(until) } : {};
  }

  function countAgents() {
    const byState: SystemStatus["agents_by_state"] = {};
    const over: SystemStatus["agents_over"] = {};
    let active = 0;
    for (const { record } of roster.all()) {
      const { state } = record.health;
      const how = isQuick(record) ? undefined : howOver(record, parts.config().policyFor(policySubject(record)))?.how;
      if (how !== undefined) over[how] = (over[how] ?? 0) + 1;
      if (how === undefined || state === "TERMINATED") byState[state] = (byState[state] ?? 0) + 1;
      if (how === undefined && record.work.activity.kind !== "FINISHED" && state !== "UNRESPONSIVE") active += 1;
    }
    return { byState, over, active };
  }

  function overall(monitor: SelfDoubtReport): SystemStatus["status"] {
    if (monitor.storeDownSince !== undefined) return "store-unavailable";
    if (monitor.frozen !== null) return "frozen";
    return monitor.holds.length > 0 ? "on-hold" : "ok";
  }

  return {
    agent: (agentId) => show(roster.mustFind(agentId).record, readClock().now),
    agents() {
      const { now } = readClock();
      return [...roster.all()].map(({ record }) => show(record, now));
    },
    agentsAfter(after, limit, { record: isWanted, shown: isShown }) {
      const { now } = readClock();
      const agents: AgentHealth[] = [];
      let last = after;
      const rest = [...roster.all()].filter(({ no, record }) => no > after && isWanted(record));
      for (const { no, record } of rest.sort((a, b) => a.no - b.no)) {
        const agent = show(record, now);
        if (!isShown(agent)) continue;
        if (agents.length === limit) return { agents, next: last };
        agents.push(agent);
        last = no;
      }
      return { agents, next: null };
    },
    doubts: selfDoubt,
    async why(agentId) {
      const { record } = roster.mustFind(agentId);
      const { now } = readClock();
      const events = await store.readEvents({ agentId, limit: 20, newestFirst: true });
      const policy = parts.config().policyFor(policySubject(record));
      const about = doubt.about(record, now);
      const shown = show(record, now);
      const held = whatHoldsBack(record, { now, policy, doubt: about });
      return {
        agent: held === null ? shown : { ...shown, incident: withHold(shown.incident, held, iso) },
        ...describeOutlook(record, now, policy, about, clock.toWall),
        ...describeGrounds(record, now, policy, about, clock.toWall),
        partOf: about.silentWith ?? about.diedWith,
        steps: describeSteps(record),
        monitor: selfDoubt(),
        events,
      };
    },
    async history(agentId, duration) {
      const { no, record } = roster.mustFind(agentId);
      return readHistory(store, { no, agentId, state: record.health.state }, readClock().time, duration);
    },
    async heartbeats(agentId, limit, before) {
      const beats = await store.readBeats(roster.mustFind(agentId).no, limit + 1, before);
      const page = beats.slice(0, limit);
      return {
        heartbeats: page.map(({ body, time }) => ({ ...asUnderstood(body), receivedAt: toIso(time) })),
        next: beats.length > limit ? String(page.at(-1)?.id) : null,
      };
    },
    async steps(agentId, query) {
      const { no, record } = roster.mustFind(agentId);
      return recallSteps(store, { no, agentId, structured: record.seen.terminal?.structured === true }, query, iso);
    },
    maySee: fleetSight(parts),
    events: (query) => store.readEvents(query),
    status() {
      const { byState, over, active } = countAgents();
      const monitor = selfDoubt();
      const lastBeatAt = parts.lastBeatAt();
      return {
        status: overall(monitor),
        total_agents: roster.size(),
        active_agents: active,
        degraded_agents: byState.DEGRADED ?? 0,
        agents_by_state: byState,
        agents_over: over,
        last_heartbeat: lastBeatAt === null ? null : iso(lastBeatAt),
        started_at: iso(parts.started.now),
        version: parts.version,
        monitor,
      };
    },
  };
}

/** What an agent that is down waits for before it is brought back. */
const withHold = (
  incident: AgentHealth["incident"],
  { because, until }: NonNullable<ReturnType<typeof whatHoldsBack>>,
  iso: (at: MonoMs) => string,
): AgentHealth["incident"] =>
  incident === null ? null : { ...incident, heldBy: because, nextAt: until === null ? null : iso(until) };

/** True of most of a fleet: such an agent is not over, whatever its policy says. */
const isQuick = ({ seen: { terminal }, work: { activity } }: AgentRecord): boolean =>
  terminal === null ? activity.kind !== "FINISHED" : terminal.exit === null;

/** A beat is kept as it was sent, and shown with its fields named as in the contract. */
function asUnderstood(body: string): Heartbeat {
  const sent = JSON.parse(body) as Record<string, unknown>;
  const beat = Heartbeat.safeParse(understandNames(sent));
  return beat.success ? beat.data : (sent as Heartbeat);
}
