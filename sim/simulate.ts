import { type HeartbeatAck, type PresetName, type RouseEvent, settingsOf } from "@rouse/contract";
import type { Action } from "@rouse/core";
import { openMemoryStates } from "../packages/daemon/src/adapters/states-memory/open-memory-states.ts";
import { createMemoryDisk } from "../packages/daemon/src/adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../packages/daemon/src/adapters/store-memory/open-memory-store.ts";
import { readPlace } from "../packages/daemon/src/audit/audit-trail.ts";
import { verifyAudit } from "../packages/daemon/src/audit/verify-audit.ts";
import { type Monitor, startMonitor } from "../packages/daemon/src/monitor.ts";
import { noAnchors } from "../packages/daemon/src/ports/anchors.ts";
import { auditHeadMark, auditStoreMark } from "../packages/daemon/src/ports/store.ts";
import { Actor, type Rhythm } from "./actors/actor.ts";
import { type OrchestratorTemper, temperOf } from "./actors/orchestrator.ts";
import { createBeats } from "./actors/send-beats.ts";
import { planSicknesses } from "./actors/sicknesses.ts";
import { createExcuses } from "./judges/excuses.ts";
import { createJudge, type Findings } from "./judges/judge.ts";
import { createBreakers } from "./world/breaker-world.ts";
import { planFaults } from "./world/faults.ts";
import { createHeldWorld, type HeldWorld } from "./world/held-world.ts";
import {
  clockOf,
  configFor,
  type MonitorWorld,
  makeFaulty,
  makeSigningKey,
  type Speak,
  timersOf,
  wallAtStart,
} from "./world/monitor-world.ts";
import { createNetwork, type Letter } from "./world/network.ts";
import { seededRandom } from "./world/random.ts";
import { createTaskWorld, type TaskWorld } from "./world/task-world.ts";
import { createTimeline } from "./world/virtual-time.ts";

export interface SimulationOptions {
  readonly seed: number;
  readonly agents: number;
  /** So many of them are held by Rouse, which may stop them and bring them back. */
  readonly held?: number;
  /** So many more agents work through a queue of tasks. */
  readonly workers?: number;
  readonly hours: number;
  readonly preset: PresetName;
  /** What whoever is asked is like; chosen by the seed when not given. */
  readonly orchestrator?: OrchestratorTemper;
  /** Called now and then with the share that is done. */
  readonly progress?: (share: number) => void;
  /** Called with everything the monitor says, at the moment it has said it. */
  readonly watch?: (at: number, event: RouseEvent) => void;
}

/** The monitor's event loop turns once per step of this length; within one, everything happens in its own order. */
const quantumOf: Readonly<Record<PresetName, number>> = { fleet: 500, default: 2000, tasks: 2000 };

/** Runs the real monitor and core on virtual time in a seeded world, and judges the judge. */
export async function simulate(options: SimulationOptions): Promise<Findings> {
  const random = seededRandom(options.seed);
  const timeline = createTimeline();
  const { heartbeat } = settingsOf(options.preset);
  const rhythm: Rhythm = { running: heartbeat.interval_seconds * 1000, idle: heartbeat.idle_interval_seconds * 1000 };
  const config = configFor(options.preset);
  const signing = makeSigningKey();
  const folder = new Map<string, string>();
  const disk = createMemoryDisk({ keepBeatsPerAgent: 20 });
  const actors = new Map<string, Actor>();
  let inbox: Letter[] = [];
  let soon: (() => void)[] = [];
  /** What reaches the monitor otherwise: answers of the hands, words of people. */
  let arrivals: { readonly happen: () => void; readonly lost: () => void }[] = [];
  let monitor: Monitor | null = null;
  let life = 0;
  let startAt = 0;
  const delivered = new Map<string, number>();

  const world: MonitorWorld = {
    stalledUntil: 0,
    suspended: 0,
    suspendedSince: null,
    wallOffset: 0,
    furthestAhead: 0,
    furthestBehind: 0,
    deaf: false,
    load: 0,
    store: { outage: false, crashAfterCommit: null },
    faultUntil: 0,
    faults: [],
    blind: [],
    crash(downFor) {
      life += 1;
      disk.crash();
      monitor = null;
      soon = [];
      inbox = [];
      held.holders.hangUp();
      const lost = arrivals;
      arrivals = [];
      for (const one of lost) one.lost();
      startAt = timeline.now() + downFor;
      world.faultUntil = Math.max(world.faultUntil, startAt);
      world.faults.push({ from: timeline.now(), to: startAt });
      world.blind.push({ from: timeline.now(), to: startAt });
    },
  };
  const clock = clockOf(timeline, world);
  const network = createNetwork(timeline, random, (letter) => {
    if (monitor !== null && !world.deaf) inbox.push(letter);
  });
  const judge = createJudge({
    seed: options.seed,
    actors,
    network,
    world,
    timeline,
    disk,
    delivered,
    rhythm,
    settings: settingsOf(options.preset),
    held: () => held,
    note(event) {
      excuses.note(event);
      held.note(event);
      tasks.note(event);
      breakers.note(event);
      options.watch?.(timeline.now(), event);
    },
  });
  const speak: Speak = (say, failed = () => undefined) => {
    if (monitor === null) return timeline.after(1, () => failed(new Error("nobody there")));
    const to = monitor;
    arrivals.push({
      happen: () => void say(to).catch(failed),
      lost: () => timeline.after(1, () => failed(new Error("nobody there"))),
    });
  };
  const breakers = createBreakers({
    timeline,
    random: seededRandom(options.seed ^ 0xb4ea),
    speak,
    violated: judge.violated,
  });
  const { noteAck } = judge;
  const { live, sendSurely } = createBeats({ timeline, random, network, rhythm, wallAtStart, noteAck, breakers });
  // Answers to the default policy's amnesty: one TTL and its margin.
  const excuses = createExcuses(timeline.now, world.faults, 3 * 300_000 + 60_000);
  const held: HeldWorld = createHeldWorld({
    count: options.held ?? 0,
    others: options.agents - (options.held ?? 0) + (options.workers ?? 0),
    policies: options.preset === "default",
    timeline,
    random: seededRandom(options.seed ^ 0x5eed),
    disk,
    folder,
    config,
    wall: clock.wall,
    speak,
    send: sendSurely,
    sendOnce: network.send,
    temper: temperOf(options),
    breakers,
    slowMonitor(lasts) {
      world.load = random.between(200, 1500);
      timeline.after(lasts, () => {
        world.load = 0;
      });
    },
    isCutOff: (agentId) => network.cutOffFor(agentId) !== null || world.deaf,
    violated: judge.violated,
    excusedSince: excuses.excusedSince,
    blindSince: excuses.blindSince,
    isAnothers: (taskId, agentId) => tasks.isAnothers(taskId, agentId),
  });

  const { tasks: taskPolicy, escalation } = config.policyFor({ agentId: "", agentType: null, taskId: null });
  const tasks: TaskWorld = createTaskWorld({
    count: options.workers ?? 0,
    held: held.actors,
    timeline,
    random: seededRandom(options.seed ^ 0x7a5c),
    world,
    policy: taskPolicy,
    rhythm,
    questionTimeout: escalation.timeout,
    speak,
    send: rhythm.running < 60_000 ? network.send : sendSurely,
    wall: clock.wall,
    isCutOff: (agentId) => network.cutOffFor(agentId) !== null || world.deaf,
    violated: judge.violated,
    excusedSince: excuses.excusedSince,
  });

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
    const isDead = (): boolean => of !== life;
    const toMonitor = (happen: () => void): void => {
      if (!isDead()) arrivals.push({ happen, lost: quiet });
    };
    const started = await startMonitor({
      holders: held.ports.portFor(toMonitor, isDead),
      workspaces: held.folders.portFor(toMonitor, isDead),
      orchestrator: held.orchestrator.portFor(toMonitor, isDead),
      states: openMemoryStates(folder),
      signing,
      anchors: noAnchors,
      store,
      clock,
      timers: timersOf({ timeline, world, random, isDead, soon: (callback) => soon.push(callback) }),
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
    tasks.resumed();
  }

  /** One turn of the monitor's event loop: what came in, then what it wants to do soon, until it rests. */
  async function letMonitorRun(): Promise<void> {
    const now = timeline.now();
    if (monitor === null && now >= startAt) await start();
    if (monitor === null || now < world.stalledUntil) return;
    const arrived = arrivals;
    arrivals = [];
    for (const { happen } of arrived) happen();
    if (inbox.length > 0) takeInbox(monitor);
    held.holders.deliver();
    do {
      const next = soon;
      soon = [];
      for (const callback of next) callback();
      for (let i = 0; i < 12; i++) await null;
      // Longer chains of promises are followed to their end: what is left of one must not run while the monitor is held up.
      if (soon.length === 0 && arrived.length > 0) await settled();
    } while (soon.length > 0);
    judge.readVerdicts();
    if (monitor !== null) tasks.settle(monitor);
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
        letter.answered(ack);
      }
    };
    // The store is down: agents try again a second later, as they would on a 503.
    const refused = (): void => {
      for (const letter of arrived) if (random.chance(0.8)) timeline.after(1000, () => network.send(letter));
    };
    to.takeBeats(arrived, taken, refused);
  }

  const free = options.agents - (options.held ?? 0);
  for (let i = 1; i <= free; i++) {
    const actor = new Actor(`agent-${i}`, `node-${1 + (i % Math.max(1, Math.ceil(free / 12)))}`, random, 0);
    actors.set(actor.id, actor);
    breakers.add(actor.id, {
      isWell: () => actor.sickness === null,
      toolsFail: () => actor.sickness?.kind === "failing",
    });
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
  planFaults({
    world,
    timeline,
    random,
    network,
    actors,
    others: [
      ...[...held.actors.values()]
        .filter(({ traits }) => traits.beats && traits.rhythm !== "seconds")
        .map(({ id }) => id),
      ...tasks.beating,
    ],
    hands: held.actors.size === 0 ? null : held,
  });

  const end = options.hours * 3_600_000;
  const quantum = quantumOf[options.preset];
  for (let t = quantum; t <= end; t += quantum) {
    timeline.runUntil(t);
    await letMonitorRun();
    if (t % 10_000 === 0) judge.lookForTheForgotten();
    if (t % 60_000 === 0) {
      held.lookForTheForgotten();
      tasks.lookForTheForgotten();
    }
    if (t % 3_600_000 === 0) options.progress?.(t / end);
  }
  const audit = verifyAudit(disk.audit, signing.publicKey, {
    head: readPlace(disk.marks.get(auditHeadMark)),
    store: disk.marks.get(auditStoreMark) ?? null,
    removed: null,
    told: null,
  });
  const { seed, preset, agents } = options;
  const agentHours = (agents * end) / 3_600_000;
  const run = { seed, orchestrator: temperOf(options), preset, agents, agentHours };
  return judge.findings({ ...run, tasks: tasks.findings(monitor), breakers: breakers.findings() }, audit);
}

/** Everything that waits for nothing but other promises has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
