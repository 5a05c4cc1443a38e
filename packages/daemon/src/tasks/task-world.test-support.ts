import {
  type DurationMs,
  type EpochMs,
  type ExitStatus,
  Fault,
  type Heartbeat,
  type HolderInfo,
  type HolderReport,
  type MonoMs,
  type RouseEvent,
  type StopOutcome,
  type TaskReport,
} from "@rouse/contract";
import { type Action, type ActionOutcome, type Signal, taskMachine, watchFleet } from "@rouse/core";
import { systemTimers } from "../adapters/clock-system/system-clock.ts";
import { createMemoryDisk, type MemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import { hostAgents } from "../agents/host-agents.ts";
import { createRoster, type Watched } from "../agents/roster.ts";
import { keepAuditTrail, whereTrailEnds } from "../audit/audit-trail.ts";
import { hostBreakers } from "../breakers/host-breakers.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import { createEngine, type Engine } from "../engine/engine.ts";
import { groupCommits } from "../engine/group-commit.ts";
import { keepRecords } from "../engine/keep-records.ts";
import { restoreAgents } from "../engine/resume.ts";
import { doubtSelf } from "../engine/self-doubt.ts";
import type { Moment } from "../engine/steady-clock.ts";
import { recallFleet } from "../fleet/fleet-matters.ts";
import type { Commit, Store } from "../ports/store.ts";
import { hostTasks } from "./host-tasks.ts";
import { serveTasks } from "./serve-tasks.ts";

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
  const incidents = recallFleet(resumption, readClock(), () => config);
  const doubt = doubtSelf(fleet, incidents, () => null, now);
  const commits = groupCommits(store, 0, systemTimers, {
    committed: noteCommit,
    wentDown: () => undefined,
    cameBack: () => undefined,
  });
  const audit = keepAuditTrail({
    ...{ last: whereTrailEnds(resumption), store: "store", isSealed: true, sign: () => "signed" },
  });
  const engine = createEngine({ commits, audit, readClock, lastEventId: resumption.lastEventId });
  const agents = hostAgents({
    ...{ engine, roster, fleet, incidents, doubt, commits, records: keepRecords(commits), config: () => config },
    spend: () => {},
    lastSignalId: resumption.lastSignalId,
  });
  const tasks = hostTasks({ engine: observed(), roster, commits, doubt, config: () => config, toWall });

  const breakers = hostBreakers({ engine, roster, agents, commits, config: () => config, toWall });

  /** The same engine, and what tasks write to agents is noted. */
  function observed(): Engine {
    return {
      ...engine,
      post(machine, id, signal) {
        noteLetter(id, signal);
        engine.post(machine, id, signal);
      },
      host: (room) =>
        engine.host({
          ...room,
          keep(turn) {
            for (const { id, signal } of turn.stepped.letters ?? []) noteLetter(id, signal);
            room.keep(turn);
          },
        }),
    };
  }

  function noteLetter(agentId: string | null, letter: unknown): void {
    const signal = letter as Signal;
    if (signal.kind === "reflection-wanted") told.push(`${agentId} ${signal.failed}/${signal.of}`);
    if (signal.kind === "task-taken") told.push(`${agentId} ${signal.because}`);
  }

  restoreAgents(resumption, roster, config);
  tasks.restore(resumption);
  const service = serveTasks({ engine, tasks, roster, commits, doubt, readClock, toWall });

  function noteCommit(commit: Commit): void {
    events.push(...commit.events.map(({ event }) => event));
    actions.push(...commit.actions.map(({ body }) => JSON.parse(body) as Action));
    for (const look of onCommit) look();
    const saved = commit.machines.flatMap(({ machine, id }) => (machine === taskMachine.name ? id : []));
    if (saved.length > 0) for (const listener of savedTasks) listener(saved);
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
      for (const kept of engine.takeDue(now)) engine.wake(kept, readClock());
      agents.takeNews(fleet.endHolds(now, 0), readClock());
      agents.takeFleet(incidents.due(now), readClock());
      engine.deliver(readClock());
      tasks.judgeDue(readClock());
    }
  }

  return {
    tasks,
    breakers,
    service,
    store,
    disk,
    roster,
    incidents,
    engine,
    agents,
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
      agents.takeBeat({ kind: "heartbeat", ...signal }, readClock());
    },
    holds: (hold: Partial<HolderInfo> & { agentId: string }): Watched => {
      agents.takeHold({ ...anyHold, startedAt: toWall(now), ...hold }, false, readClock());
      return mustWatch(hold.agentId);
    },
    reports(agentId: string, seq: number, over: Partial<HolderReport> = {}): void {
      const { incarnation } = mustWatch(agentId).record.life;
      const report: HolderReport = { ...anyReport, seq, at: toWall(now), ...over };
      agents.take(mustWatch(agentId), { kind: "reported", incarnation, report, ago: 0 }, readClock());
    },
    orders: (agentId: string, order: "stop" | "restart"): void => {
      const signal = { kind: "ordered", order, key: `${agentId}/order`, actor: "ann", force: true } as const;
      agents.take(mustWatch(agentId), signal, readClock());
    },
    /** The hands answer the last action of a kind. */
    async handsAnswer(kind: Action["kind"], outcome: ActionOutcome): Promise<void> {
      await commits.saved();
      const action = actions.findLast((one) => one.kind === kind);
      if (action === undefined) throw new Error(`nobody was asked to ${kind}`);
      agents.actionDone(action, outcome, readClock());
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

export const anyHold: HolderInfo = {
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
