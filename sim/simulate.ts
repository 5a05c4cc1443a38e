import { type HeartbeatAck, type PresetName, settingsOf } from "@rouse/contract";
import type { Action } from "@rouse/core";
import { createMemoryDisk } from "../packages/daemon/src/adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../packages/daemon/src/adapters/store-memory/open-memory-store.ts";
import { readConfig, requireConfig } from "../packages/daemon/src/config/read-config.ts";
import { openMemoryStates } from "../packages/daemon/src/adapters/states-memory/open-memory-states.ts";
import { noHolders } from "../packages/daemon/src/ports/holders.ts";
import { noOrchestrator } from "../packages/daemon/src/ports/orchestrator.ts";
import { noWorkspaces } from "../packages/daemon/src/ports/workspaces.ts";
import { type Monitor, startMonitor } from "../packages/daemon/src/runtime/monitor.ts";
import { Actor, type Rhythm } from "./actor.ts";
import { planFaults } from "./faults.ts";
import { makeFaulty } from "./faulty-store.ts";
import { createJudge, type Findings } from "./judge.ts";
import { createNetwork, type Letter } from "./network.ts";
import { seededRandom } from "./random.ts";
import { planSicknesses } from "./sicknesses.ts";
import { createTimeline } from "./virtual-time.ts";

export interface SimulationOptions {
  readonly seed: number;
  readonly agents: number;
  readonly hours: number;
  readonly preset: PresetName;
  /** Called now and then with the share that is done. */
  readonly progress?: (share: number) => void;
}

/** The monitor's event loop turns once per step of this length; within one, everything happens in its own order. */
const quantumOf: Readonly<Record<PresetName, number>> = { fleet: 500, default: 2000, tasks: 2000 };
const wallAtStart = Date.UTC(2026, 0, 5);

/** What the world can do to the monitor. */
export interface MonitorWorld {
  /** It does not run until then. */
  stalledUntil: number;
  /** What its monotonic clock did not count. */
  suspended: number;
  wallOffset: number;
  deaf: boolean;
  /** Its timers come late by up to this much. */
  load: number;
  readonly store: { outage: boolean; crashAfterCommit: (() => void) | null };
  /** The end of the last trouble that was the monitor's own. */
  troubleUntil: number;
  crash(downFor: number): void;
}

/** Runs the real runtime and core on virtual time in a seeded world, and judges the judge. */
export async function simulate(options: SimulationOptions): Promise<Findings> {
  const random = seededRandom(options.seed);
  const timeline = createTimeline();
  const { heartbeat } = settingsOf(options.preset);
  const rhythm: Rhythm = { running: heartbeat.interval_seconds * 1000, idle: heartbeat.idle_interval_seconds * 1000 };
  const config = requireConfig(readConfig({ file: { name: "sim", text: `preset: ${options.preset}` } }));
  const disk = createMemoryDisk({ keepBeatsPerAgent: 20 });
  const actors = new Map<string, Actor>();
  let inbox: Letter[] = [];
  let soon: (() => void)[] = [];
  let monitor: Monitor | null = null;
  let life = 0;
  let startAt = 0;
  const delivered = new Map<string, number>();

  const world: MonitorWorld = {
    stalledUntil: 0,
    suspended: 0,
    wallOffset: 0,
    deaf: false,
    load: 0,
    store: { outage: false, crashAfterCommit: null },
    troubleUntil: 0,
    crash(downFor) {
      life += 1;
      disk.crash();
      monitor = null;
      soon = [];
      inbox = [];
      startAt = timeline.now() + downFor;
      world.troubleUntil = Math.max(world.troubleUntil, startAt);
    },
  };
  const network = createNetwork(timeline, random, (letter) => {
    if (monitor !== null && !world.deaf) inbox.push(letter);
  });
  const judge = createJudge({
    actors,
    network,
    world,
    timeline,
    disk,
    delivered,
    rhythm,
    settings: settingsOf(options.preset),
  });

  function timers(of: number) {
    const run = (callback: () => void): void => {
      if (of !== life) return;
      if (timeline.now() < world.stalledUntil) return timeline.plan(world.stalledUntil, () => run(callback));
      callback();
    };
    return {
      after(delay: number, callback: () => void) {
        let cancelled = false;
        const late = world.load === 0 ? 0 : random.between(0, world.load);
        timeline.after(delay + late, () => {
          if (!cancelled) run(callback);
        });
        return () => {
          cancelled = true;
        };
      },
      soon(callback: () => void): void {
        if (of === life) soon.push(callback);
      },
    };
  }

  const clock = {
    mono: () => timeline.now() - world.suspended,
    wall: () => wallAtStart + timeline.now() + world.wallOffset,
    read: () => ({
      mono: timeline.now() - world.suspended,
      boot: timeline.now(),
      wall: wallAtStart + timeline.now() + world.wallOffset,
    }),
  };

  async function start(): Promise<void> {
    const of = life;
    const store = makeFaulty(await openMemoryStore(disk), world.store);
    const alerts = {
      deliver: (action: Action): Promise<void> => {
        if (random.chance(0.02)) return Promise.reject(new Error("simulated"));
        delivered.set(action.key, (delivered.get(action.key) ?? 0) + 1);
        return Promise.resolve();
      },
    };
    const quiet = () => undefined;
    const started = await startMonitor({
      holders: noHolders,
      workspaces: noWorkspaces,
      orchestrator: noOrchestrator,
      states: openMemoryStates(),
      signing: { sign: () => "", publicKey: "" },
      store,
      clock,
      timers: timers(of),
      alerts,
      log: { info: quiet, warn: quiet, error: quiet },
      config,
      version: "sim",
    });
    if (of !== life) return;
    monitor = started;
    started.sendCanaryBy(async () => {
      if (world.deaf) throw new Error("simulated");
      await new Promise((taken, failed) => started.takeBeats([{ beat: { agentId: "rouse.canary" } }], taken, failed));
    });
    judge.checkResumed(started);
  }

  /** One turn of the monitor's event loop: what came in, then what it wants to do soon, until it rests. */
  async function letMonitorRun(): Promise<void> {
    const now = timeline.now();
    if (monitor === null && now >= startAt) await start();
    if (monitor === null || now < world.stalledUntil) return;
    if (inbox.length > 0) takeInbox(monitor);
    do {
      const next = soon;
      soon = [];
      for (const callback of next) callback();
      for (let i = 0; i < 12; i++) await null;
    } while (soon.length > 0);
    judge.readVerdicts();
  }

  function takeInbox(to: Monitor): void {
    const arrived = inbox;
    inbox = [];
    const of = life;
    const taken = (acks: readonly HeartbeatAck[]): void => {
      if (of !== life) return;
      for (const [i, ack] of acks.entries()) {
        const letter = arrived[i] as Letter;
        letter.acknowledged = true;
        if (ack.status !== "rejected") letter.from.acknowledged(letter.mode);
        judge.noteAck(letter.from, ack);
      }
    };
    // The store is down: agents try again a second later, as they would on a 503.
    const refused = (): void => {
      for (const letter of arrived) if (random.chance(0.8)) timeline.after(1000, () => network.send(letter));
    };
    to.takeBeats(arrived, taken, refused);
  }

  /** Who beats every few minutes sends a beat again when no answer comes; who beats every few seconds just beats on. */
  function sendSurely(letter: Letter, tries = 5): void {
    network.send(letter);
    if (rhythm.running < 60_000 || tries === 1) return;
    timeline.after(15_000, () => {
      if (!letter.acknowledged && !letter.from.isSilent()) sendSurely(letter, tries - 1);
    });
  }

  /** Starts, or starts again, the agent's beats; whatever it had planned before is off. */
  function live(actor: Actor): void {
    actor.lives += 1;
    const of = actor.lives;
    if (actor.isBlocked(timeline.now())) timeline.plan(actor.mode.until, () => beat(actor, of));
    else beat(actor, of);
  }

  function beat(actor: Actor, of: number): void {
    if (actor.isSilent() || actor.lives !== of) return;
    const now = timeline.now();
    const skew = actor.id.endsWith("7") ? 5 * 365 * 86_400_000 : 0;
    sendSurely({ beat: actor.beat(now, wallAtStart + now + skew), from: actor, mode: actor.mode, acknowledged: false });
    if (random.chance(0.0005)) {
      const beat = { agentId: actor.id, sequenceNumber: "not a number" };
      network.send({ beat, from: actor, mode: actor.mode, acknowledged: false });
    }
    timeline.plan(actor.nextBeatAt(now, rhythm) + random.between(-100, 100), () => beat(actor, of));
  }

  for (let i = 1; i <= options.agents; i++) {
    const actor = new Actor(`agent-${i}`, `node-${1 + (i % Math.max(1, Math.ceil(options.agents / 12)))}`, random, 0);
    actors.set(actor.id, actor);
    timeline.plan(random.between(0, rhythm.running), () => live(actor));
  }
  planSicknesses({
    actors,
    timeline,
    random,
    judge,
    live,
    register: (actor) =>
      void monitor
        ?.register({ agentId: actor.id, incarnation: actor.incarnation, node: actor.node })
        .catch(() => undefined),
  });
  planFaults({ world, timeline, random, network, actors });

  const end = options.hours * 3_600_000;
  const quantum = quantumOf[options.preset];
  for (let t = quantum; t <= end; t += quantum) {
    timeline.runUntil(t);
    await letMonitorRun();
    if (t % 10_000 === 0) judge.lookForTheForgotten();
    if (t % 3_600_000 === 0) options.progress?.(t / end);
  }
  return judge.findings(options, (options.agents * end) / 3_600_000);
}
