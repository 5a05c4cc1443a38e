import {
  type AgentHealth,
  AgentRegistration,
  canaryId,
  type DurationMs,
  describeIssues,
  Fault,
  type Heartbeat,
  type HeartbeatAck,
  type MonoMs,
  type OrderAnswer,
  type OrderRequest,
  printable,
  type SavedEvent,
  type SpeechRefusal,
  toIso,
} from "@rouse/contract";
import { type Action, type HeartbeatSignal, type Kill, keepKillBudget, watchFleet } from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { SigningKey } from "../home/signing-key.ts";
import type { Alerts } from "../ports/alerts.ts";
import type { Clock, Timers } from "../ports/clock.ts";
import type { Holders, WatchSettings } from "../ports/holders.ts";
import type { Log } from "../ports/log.ts";
import type { Orchestrator } from "../ports/orchestrator.ts";
import type { States } from "../ports/states.ts";
import type { Commit, IntendedAction, Store } from "../ports/store.ts";
import type { Workspaces } from "../ports/workspaces.ts";
import { arrangeHelp, type Help } from "./arrange-help.ts";
import { keepAuditTrail, whereTrailEnds } from "./audit-trail.ts";
import { createChores } from "./chores.ts";
import { describeAgent } from "./describe-agent.ts";
import { groupCommits } from "./group-commit.ts";
import { hearHolders, watchSettingsFrom } from "./hear-holders.ts";
import { type HearSteps, hearSteps } from "./hear-steps.ts";
import { keepRecords } from "./keep-records.ts";
import { obeyPeople } from "./obey-people.ts";
import { startOutbox } from "./outbox.ts";
import { type AuditReader, readAuditOf } from "./read-audit.ts";
import { type RefusedBeat, readBeat } from "./read-beat.ts";
import { createReports, type Reports } from "./report.ts";
import { lastAlive, restoreAgents } from "./resume.ts";
import { createRoster, type Watched } from "./roster.ts";
import { doubtSelf, type Frozen } from "./self-doubt.ts";
import { type Moment, startSteadyClock } from "./steady-clock.ts";
import { type Counters, createTurns } from "./turns.ts";
import { createWakeWheel } from "./wake-wheel.ts";
import { watchSelf } from "./watch-self.ts";

/** How often the monitor looks at itself and at who is due. */
const tickEvery: DurationMs = 250;
const canaryEvery: DurationMs = 5000;
const canaryOnHold: DurationMs = 1000;
const tidyEvery: DurationMs = 60_000;
/** With more to tidy than one step: soon again, but never so soon that beats would notice. */
const tidyAgain: DurationMs = 100;
/** Wake-ups handled before waiting input is read again. */
const wakesPerRound = 2000;
/** Agents and reasons for which refused speech is counted; the one refused longest ago is forgotten first. */
const mostRefusalsCounted = 10_000;

export interface MonitorParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly alerts: Alerts;
  readonly holders: Holders;
  readonly workspaces: Workspaces;
  readonly orchestrator: Orchestrator;
  readonly states: States;
  /** Ed25519 over the hash of a line of the audit trail. */
  readonly signing: SigningKey;
  readonly log: Log;
  readonly config: Config;
  readonly version: string;
}

/** A beat as it came, and its text where there is one: what is kept is what was sent. */
export interface SentBeat {
  readonly beat: unknown;
  readonly text?: string;
}

export interface RefusedSpeaker {
  /** Whose token it was. */
  readonly agentId: string;
  readonly claimed: string;
  readonly because: SpeechRefusal;
}

export interface Monitor extends Reports {
  /** Answers once every beat is on disk. With callbacks, because this is done for every beat. */
  takeBeats(
    sent: readonly SentBeat[],
    taken: (acks: readonly HeartbeatAck[]) => void,
    failed: (error: unknown) => void,
  ): void;
  /** What an agent tells of its steps. Answers once it is on disk. */
  takeSteps: HearSteps;
  register(registration: unknown): Promise<AgentHealth>;
  freeze(actor: string, reason: string): Promise<void>;
  thaw(actor: string, reason: string): Promise<void>;
  /** A person's orders. They answer when it is done, refused, or has taken a minute. */
  terminate(agentId: string, request: OrderRequest): Promise<OrderAnswer>;
  recover(agentId: string, request: OrderRequest): Promise<OrderAnswer>;
  /** What is done about agents and their work: words, questions, tasks, checkpoints, recovery. */
  readonly help: Help;
  readonly audit: AuditReader;
  readonly readClock: () => Moment;
  reload(config: Config): void;
  noteRefusedConfig(problems: string[]): void;
  /** Somebody said with an agent's token what is not that agent's to say. The first, second, fourth, eighth … time is an event. */
  noteRefusedSpeaker(refused: RefusedSpeaker): void;
  /** A decision came that was not signed by whom it should be. */
  noteBadSignature(escalation: string, because: string): void;
  /** How the canary gets out: set once the path it must take is open. */
  sendCanaryBy(send: () => Promise<void>): void;
  onEvents(listener: (events: readonly SavedEvent[]) => void): () => void;
  onBeat(listener: (beat: Heartbeat, time: number) => void): () => void;
  lastEventId(): number;
  config(): Config;
  counters(): Counters & { agents: number; outbox: number; storeDown: boolean };
  stop(): Promise<void>;
}

/** The whole monitor around one store: starts, goes on where the last one stopped, judges, and stops. */
export async function startMonitor(parts: MonitorParts): Promise<Monitor> {
  const { store, timers, log } = parts;
  let config = parts.config;
  const resumption = await store.resume();
  const alive = lastAlive(resumption);
  const clock = startSteadyClock(parts.clock, alive);
  const started = clock.read();
  const roster = createRoster();
  const wheel = createWakeWheel<Watched>();
  const fleet = watchFleet(() => config.selfCheck);
  const killed = JSON.parse(resumption.marks["kills"] ?? "[]") as Kill[];
  const budget = keepKillBudget(() => config.killBudget, killed);
  const doubt = doubtSelf(fleet, budget, started.now);
  const chores = createChores(timers);
  const eventListeners = new Set<(events: readonly SavedEvent[]) => void>();
  const commitListeners = new Set<() => void>();
  const taskListeners = new Set<(taskIds: readonly string[]) => void>();
  const beatListeners = new Set<(beat: Heartbeat, time: number) => void>();
  const refusedSpeech = new Map<string, number>();
  let lastBeatAt: MonoMs | null = null;
  let lastEventId = resumption.lastEventId;
  let sendCanary: (() => Promise<void>) | null = null;

  const self = watchSelf(
    { clock, doubt, fleet, log, config: () => config, turns: () => turns },
    started.now,
    tickEvery,
  );
  const readClock = clock.read;
  const commits = groupCommits(store, timers, {
    committed: announce,
    wentDown: self.storeWentDown,
    cameBack: self.storeCameBack,
  });
  const records = keepRecords(commits);
  const turns = createTurns({
    roster,
    wheel,
    fleet,
    doubt,
    commits,
    records,
    config: () => config,
    budget,
    audit: keepAuditTrail({ last: whereTrailEnds(resumption), sign: parts.signing.sign }),
    afterTurn: (before, after, moment) => tasks.noticeAgent(before, after, moment),
    lastSignalId: resumption.lastSignalId,
    lastEventId,
  });
  const people = obeyPeople({
    roster,
    turns,
    commits,
    readClock,
    afterCommits: (look) => subscribe(commitListeners, look),
    after: timers.after,
  });
  const help = arrangeHelp({
    ...parts,
    roster,
    turns,
    commits,
    doubt,
    clock,
    config: () => config,
    recover: people.recover,
    onTasksSaved: (listener) => subscribe(taskListeners, listener),
  });
  const { tasks, checkpoints, hands } = help;
  const outbox = startOutbox(hands, timers, log, (action, outcome) => turns.actionDone(action, outcome, readClock()));
  const reports = createReports({
    roster,
    store,
    clock,
    doubt,
    fleet,
    readClock,
    config: () => config,
    lastBeatAt: () => lastBeatAt,
    storeIsDown: () => commits.down() !== null,
    started,
    version: parts.version,
  });

  restoreAgents(resumption, roster, config);
  tasks.restore(resumption);
  goOn();
  chores.every(tickEvery, tick);
  chores.again(canaryEvery, passOwnBeat);
  chores.again(tidyEvery, tidy);
  takeEpoch();

  /** Picks up after the run before: an amnesty for the time nobody watched, and the actions whose outcome is not known. */
  function goOn(): void {
    const frozen = resumption.marks["frozen"];
    if (frozen !== undefined) doubt.freeze(JSON.parse(frozen) as Frozen);
    for (const watched of roster.all()) {
      turns.introduce(watched, started.now);
      wheel.file(watched);
    }
    const payload = { version: parts.version, resumed: alive !== null, agents: roster.size() };
    turns.saveEvents([{ type: "MONITOR_STARTED", payload }], started.time, null);
    if (alive !== null) self.noteGap("restart", alive.at, started, `not running since ${toIso(alive.time)}`);
    markAlive();
    commits.schedule();
    outbox.send(resumption.actions.filter((saved) => !decideAnew(saved)));
  }

  /** We crashed between the intent to stop an agent and its outcome. That was our decision of another time: it is made anew, with the amnesty first. */
  function decideAnew({ body }: IntendedAction): boolean {
    const action = JSON.parse(body) as Action;
    if (action.kind !== "stop-agent" || !action.spends) return false;
    turns.actionDone(action, { kind: "interrupted" }, started);
    return true;
  }

  /** Each monitor on this store has a higher epoch than the one before: holders obey the newest only. */
  function takeEpoch(): void {
    commits.draft().marks["epoch"] = String(Number(resumption.marks["epoch"] ?? 0) + 1);
    commits.schedule();
  }

  /** Only with an epoch that is saved: two monitors must never have the same. */
  function meetHolders(epoch: number): void {
    const news = hearHolders({ roster, turns, commits, readClock, settingsOf: watchSettingsOf });
    parts.holders
      .begin(news, epoch)
      .catch((error: unknown) => log.error({ error: String(error) }, "supervised agents cannot be looked for"));
  }

  function watchSettingsOf(agentId: string): WatchSettings {
    const record = roster.find(agentId)?.record ?? { agentId, agentType: null, taskId: null };
    return watchSettingsFrom(config.settingsFor(record));
  }

  function markAlive(): void {
    commits.draft().marks["alive"] = JSON.stringify(clock.aliveMark());
  }

  /** First a look at ourselves; then, once waiting input has been read, at whoever is due. */
  function tick(): void {
    self.tick();
    timers.soon(judgeDue);
  }

  function judgeDue(): void {
    if (chores.stopped() || commits.down() !== null) return;
    const moment = readClock();
    const { amnestyMargin } = config.policyFor({ agentId: "", agentType: null, taskId: null });
    turns.takeNews(fleet.endHolds(moment.now, amnestyMargin), moment.time);
    if (sendCanary !== null && doubt.canaryIsMissing(moment.now)) self.doubtPath(moment);
    if (self.trustPathAgain(moment)) wakeEveryoneQuiet(moment);
    turns.wakeConcerned(moment);
    tasks.judgeDue(moment);
    turns.saveEvents(budget.news(moment.now), moment.time, null);
    records.saveDue(moment.now, turns.lastSignalId());
    wakeRound(wheel.takeDue(moment.now), 0, moment);
  }

  function wakeRound(due: readonly Watched[], from: number, moment: Moment): void {
    if (chores.stopped()) return;
    const until = Math.min(due.length, from + wakesPerRound);
    for (let i = from; i < until; i++) {
      const watched = due[i] as Watched;
      const { wakeAt } = watched.record;
      // A beat may have come in since it was found due.
      if (wakeAt !== null && wakeAt <= moment.now) turns.wake(watched, moment);
      else wheel.file(watched);
    }
    turns.wakeConcerned(moment);
    commits.schedule();
    if (until < due.length) timers.soon(() => wakeRound(due, until, readClock()));
  }

  function wakeEveryoneQuiet(moment: Moment): void {
    for (const watched of roster.all()) if (watched.record.findings.length > 0) turns.wake(watched, moment);
  }

  /** Saved: now it may be told and done. */
  function announce(commit: Commit): void {
    for (const listener of commitListeners) listener();
    const { epoch } = commit.marks;
    if (typeof epoch === "string" && !chores.stopped()) meetHolders(Number(epoch));
    if (commit.actions.length > 0) outbox.send(commit.actions);
    if (commit.tasks.length > 0)
      for (const listener of taskListeners) listener(commit.tasks.map(({ taskId }) => taskId));
    const last = commit.events[commit.events.length - 1];
    if (last === undefined) return;
    lastEventId = last.id;
    if (eventListeners.size === 0) return;
    const events = commit.events.map(({ id, time, event }) => ({ id, time: toIso(time), ...event }) as SavedEvent);
    for (const listener of eventListeners) listener(events);
  }

  function announceBeats(
    read: readonly (HeartbeatSignal | RefusedBeat)[],
    acks: readonly HeartbeatAck[],
    { time }: Moment,
  ): void {
    for (const [i, signal] of read.entries()) {
      if ("refused" in signal || acks[i]?.status !== "accepted") continue;
      for (const listener of beatListeners) listener(signal.beat, time);
    }
  }

  async function passOwnBeat(): Promise<DurationMs> {
    try {
      await sendCanary?.();
    } catch (error) {
      log.warn({ error: String(error) }, "our own test beat did not get through");
      if (!chores.stopped()) self.doubtPath(readClock());
    }
    return fleet.holds().length > 0 || doubt.pathHold() !== null ? canaryOnHold : canaryEvery;
  }

  async function tidy(): Promise<DurationMs> {
    const { beats, history } = config.retention;
    const { now, time } = readClock();
    try {
      // A wall clock that was set forward by mistake must not make everything look old.
      const more = await store.tidy({ now: Math.min(now, time), beats, history });
      tasks.forgetOld(readClock(), history);
      const moreStates = await checkpoints.forget(now);
      return more || moreStates ? tidyAgain : tidyEvery;
    } catch (error) {
      log.warn({ error: String(error) }, "old data could not be tidied away; will try again");
      return tidyEvery;
    }
  }

  async function passCanary(): Promise<HeartbeatAck> {
    const sent = readClock();
    markAlive();
    await commits.saved();
    const moment = readClock();
    doubt.canaryPassed(moment.now);
    turns.takeNews(fleet.provePath(moment.now), moment.time);
    turns.wakeConcerned(moment);
    return { agentId: canaryId, sequenceNumber: null, status: "accepted", receivedAt: toIso(sent.time), commands: [] };
  }

  const isCanary = (sent: unknown): boolean =>
    typeof sent === "object" && sent !== null && (sent as { agentId?: unknown }).agentId === canaryId;

  function refuseWhileDown(): void {
    const down = commits.down();
    if (down !== null) throw down;
  }

  async function setFrozen(actor: string, reason: string, frozen: boolean): Promise<void> {
    refuseWhileDown();
    const moment = readClock();
    const by: Frozen | null = frozen ? { since: moment.now, actor, reason } : null;
    commits.draft().marks["frozen"] = by === null ? null : JSON.stringify(by);
    const type = frozen ? "MONITOR_FROZEN" : "MONITOR_THAWED";
    turns.saveEvents([{ type, payload: { actor, reason } }], moment.time, null);
    await commits.saved();
    doubt.freeze(by);
    if (!frozen) wakeHeld(readClock());
  }

  /** What was put off by the freeze is looked at again. */
  function wakeHeld(moment: Moment): void {
    for (const watched of roster.all()) {
      const { terminal, incident } = watched.record;
      if (terminal !== null || incident !== null) turns.wake(watched, moment);
    }
    tasks.wakeAll(moment);
    turns.wakeConcerned(moment);
    commits.schedule();
  }

  return {
    ...reports,
    takeBeats(sent, taken, failed) {
      const down = commits.down();
      if (down !== null) return failed(down);
      if (sent.length === 1 && isCanary(sent[0]?.beat)) return void passCanary().then((ack) => taken([ack]), failed);
      const moment = readClock();
      const read = sent.map(({ beat }) => readBeat(beat, moment.time));
      const acks = read.map((signal, i) => turns.takeBeat(signal, moment, sent[i]?.text));
      lastBeatAt = moment.now;
      commits.whenSaved(() => {
        taken(acks);
        if (beatListeners.size > 0) announceBeats(read, acks, moment);
      }, failed);
    },
    takeSteps: hearSteps({ roster, turns, commits, readClock, config: () => config }),
    async register(sent) {
      const parsed = AgentRegistration.safeParse(sent);
      if (!parsed.success) throw new Fault("bad-request", describeIssues(parsed.error.issues, "registration"));
      refuseWhileDown();
      const moment = readClock();
      const watched = turns.register(parsed.data, moment);
      await commits.saved();
      return describeAgent(watched.record, moment.now, clock.toWall);
    },
    lastEventId: () => lastEventId,
    freeze: (actor, reason) => setFrozen(actor, reason, true),
    thaw: (actor, reason) => setFrozen(actor, reason, false),
    terminate: people.terminate,
    recover: people.recover,
    help,
    audit: readAuditOf(store, parts.signing.publicKey),
    readClock,
    reload(next) {
      config = next;
      const moment = readClock();
      const policy = config.policyFor({ agentId: "", agentType: null, taskId: null }).id;
      turns.saveEvents([{ type: "CONFIG_RELOADED", payload: { policy } }], moment.time, null);
      for (const watched of roster.all()) turns.wake(watched, moment);
      tasks.wakeAll(moment);
      turns.wakeConcerned(moment);
      commits.schedule();
      parts.holders.settle(watchSettingsOf);
    },
    noteRefusedConfig(problems) {
      turns.saveEvents([{ type: "CONFIG_REFUSED", payload: { problems } }], readClock().time, null);
      commits.schedule();
    },
    noteRefusedSpeaker({ agentId, claimed, because }) {
      const key = `${agentId} ${because}`;
      const times = (refusedSpeech.get(key) ?? 0) + 1;
      refusedSpeech.delete(key);
      if (refusedSpeech.size >= mostRefusalsCounted) refusedSpeech.delete(refusedSpeech.keys().next().value as string);
      refusedSpeech.set(key, times);
      if ((times & (times - 1)) !== 0) return;
      const payload = { agentId, claimed: printable(claimed, 127), because };
      turns.saveEvents([{ type: "AGENT_SPEECH_REFUSED", payload }], readClock().time, agentId);
      commits.schedule();
    },
    noteBadSignature(escalation, because) {
      const { time } = readClock();
      const evidence = { because };
      turns.addToTrail({
        time,
        actor: "unknown",
        action: "decision-refused",
        subject: escalation,
        reason: because,
        evidence,
        policy: null,
      });
      commits.schedule();
    },
    sendCanaryBy(send) {
      sendCanary = send;
      doubt.canaryPassed(readClock().now);
    },
    onEvents: (listener) => subscribe(eventListeners, listener),
    onBeat: (listener) => subscribe(beatListeners, listener),
    config: () => config,
    counters: () => ({
      ...turns.counters,
      agents: roster.size(),
      outbox: outbox.waiting(),
      storeDown: commits.down() !== null,
    }),
    async stop() {
      if (chores.stopped()) return;
      chores.stop();
      outbox.stop();
      parts.orchestrator.close();
      await parts.holders.close();
      records.saveAll();
      turns.saveEvents([{ type: "MONITOR_STOPPED", payload: {} }], readClock().time, null);
      markAlive();
      await commits.drain();
      commits.stop();
      await store.close();
    },
  };
}

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
