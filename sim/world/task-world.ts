import type { RouseEvent, TaskPolicy } from "@rouse/contract";
import type { Monitor } from "../../packages/daemon/src/monitor.ts";
import type { HeldActor } from "../actors/held-actor.ts";
import { planTaskOrders } from "../actors/task-orders.ts";
import { TaskWorker } from "../actors/task-worker.ts";
import { workOnTasks } from "../actors/work-on-tasks.ts";
import { judgeTasks, type TaskFindings } from "../judges/task-judge.ts";
import type { MonitorWorld, Speak } from "./monitor-world.ts";
import type { Letter } from "./network.ts";
import type { Random } from "./random.ts";
import { createTaskLine, listAll } from "./task-line.ts";
import type { Timeline } from "./virtual-time.ts";

const second = 1000;
const hour = 3600 * second;
const day = 24 * hour;

interface Parts {
  /** So many work through the queue. */
  readonly count: number;
  readonly held: ReadonlyMap<string, HeldActor>;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly world: MonitorWorld;
  readonly policy: TaskPolicy;
  readonly rhythm: { readonly running: number; readonly idle: number };
  readonly questionTimeout: number;
  readonly speak: Speak;
  readonly send: (letter: Letter) => void;
  readonly wall: () => number;
  readonly isCutOff: (agentId: string) => boolean;
  readonly violated: (text: string) => void;
  readonly excusedSince: (at: number) => number;
}

export interface TaskWorld {
  /** Workers that beat, as the network knows them. */
  readonly beating: readonly string[];
  note(event: RouseEvent): void;
  /** After each turn of the monitor, when its events have been read. */
  settle(monitor: Monitor): void;
  /** A monitor has come back: what it knows is compared with what was saved. */
  resumed(): void;
  lookForTheForgotten(): void;
  /** Somebody else has the task by now, or has ended it. */
  isAnothers(taskId: string, agentId: string): boolean;
  /** `null`: nobody worked on tasks. */
  findings(monitor: Monitor | null): TaskFindings | null;
}

/** A queue of tasks behind the real task service, those who work through it, those who give orders, and whoever judges it. */
export function createTaskWorld(parts: Parts): TaskWorld {
  const { count, timeline, random, world, rhythm, speak } = parts;
  const workers = new Map<string, TaskWorker>();
  for (let i = 1; i <= count; i++) {
    const worker = new TaskWorker(i, random);
    workers.set(worker.id, worker);
  }
  const judge = judgeTasks({
    now: timeline.now,
    violated: parts.violated,
    policy: parts.policy,
    workers,
    held: parts.held,
    blind: world.blind,
    faults: world.faults,
    excusedSince: parts.excusedSince,
    mayForget: () => world.furthestAhead - world.furthestBehind > 29 * day,
    ttl: 3 * Math.max(rhythm.running, rhythm.idle),
    questionTimeout: parts.questionTimeout,
  });
  const ask = createTaskLine({ timeline, random, speak, isCutOff: parts.isCutOff, witness: judge.witness });
  /** When the monitor's account was last compared with what was saved; -1: it has just come back. */
  let comparedAt = 0;

  function register(worker: TaskWorker): void {
    const { id, incarnation, node } = worker;
    if (parts.isCutOff(id)) return;
    speak(async (to) => {
      await to.register({ agentId: id, incarnation, node });
      worker.noteHeard(incarnation, timeline.now());
    });
  }

  if (count > 0) {
    workOnTasks({
      workers: [...workers.values()],
      timeline,
      random,
      ask,
      rhythm: rhythm.running,
      send: parts.send,
      wall: parts.wall,
      register,
      known: () => [...judge.tasks.keys()].filter(isQueued).slice(-40),
      askWhatItHolds(agentId, told) {
        const tell = (tasks: Parameters<typeof told>[0]): void => timeline.after(second, () => told(tasks));
        if (parts.isCutOff(agentId)) return tell([]);
        speak(
          async (to) => tell(listAll(to, { agentId, status: ["claimed", "running", "blocked"] })),
          () => tell([]),
        );
      },
    });
    planTaskOrders({
      timeline,
      random,
      ask,
      workers: [...workers.keys()],
      queued: () => [...judge.tasks.values()].filter(({ taskId }) => isQueued(taskId)),
      isDisabled: (agentId) => judge.standingOf(agentId) === "none",
    });
  }

  return {
    beating: [...workers.values()].filter(({ traits }) => traits.beats).map(({ id }) => id),
    note: judge.note,
    settle(monitor) {
      judge.settle();
      if (count === 0 || monitor.counters().storeDown) return;
      if (comparedAt !== -1 && timeline.now() - comparedAt < hour) return;
      judge.compare(listAll(monitor), comparedAt === -1 ? "after a restart" : "all at once");
      comparedAt = timeline.now();
    },
    resumed() {
      comparedAt = -1;
    },
    isAnothers(taskId, agentId) {
      const holder = judge.tasks.get(taskId)?.lastHolder ?? agentId;
      return holder !== agentId;
    },
    lookForTheForgotten: judge.lookForTheForgotten,
    findings(monitor) {
      if (count === 0) return null;
      if (monitor !== null && !monitor.counters().storeDown) judge.compare(listAll(monitor), "at the end");
      return judge.findings();
    },
  };
}

/** Made for the queue, and not by an agent that was started for it. */
const isQueued = (taskId: string): boolean => taskId.startsWith("q-");
