import {
  type AgentHealth,
  AgentRegistration,
  canaryId,
  type DurationMs,
  Fault,
  type GapCause,
  type Heartbeat,
  type HeartbeatAck,
  type HistoryReport,
  type KeptHeartbeat,
  type MonoMs,
  type SavedEvent,
  type SelfDoubtReport,
  type SystemStatus,
  toIso,
  type WhyReport,
} from "@rouse/contract";
import { watchFleet } from "@rouse/core";
import type { Config } from "../config/read-config.ts";
import type { Alerts } from "../ports/alerts.ts";
import type { Clock, Timers } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { Commit, EventQuery, Store } from "../ports/store.ts";
import { describeAgent, describeGrounds } from "./describe-agent.ts";
import { groupCommits } from "./group-commit.ts";
import { startOutbox } from "./outbox.ts";
import { readBeat } from "./read-beat.ts";
import { readHistory } from "./read-history.ts";
import { lastAlive, restoreAgents } from "./resume.ts";
import { createRoster, type Watched } from "./roster.ts";
import { doubtSelf, type Frozen } from "./self-doubt.ts";
import { type Moment, startSteadyClock } from "./steady-clock.ts";
import { type Counters, createTurns } from "./turns.ts";
import { createWakeWheel } from "./wake-wheel.ts";

/** How often the monitor looks at itself and at who is due. */
const tickEvery: DurationMs = 250;
const saveRecordsEvery: DurationMs = 2000;
const recordsPerSave = 5000;
const canaryEvery: DurationMs = 5000;
const canaryOnHold: DurationMs = 1000;
const tidyEvery: DurationMs = 60_000;
/** With more to tidy than one step: soon again, but never so soon that beats would notice. */
const tidyAgain: DurationMs = 100;
/** Wake-ups handled before waiting input is read again. */
const wakesPerRound = 2000;

export interface MonitorParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly alerts: Alerts;
  readonly log: Log;
  readonly config: Config;
  readonly version: string;
}

export interface MonitorReads {
  agent(agentId: string): AgentHealth;
  agents(): AgentHealth[];
  why(agentId: string): Promise<WhyReport>;
  history(agentId: string, duration: DurationMs): Promise<HistoryReport>;
  heartbeats(agentId: string, limit: number): Promise<KeptHeartbeat[]>;
  events(query: EventQuery): Promise<SavedEvent[]>;
  status(): SystemStatus;
  lastEventId(): number;
}

export interface Monitor extends MonitorReads {
  /** Resolves once every beat is on disk. */
  takeBeats(sent: readonly unknown[]): Promise<HeartbeatAck[]>;
  register(registration: unknown): Promise<AgentHealth>;
  freeze(actor: string, reason: string): Promise<void>;
  thaw(actor: string, reason: string): Promise<void>;
  reload(config: Config): void;
  noteRefusedConfig(problems: string[]): void;
  /** How the canary gets out: set once the path it must take is open. */
  sendCanaryBy(send: () => Promise<void>): void;
  onEvents(listener: (events: readonly SavedEvent[]) => void): () => void;
  onBeat(listener: (beat: Heartbeat, time: number) => void): () => void;
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
  const doubt = doubtSelf(fleet, started.now);
  const eventListeners = new Set<(events: readonly SavedEvent[]) => void>();
  const beatListeners = new Set<(beat: Heartbeat, time: number) => void>();
  const cancels = new Set<() => void>();
  let stopped = false;
  let outageSince: MonoMs | null = null;
  let lastBeatAt: MonoMs | null = null;
  let sendCanary: (() => Promise<void>) | null = null;

  restoreAgents(resumption, roster, config);
  const commits = groupCommits(store, timers, { committed: announce, wentDown, cameBack });
  const turns = createTurns({
    roster,
    wheel,
    fleet,
    doubt,
    commits,
    config: () => config,
    beatTaken(beat, time) {
      for (const listener of beatListeners) listener(beat, time);
    },
    lastSignalId: resumption.lastSignalId,
    lastEventId: resumption.lastEventId,
  });
  const outbox = startOutbox(parts.alerts, timers, log, (action) => {
    turns.actionDone(action, clock.read());
  });
  let lastEventId = resumption.lastEventId;

  goOn();
  let nextTickAt = started.now + tickEvery;
  repeat(tickEvery, tick);
  repeat(saveRecordsEvery, () => {
    if (commits.down() === null) turns.saveSome(recordsPerSave);
  });
  scheduleCanary();
  scheduleTidy(tidyEvery);

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
    if (alive !== null) noteGap("restart", alive.at, started, `not running since ${toIso(alive.time)}`);
    markAlive();
    commits.schedule();
    outbox.send(resumption.actions);
  }

  function markAlive(): void {
    commits.draft().marks["alive"] = JSON.stringify(clock.aliveMark());
  }

  function repeat(every: DurationMs, task: () => void): void {
    const again = (): void => {
      cancels.delete(cancel);
      if (stopped) return;
      cancel = timers.after(every, again);
      cancels.add(cancel);
      task();
    };
    let cancel = timers.after(every, again);
    cancels.add(cancel);
  }

  /** The clock, read once per turn. After a stall we look at ourselves before anything that waited is taken in. */
  function readClock(): Moment {
    return clock.sinceLastRead() > config.selfCheck.stall ? inspectSelf() : clock.read();
  }

  function inspectSelf(): Moment {
    const { moment, before, trouble } = clock.inspect(config.selfCheck.stall);
    for (const { cause, lasted } of trouble) {
      const from = cause === "clock-step" ? moment.now : before;
      noteGap(cause, from, moment, `${(lasted / 1000).toFixed(1)} s`);
    }
    return moment;
  }

  /** First a look at ourselves; then, once waiting input has been read, at whoever is due. */
  function tick(): void {
    const { now } = inspectSelf();
    doubt.noteLateness(now - nextTickAt, now, config.selfCheck);
    nextTickAt = now + tickEvery;
    timers.soon(judgeDue);
  }

  function judgeDue(): void {
    if (stopped || commits.down() !== null) return;
    const moment = readClock();
    const { amnestyMargin } = basePolicy();
    turns.takeNews(fleet.endHolds(moment.now, amnestyMargin), moment.time);
    checkPath(moment);
    turns.wakeConcerned(moment);
    wakeRound(wheel.takeDue(moment.now), 0, moment);
  }

  function wakeRound(due: readonly Watched[], from: number, moment: Moment): void {
    if (stopped) return;
    const until = Math.min(due.length, from + wakesPerRound);
    for (const watched of due.slice(from, until)) {
      const { wakeAt } = watched.record;
      // A beat may have come in since it was found due.
      if (wakeAt !== null && wakeAt <= moment.now) turns.wake(watched, moment);
      else wheel.file(watched);
    }
    turns.wakeConcerned(moment);
    commits.schedule();
    if (until < due.length) timers.soon(() => wakeRound(due, until, readClock()));
  }

  /** While our own path is not shown to work, silence is ours before it is anybody else's. */
  function checkPath(moment: Moment): void {
    if (sendCanary === null) return;
    const policy = basePolicy();
    const since = doubt.pathHold()?.since;
    const change = doubt.checkCanary(
      moment.now,
      3 * Math.max(policy.beatInterval, policy.idleBeatInterval) + policy.amnestyMargin,
    );
    if (change === null) return;
    const scope = "fleet";
    const because = "path-unproven";
    const of = fleet.size();
    turns.saveEvents(
      [
        change === "held"
          ? { type: "HOLD_STARTED", payload: { because, scope, silent: 0, of } }
          : {
              type: "HOLD_ENDED",
              payload: { because, scope, lastedSeconds: Math.round((moment.now - (since ?? moment.now)) / 1000) },
            },
      ],
      moment.time,
      null,
    );
    wakeQuiet(moment);
  }

  function wakeQuiet(moment: Moment): void {
    for (const watched of roster.all()) if (watched.record.findings.length > 0) turns.wake(watched, moment);
  }

  function noteGap(cause: GapCause, from: MonoMs, moment: Moment, detail: string): void {
    const gap = doubt.openGap(cause, from, moment.now);
    const lastedSeconds = Math.round((gap.to - gap.from) / 100) / 10;
    turns.saveEvents([{ type: "MONITOR_GAP", payload: { cause, lastedSeconds, detail } }], moment.time, null);
    log.warn(
      { cause, lastedSeconds },
      "the monitor was blind for a while; nobody is judged by silence until everyone had time to be heard",
    );
    commits.schedule();
  }

  function wentDown(fault: Fault): void {
    outageSince = readClock().now;
    log.error(
      { code: fault.code },
      `the store cannot be written, so nobody is judged and beats are refused: ${fault.message}`,
    );
  }

  function cameBack(): void {
    const moment = readClock();
    noteGap("store-outage", outageSince ?? moment.now, moment, "the store could not be written");
    outageSince = null;
  }

  /** Saved: now it may be told and done. */
  function announce(commit: Commit): void {
    if (commit.actions.length > 0) outbox.send(commit.actions);
    const last = commit.events[commit.events.length - 1];
    if (last === undefined) return;
    lastEventId = last.id;
    if (eventListeners.size === 0) return;
    const events = commit.events.map(({ id, time, event }) => ({ id, time: toIso(time), ...event }) as SavedEvent);
    for (const listener of eventListeners) listener(events);
  }

  function scheduleCanary(): void {
    const onHold = fleet.holds().length > 0 || doubt.pathHold() !== null;
    later(onHold ? canaryOnHold : canaryEvery, () => {
      const sent = sendCanary === null ? Promise.resolve() : sendCanary();
      sent
        .catch((error: unknown) => log.warn({ error: String(error) }, "our own test beat did not get through"))
        .finally(scheduleCanary);
    });
  }

  function scheduleTidy(delay: DurationMs): void {
    later(delay, () => {
      const { beats, history } = config.retention;
      const { now, time } = readClock();
      // A wall clock that was set forward by mistake must not make everything look old.
      store
        .tidy({ now: Math.min(now, time), beats, history })
        .then((more) => scheduleTidy(more ? tidyAgain : tidyEvery))
        .catch((error: unknown) => {
          log.warn({ error: String(error) }, "old data could not be tidied away; will try again");
          scheduleTidy(tidyEvery);
        });
    });
  }

  function later(delay: DurationMs, task: () => void): void {
    if (stopped) return;
    const cancel = timers.after(delay, () => {
      cancels.delete(cancel);
      if (!stopped) task();
    });
    cancels.add(cancel);
  }

  const basePolicy = () => config.policyFor({ agentId: "", agentType: null, taskId: null });

  function mustFind(agentId: string): Watched {
    const watched = roster.find(agentId);
    if (watched === undefined) throw new Fault("agent-unknown", "no such agent; `rouse ps` lists those that are known");
    return watched;
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

  async function takeBeats(sent: readonly unknown[]): Promise<HeartbeatAck[]> {
    const down = commits.down();
    if (down !== null) throw down;
    if (sent.length === 1 && isCanary(sent[0])) return [await passCanary()];
    const moment = readClock();
    const acks = sent.map((one) => turns.takeBeat(readBeat(one, moment.time), moment));
    lastBeatAt = moment.now;
    // A batch of refused or repeated beats leaves nothing to write, and then there is nothing to wait for.
    await commits.saved();
    return acks;
  }

  function selfDoubt(): SelfDoubtReport {
    const { now } = readClock();
    const gap = doubt.lastGap();
    const frozen = doubt.frozen();
    const iso = (at: MonoMs): string => toIso(clock.toWall(at));
    const pathHold = doubt.pathHold();
    const holds = [...fleet.holds(), ...(pathHold === null ? [] : [{ scope: "fleet", hold: pathHold }])];
    return {
      lastGap:
        gap === null
          ? null
          : { cause: gap.cause, endedAt: iso(gap.to), lastedSeconds: Math.round((gap.to - gap.from) / 1000) },
      holds: holds.map(({ scope, hold }) => ({ because: hold.because, scope, since: iso(hold.since) })),
      lagSeconds: doubt.lag(now) / 1000,
      frozen: frozen === null ? null : { ...frozen, since: iso(frozen.since) },
    };
  }

  async function setFrozen(actor: string, reason: string, frozen: boolean): Promise<void> {
    const moment = readClock();
    const by: Frozen | null = frozen ? { since: moment.now, actor, reason } : null;
    const draft = commits.draft();
    draft.marks["frozen"] = by === null ? null : JSON.stringify(by);
    draft.audit.push({ time: moment.time, actor, action: frozen ? "freeze" : "thaw", reason });
    turns.saveEvents(
      [{ type: frozen ? "MONITOR_FROZEN" : "MONITOR_THAWED", payload: { actor, reason } }],
      moment.time,
      null,
    );
    await commits.saved();
    doubt.freeze(by);
  }

  function status(): SystemStatus {
    const byState: SystemStatus["agents_by_state"] = {};
    let active = 0;
    for (const { record } of roster.all()) {
      const { state } = record.health;
      byState[state] = (byState[state] ?? 0) + 1;
      if (record.activity.kind !== "FINISHED" && state !== "TERMINATED" && state !== "UNRESPONSIVE") active += 1;
    }
    const monitor = selfDoubt();
    return {
      status:
        commits.down() !== null
          ? "store-unavailable"
          : monitor.frozen !== null
            ? "frozen"
            : monitor.holds.length > 0
              ? "on-hold"
              : "ok",
      total_agents: roster.size(),
      active_agents: active,
      degraded_agents: byState.DEGRADED ?? 0,
      agents_by_state: byState,
      last_heartbeat: lastBeatAt === null ? null : toIso(clock.toWall(lastBeatAt)),
      started_at: toIso(clock.toWall(started.now)),
      version: parts.version,
      monitor,
    };
  }

  return {
    takeBeats,
    status,
    async register(sent) {
      const parsed = AgentRegistration.safeParse(sent);
      if (!parsed.success) {
        throw new Fault(
          "bad-request",
          parsed.error.issues.map((issue) => `${issue.path.join(".") || "registration"}: ${issue.message}`).join("; "),
        );
      }
      const down = commits.down();
      if (down !== null) throw down;
      const moment = readClock();
      const watched = turns.register(parsed.data, moment);
      await commits.saved();
      return describeAgent(watched.record, moment.now, clock.toWall);
    },
    agent: (agentId) => describeAgent(mustFind(agentId).record, readClock().now, clock.toWall),
    agents() {
      const { now } = readClock();
      return [...roster.all()].map(({ record }) => describeAgent(record, now, clock.toWall));
    },
    async why(agentId) {
      const { record } = mustFind(agentId);
      const { now } = readClock();
      const events = await store.readEvents({ agentId, limit: 20, newestFirst: true });
      return {
        agent: describeAgent(record, now, clock.toWall),
        ...describeGrounds(record, now, config.policyFor(record), doubt.about(record, now), clock.toWall),
        monitor: selfDoubt(),
        events,
      };
    },
    history(agentId, duration) {
      const { no, record } = mustFind(agentId);
      return readHistory(store, { no, agentId, state: record.health.state }, readClock().time, duration);
    },
    async heartbeats(agentId, limit) {
      const beats = await store.readBeats(mustFind(agentId).no, limit);
      return beats.map(({ body, time }) => ({ ...(JSON.parse(body) as Heartbeat), receivedAt: toIso(time) }));
    },
    events: (query) => store.readEvents(query),
    lastEventId: () => lastEventId,
    freeze: (actor, reason) => setFrozen(actor, reason, true),
    thaw: (actor, reason) => setFrozen(actor, reason, false),
    reload(next) {
      config = next;
      const moment = readClock();
      turns.saveEvents([{ type: "CONFIG_RELOADED", payload: { policy: basePolicy().id } }], moment.time, null);
      for (const watched of roster.all()) turns.wake(watched, moment);
      turns.wakeConcerned(moment);
      commits.schedule();
    },
    noteRefusedConfig(problems) {
      turns.saveEvents([{ type: "CONFIG_REFUSED", payload: { problems } }], readClock().time, null);
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
      if (stopped) return;
      stopped = true;
      for (const cancel of cancels) cancel();
      outbox.stop();
      const moment = readClock();
      turns.saveSome(Number.POSITIVE_INFINITY);
      turns.saveEvents([{ type: "MONITOR_STOPPED", payload: {} }], moment.time, null);
      markAlive();
      await commits.drain();
      await store.close();
    },
  };
}

function subscribe<T>(listeners: Set<T>, listener: T): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
