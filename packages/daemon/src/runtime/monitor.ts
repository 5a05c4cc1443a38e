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
import type { AgentRecord } from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { SigningKey } from "../home/signing-key.ts";
import type { Alerts } from "../ports/alerts.ts";
import type { OpenAnchor } from "../ports/anchors.ts";
import type { Clock, Timers } from "../ports/clock.ts";
import type { Holders } from "../ports/holders.ts";
import type { Log } from "../ports/log.ts";
import type { Orchestrator } from "../ports/orchestrator.ts";
import type { States } from "../ports/states.ts";
import type { AuditPlace, Commit, Store } from "../ports/store.ts";
import type { Workspaces } from "../ports/workspaces.ts";
import { anchorSeals } from "./anchor-seals.ts";
import { type AnswerOnce, answerOnce } from "./answer-once.ts";
import { applyConfig } from "./apply-config.ts";
import { arrangeHelp, type Help } from "./arrange-help.ts";
import { whereTrailEnds } from "./audit-trail.ts";
import { freezeAndThaw } from "./freeze-and-thaw.ts";
import { goOn } from "./go-on.ts";
import { hearBeats, type SentBeat } from "./hear-beats.ts";
import { hearHands } from "./hear-hands.ts";
import { hearRegistrations } from "./hear-registrations.ts";
import { type HearSteps, hearSteps } from "./hear-steps.ts";
import { judgeDue, tickEvery } from "./judge-due.ts";
import { layGround } from "./lay-ground.ts";
import { meetHolders } from "./meet-holders.ts";
import type { Given } from "./note-orders.ts";
import { noteRefusals, type RefusedSpeaker } from "./note-refusals.ts";
import { obeyPeople } from "./obey-people.ts";
import { startOutbox } from "./outbox.ts";
import { canaryEvery, provePath } from "./prove-path.ts";
import { type AuditReader, readAuditOf } from "./read-audit.ts";
import { recallOrders } from "./recall-orders.ts";
import { removeAgents } from "./remove-agents.ts";
import { createReports, type Reports } from "./report.ts";
import { recallSeals, sealRuns } from "./seal-trail.ts";
import type { Moment } from "./steady-clock.ts";
import { type EachSlice, takeInSlices } from "./take-in-slices.ts";
import type { ActivityListener } from "./tell-activity.ts";
import { tidyAway, tidyEvery } from "./tidy-away.ts";
import type { Counters } from "./turns.ts";

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
  /** Answers once every beat is on disk. With callbacks, because this is done for every beat. */
  takeBeats(
    sent: readonly SentBeat[],
    taken: (acks: readonly HeartbeatAck[]) => void,
    failed: (error: unknown) => void,
  ): void;
  /** For whatever takes long for one request. */
  readonly eachSlice: EachSlice;
  /** What an agent tells of its steps. Answers once it is on disk. */
  takeSteps: HearSteps;
  register(registration: unknown): Promise<AgentHealth>;
  freeze(actor: string, reason: string, as?: string): Promise<void>;
  thaw(actor: string, reason: string, as?: string): Promise<void>;
  /** A person's orders. They answer when it is done, refused, or has taken a minute. */
  terminate(agentId: string, request: Given<OrderRequest>): Promise<OrderAnswer>;
  recover(agentId: string, request: Given<OrderRequest>): Promise<OrderAnswer>;
  /** Takes an agent that is over out of the list. */
  remove(agentId: string, request: Given<RemoveRequest>): Promise<RemovedAgent>;
  /** Requests that carry a key are obeyed once. */
  readonly answerOnce: AnswerOnce;
  /** What is done about agents and their work: words, questions, tasks, checkpoints, recovery. */
  readonly help: Help;
  readonly audit: AuditReader;
  readonly readClock: () => Moment;
  reload(config: Config): void;
  noteRefusedConfig(problems: string[]): void;
  /** Somebody said with an agent's token what is not that agent's to say. The first, second, fourth, eighth … time is an event. */
  noteRefusedSpeaker(refused: RefusedSpeaker): void;
  /** Somebody with a token asked for what is not for its role. The first, second, fourth, eighth … time is a line of the audit trail. */
  noteRefusedRole(principal: string, asked: string): void;
  /** A decision came that was not signed by whom it should be. */
  noteBadSignature(escalation: string, because: string): void;
  /** How the canary gets out: set once the path it must take is open. */
  sendCanaryBy(send: () => Promise<void>): void;
  onEvents(listener: (events: readonly SavedEvent[]) => void): () => void;
  onBeat(listener: (beat: Heartbeat, time: number) => void): () => void;
  /** An agent does something else now. */
  onActivity(listener: ActivityListener): () => void;
  lastEventId(): number;
  config(): Config;
  counters(): Counters & { agents: number; outbox: number; storeDown: boolean };
  stop(): Promise<void>;
}

/** The whole monitor around one store: starts, goes on where the last one stopped, judges, and stops. */
export async function startMonitor(parts: MonitorParts): Promise<Monitor> {
  let current = parts.config;
  const config = (): Config => current;
  const { store, timers, log } = parts;
  const resumption = await store.resume();
  const seals = await recallSeals(store, resumption);
  const orders = await recallOrders(store, resumption, seals.store, parts.signing.publicKey);
  const ground = layGround({ ...parts, config, seals, act, afterTurn }, resumption);
  const { readClock, chores, roster, news, commits, records, turns, markAlive } = ground;
  const eachSlice = takeInSlices({ timers, chores });
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
  const help = arrangeHelp({ ...common, recover: people.recover, onTasksSaved: news.onTasksSaved });
  const { tasks } = help;
  const outbox = startOutbox(help.hands, timers, log, hearHands({ ...common, afterCommits: news.onCommit }));
  const { meetWith, settle } = meetHolders(common);
  const { sendCanaryBy, sendCanary, takeCanary, canaryIsMissing } = provePath(common);
  const { takeBeats, onBeat, lastBeatAt } = hearBeats({ ...common, takeCanary });
  const storeIsDown = (): boolean => commits.down() !== null;

  sealing.start();
  goOn({ ...common, seals, orders, resumption, tasks, outbox });
  chores.every(tickEvery, judgeDue({ ...common, tasks, canaryIsMissing }));
  chores.again(canaryEvery, sendCanary);
  chores.again(tidyEvery, tidyAway({ ...common, help }));
  if (seals.newest !== null) anchoring.offer(seals.newest);

  function act(commit: Commit): void {
    savedEnd = commit.audit.at(-1) ?? savedEnd;
    meetWith(commit);
    outbox.send(commit.actions);
    anchoring.take(commit.audit);
  }

  function tell(event: RouseEvent): void {
    // Nothing may follow the last seal of a run.
    if (chores.stopped()) return;
    turns.saveEvents([event], readClock().time, null);
    commits.schedule();
  }

  /** What a turn changed about an agent concerns its tasks as well. */
  function afterTurn(before: AgentRecord, after: AgentRecord, moment: Moment): void {
    tasks.noticeAgent(before, after, moment);
  }

  return {
    ...createReports({ ...common, lastBeatAt, storeDownSince: ground.self.storeDownSince }),
    ...people,
    remove: removeAgents({ ...common, tasks }),
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
    onActivity: ground.onActivity,
    lastEventId: news.lastEventId,
    config,
    counters: () => ({
      ...turns.counters,
      agents: roster.size(),
      outbox: outbox.waiting(),
      storeDown: storeIsDown(),
    }),
    async stop() {
      if (chores.stopped()) return;
      chores.stop();
      outbox.stop();
      parts.orchestrator.close();
      await parts.holders.close();
      records.saveAll();
      turns.saveEvents([{ type: "MONITOR_STOPPED", payload: {} }], readClock().time, null);
      sealing.stop();
      markAlive();
      await commits.drain();
      commits.stop();
      await anchoring.stop();
      await store.close();
    },
  };
}
