import type {
  AgentHealth,
  Heartbeat,
  HeartbeatAck,
  OrderAnswer,
  OrderRequest,
  RemovedAgent,
  RemoveRequest,
  RouseEvent,
  SavedEvent,
} from "@rouse/contract";
import { takeOutcomes } from "./agents/carry-out-action.ts";
import { hearRegistrations } from "./agents/enroll-agents.ts";
import { hearBeats, type SentBeat } from "./agents/hear-beats.ts";
import { connectHolders } from "./agents/hear-holders.ts";
import type { ActivityListener, Counters } from "./agents/host-agents.ts";
import { createReports, type Reports } from "./agents/report.ts";
import { anchorSeals } from "./audit/anchor-seals.ts";
import { whereTrailEnds } from "./audit/audit-trail.ts";
import { type AuditReader, readAuditOf } from "./audit/read-audit.ts";
import { recallSeals, sealRuns } from "./audit/seal-trail.ts";
import { buildServices, type Help } from "./build-services.ts";
import type { Config } from "./config/read-config.ts";
import { type AnswerOnce, answerOnce } from "./engine/answer-once.ts";
import { applyConfig } from "./engine/apply-config.ts";
import { buildEngine } from "./engine/build-engine.ts";
import { canaryEvery, keepCanary } from "./engine/canary.ts";
import { judgeDue } from "./engine/judge-due.ts";
import { startOutbox } from "./engine/outbox.ts";
import { resumeMonitor } from "./engine/resume-monitor.ts";
import { applyRetention, retentionEvery } from "./engine/retention.ts";
import type { Moment } from "./engine/steady-clock.ts";
import { type EachSlice, takeInSlices } from "./engine/take-in-slices.ts";
import { tickEvery } from "./engine/watch-self.ts";
import type { SigningKey } from "./home/signing-key.ts";
import { type Given, noteRefusals, type RefusedSpeaker } from "./orders/note-orders.ts";
import { freezeAndThaw, obeyPeople } from "./orders/obey-people.ts";
import { recallOrders } from "./orders/recall-orders.ts";
import { removeAgents } from "./orders/remove-agents.ts";
import type { Alerts } from "./ports/alerts.ts";
import type { OpenAnchor } from "./ports/anchors.ts";
import type { Clock, Timers } from "./ports/clock.ts";
import type { Holders } from "./ports/holders.ts";
import type { Log } from "./ports/log.ts";
import type { Orchestrator } from "./ports/orchestrator.ts";
import type { States } from "./ports/states.ts";
import type { AuditPlace, Commit, Store } from "./ports/store.ts";
import type { Workspaces } from "./ports/workspaces.ts";
import { type HearSteps, hearSteps } from "./steps/hear-steps.ts";

export type { RefusedSpeaker, SentBeat };

export interface MonitorParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly alerts: Alerts;
  readonly holders: Holders;
  readonly workspaces: Workspaces;
  readonly orchestrator: Orchestrator;
  readonly states: States;
  /** Seals the audit trail. */
  readonly signing: SigningKey;
  /** Where seals are kept besides the store. */
  readonly anchors: OpenAnchor;
  readonly log: Log;
  readonly config: Config;
  readonly version: string;
}

export interface Monitor extends Reports {
  /** Answers once every beat is on disk. Callbacks instead of promises, because this runs for every beat. */
  takeBeats(
    sent: readonly SentBeat[],
    taken: (acks: readonly HeartbeatAck[]) => void,
    failed: (error: unknown) => void,
  ): void;
  /** Takes a long request a slice at a time. */
  readonly eachSlice: EachSlice;
  /** Takes what an agent tells of its steps. Answers once it is on disk. */
  takeSteps: HearSteps;
  register(registration: unknown): Promise<AgentHealth>;
  freeze(actor: string, reason: string, as?: string): Promise<void>;
  thaw(actor: string, reason: string, as?: string): Promise<void>;
  /** A person's order. Answers when it is carried out or refused, or has taken a minute. */
  terminate(agentId: string, request: Given<OrderRequest>): Promise<OrderAnswer>;
  recover(agentId: string, request: Given<OrderRequest>): Promise<OrderAnswer>;
  /** Removes an agent that is over. */
  remove(agentId: string, request: Given<RemoveRequest>): Promise<RemovedAgent>;
  /** Requests that carry a key are obeyed once. */
  readonly answerOnce: AnswerOnce;
  /** What acts on agents and their work: orders, questions, tasks, checkpoints, recovery. */
  readonly help: Help;
  readonly audit: AuditReader;
  readonly readClock: () => Moment;
  reload(config: Config): void;
  noteRefusedConfig(problems: string[]): void;
  /** An agent's token was used to say what is not that agent's to say. The first, second, fourth … time is an event. */
  noteRefusedSpeaker(refused: RefusedSpeaker): void;
  /** Somebody asked for what their token's role may not. The first, second, fourth, eighth … time is an audit line. */
  noteRefusedRole(principal: string, asked: string): void;
  /** A decision came without the right signature. */
  noteBadSignature(escalation: string, because: string): void;
  /** Sets how the canary is sent, once the path it must take is open. */
  sendCanaryBy(send: () => Promise<void>): void;
  onEvents(listener: (events: readonly SavedEvent[]) => void): () => void;
  onBeat(listener: (beat: Heartbeat, time: number) => void): () => void;
  /** Tells when an agent does something else. */
  onActivity(listener: ActivityListener): () => void;
  lastEventId(): number;
  config(): Config;
  counters(): Counters & { events: number; agents: number; outbox: number; storeDown: boolean };
  stop(): Promise<void>;
}

/** Starts a whole monitor around one store: it goes on where the last one stopped, and judges until it is stopped. */
export async function startMonitor(parts: MonitorParts): Promise<Monitor> {
  let current = parts.config;
  const config = (): Config => current;
  const { store, timers, log } = parts;
  const epoch = await store.takeOver();
  const resumption = await store.resume();
  const seals = await recallSeals(store, resumption);
  const orders = await recallOrders(store, resumption, seals.store, parts.signing.publicKey);
  const ground = buildEngine({ ...parts, config, seals, epoch, stopActing, act }, resumption);
  const { readClock, repeating, roster, news, commits, records, engine, agents, markAlive } = ground;
  const eachSlice = takeInSlices({ timers, repeating });
  const common = { ...parts, ...ground, config, eachSlice };
  let savedEnd: AuditPlace | null = whereTrailEnds(resumption);
  const sealing = sealRuns({ ...common, seals, resumption });
  const anchoring = anchorSeals({
    ...common,
    storeId: seals.store,
    places: () => config().settings.audit.anchor,
    tell,
  });
  const people = obeyPeople({ ...common, afterCommits: news.onCommit, after: timers.after });
  const help = buildServices({ ...common, recover: people.recover, onTasksSaved: news.onTasksSaved });
  const { tasks } = help;
  const outbox = startOutbox(help.hands, timers, log, takeOutcomes({ ...common, afterCommits: news.onCommit }));
  const { meetWith, settle } = connectHolders(common);
  const { sendCanaryBy, sendCanary, takeCanary, canaryIsMissing } = keepCanary(common);
  const { takeBeats, onBeat, lastBeatAt } = hearBeats({ ...common, takeCanary, breakers: help.breakers });

  sealing.start();
  resumeMonitor({
    ...common,
    breakers: help.breakers,
    rateLimits: help.rateLimits,
    seals,
    orders,
    resumption,
    tasks,
    outbox,
  });
  repeating.every(tickEvery, judgeDue({ ...common, tasks, canaryIsMissing }));
  repeating.again(canaryEvery, sendCanary);
  repeating.again(retentionEvery, applyRetention({ ...common, help }));
  if (seals.newest !== null) anchoring.offer(seals.newest);

  function act(commit: Commit): void {
    savedEnd = commit.audit.at(-1) ?? savedEnd;
    meetWith(commit);
    outbox.send(commit.actions);
    anchoring.take(commit.audit);
  }

  /** Ends every action: nothing is begun, asked or ordered any more. */
  function stopActing(): Promise<void> {
    outbox.stop();
    parts.orchestrator.close();
    return parts.holders.close();
  }

  function tell(event: RouseEvent): void {
    // Nothing may follow the last seal of a run.
    if (repeating.stopped()) return;
    engine.saveEvents([event], readClock().time, null);
    commits.schedule();
  }

  return {
    ...createReports({
      ...common,
      breakersOf: help.breakers.of,
      lastBeatAt,
      storeDownSince: ground.self.storeDownSince,
    }),
    ...people,
    remove: removeAgents({ ...common, tasks, breakers: help.breakers }),
    ...freezeAndThaw({ ...common, tasks }),
    ...noteRefusals(common),
    takeBeats,
    eachSlice,
    takeSteps: hearSteps(common),
    register: hearRegistrations(common),
    answerOnce: answerOnce({ ...common, resumption }),
    help,
    audit: readAuditOf({ ...common, storeId: seals.store, end: () => savedEnd, anchors: anchoring.names }),
    readClock,
    reload(next) {
      current = next;
      applyConfig({ ...common, tasks, settle });
      anchoring.refresh();
    },
    sendCanaryBy,
    onEvents: news.onEvents,
    onBeat,
    onActivity: agents.onActivity,
    lastEventId: news.lastEventId,
    config,
    counters: () => ({
      ...agents.counters,
      events: engine.eventsSaved(),
      agents: roster.size(),
      outbox: outbox.waiting(),
      storeDown: commits.down() !== null,
    }),
    async stop() {
      if (repeating.stopped()) return;
      repeating.stop();
      await stopActing();
      records.saveAll();
      engine.saveEvents([{ type: "MONITOR_STOPPED", payload: {} }], readClock().time, null);
      sealing.stop();
      markAlive();
      await commits.drain();
      commits.stop();
      await anchoring.stop();
      await store.close();
    },
  };
}
