import {
  type DurationMs,
  type EpochMs,
  type ExitStatus,
  Fault,
  type Heartbeat,
  type Hold,
  type HolderReport,
  type MonoMs,
  type RouseEvent,
  type StopOutcome,
  type TaskReport,
} from "@rouse/contract";
import { type Action, type ActionOutcome, keepKillBudget, watchFleet } from "@rouse/core";
import { systemTimers } from "../adapters/clock-system/system-clock.ts";
import { createMemoryDisk, type MemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import type { Commit, Store } from "../ports/store.ts";
import { keepAuditTrail, whereTrailEnds } from "./audit-trail.ts";
import { recallFleet } from "./fleet-matters.ts";
import { groupCommits } from "./group-commit.ts";
import { keepRecords } from "./keep-records.ts";
import { keepTasks } from "./keep-tasks.ts";
import { restoreAgents } from "./resume.ts";
import { createRoster, type Watched } from "./roster.ts";
import { doubtSelf } from "./self-doubt.ts";
import { serveTasks } from "./serve-tasks.ts";
import type { Moment } from "./steady-clock.ts";
import { createTurns } from "./turns.ts";
import { createWakeWheel } from "./wake-wheel.ts";

/** When every story begins. */
export const dawn: EpochMs = Date.parse("2026-02-05T09:00:00Z");

export interface WorldGiven {
  readonly config?: string;
  readonly disk?: MemoryDisk;
  /** How long after dawn. */
  readonly at?: DurationMs;
}

/** Tasks and agents as the monitor has them: real turns, the real group commit on the store in memory, and a clock the story moves. */
export async function taskWorld({
  config: text = "preset: default",
  disk = createMemoryDisk(),
  at = 0,
}: WorldGiven = {}) {
  const config = requireConfig(readConfig({ file: { name: "test", text } }));
  let now: MonoMs = 0 + at;
  let trouble: Fault | null = null;
  const readClock = (): Moment => ({ now, time: toWall(now) });
  const inner = await openMemoryStore(disk);
  const store: Store = {
    ...inner,
    commit: async (commit) => {
      if (trouble !== null) throw trouble;
      await inner.commit(commit);
    },
  };
  const resumption = await store.resume();
  const events: RouseEvent[] = [];
  const actions: Action[] = [];
  const told: string[] = [];
  const onCommit = new Set<() => void>();
  const savedTasks = new Set<(taskIds: readonly string[]) => void>();
  const roster = createRoster();
  const fleet = watchFleet(() => config.selfCheck);
  const budget = keepKillBudget(() => config.killBudget, []);
  const incidents = recallFleet(resumption, readClock(), () => config);
  const doubt = doubtSelf(fleet, incidents, budget, now);
  const commits = groupCommits(store, systemTimers, {
    committed: noteCommit,
    wentDown: () => undefined,
    cameBack: () => undefined,
  });
  const wheel = createWakeWheel<Watched>();
  const turns = createTurns({
    roster,
    wheel,
    fleet,
    incidents,
    doubt,
    commits,
    records: keepRecords(commits),
    config: () => config,
    budget,
    audit: keepAuditTrail({ last: whereTrailEnds(resumption), store: "store", isSealed: true, sign: () => "signed" }),
    afterTurn: (before, after, moment) => tasks.noticeAgent(before, after, moment),
    noteActivity: () => {},
    lastSignalId: resumption.lastSignalId,
    lastEventId: resumption.lastEventId,
  });
  const tasks = keepTasks({
    roster,
    commits,
    doubt,
    config: () => config,
    toWall,
    saveEvents: turns.saveEvents,
    intend: turns.intend,
    tellAgent: (agentId, signal, moment) => {
      const watched = roster.find(agentId);
      if (signal.kind === "reflection-wanted") told.push(`${agentId} ${signal.failed}/${signal.of}`);
      if (signal.kind === "task-taken") told.push(`${agentId} ${signal.because}`);
      if (watched !== undefined) turns.take(watched, signal, moment);
    },
  });
  restoreAgents(resumption, roster, config);
  tasks.restore(resumption);
  const service = serveTasks({ tasks, roster, commits, doubt, readClock, toWall, addToTrail: turns.addToTrail });

  function noteCommit(commit: Commit): void {
    events.push(...commit.events.map(({ event }) => event));
    actions.push(...commit.actions.map(({ body }) => JSON.parse(body) as Action));
    for (const look of onCommit) look();
    if (commit.tasks.length > 0) for (const listener of savedTasks) listener(commit.tasks.map(({ taskId }) => taskId));
  }

  function mustWatch(agentId: string): Watched {
    const watched = roster.find(agentId);
    if (watched === undefined) throw new Error(`nobody knows ${agentId}`);
    return watched;
  }

  /** Everybody who is due is looked at, once a second. */
  function pass(duration: number): void {
    for (const until = now + duration; now < until; ) {
      now = Math.min(until, now + 1000);
      for (const watched of wheel.takeDue(now)) turns.wake(watched, readClock());
      turns.takeNews(fleet.endHolds(now, 0), readClock());
      turns.takeFleet(incidents.due(now), readClock());
      turns.wakeConcerned(readClock());
      tasks.judgeDue(readClock());
    }
  }

  return {
    tasks,
    service,
    store,
    disk,
    roster,
    incidents,
    turns,
    doubt,
    events,
    actions,
    told,
    commits,
    readClock,
    pass,
    mustWatch,
    saved: () => commits.saved(),
    afterCommits(look: () => void): () => void {
      onCommit.add(look);
      return () => onCommit.delete(look);
    },
    onSaved(listener: (taskIds: readonly string[]) => void): () => void {
      savedTasks.add(listener);
      return () => savedTasks.delete(listener);
    },
    storeBreaks(): void {
      trouble = new Fault("store-unavailable", "the disk is full", { retryable: true });
    },
    storeMends(): void {
      trouble = null;
    },
    beats: (beat: Heartbeat): void => {
      const signal = { beat, checksum: "absent", agentTime: null, skew: null, waitsFor: null } as const;
      turns.takeBeat({ kind: "heartbeat", ...signal }, readClock());
    },
    holds: (hold: Partial<Hold> & { agentId: string }): Watched => {
      turns.takeHold({ ...anyHold, startedAt: toWall(now), ...hold }, false, readClock());
      return mustWatch(hold.agentId);
    },
    reports(agentId: string, seq: number, over: Partial<HolderReport> = {}): void {
      const { incarnation } = mustWatch(agentId).record.life;
      const report: HolderReport = { ...anyReport, seq, at: toWall(now), ...over };
      turns.take(mustWatch(agentId), { kind: "reported", incarnation, report, ago: 0 }, readClock());
    },
    orders: (agentId: string, order: "stop" | "restart"): void => {
      const signal = { kind: "ordered", order, key: `${agentId}/order`, actor: "ann", force: true } as const;
      turns.take(mustWatch(agentId), signal, readClock());
    },
    /** The hands answer the last action of a kind. */
    async handsAnswer(kind: Action["kind"], outcome: ActionOutcome): Promise<void> {
      await commits.saved();
      const action = actions.findLast((one) => one.kind === kind);
      if (action === undefined) throw new Error(`nobody was asked to ${kind}`);
      turns.actionDone(action, outcome, readClock());
    },
    eventTypes: (): string[] => events.map(({ type }) => type),
    status: (taskId: string): string => service.show(taskId).status,
    /** In one line: what became of a task and whose it is. */
    tell: (taskId: string): string => oneLine(service.show(taskId)),
  };
}

export type TaskWorld = Awaited<ReturnType<typeof taskWorld>>;

const toWall = (at: MonoMs): EpochMs => dawn + at;

const oneLine = ({ status, because, claim, flags }: TaskReport): string =>
  [status, because, ...(claim === null ? [] : [`${claim.agentId}#${claim.number}`]), ...flags].join(" ");

export const anyHold: Hold = {
  agentId: "",
  agentType: null,
  taskId: null,
  policy: null,
  incarnation: 1,
  pid: 4242,
  family: "generic",
  structured: false,
  foreground: false,
  startedAt: 0,
};

export const anyReport: HolderReport = {
  seq: 1,
  at: 0,
  sights: [],
  output: { bytes: 0, rows: 0, lastAt: null },
  process: null,
  attached: 0,
  fullScreen: false,
  outputKept: true,
  exit: null,
};

export const exited = (exit: Partial<ExitStatus>): Pick<HolderReport, "exit"> => ({
  exit: { code: null, signal: null, cause: "by-itself", ...exit },
});

export const stopped: StopOutcome = { kind: "stopped", forced: false, processes: 1 };
