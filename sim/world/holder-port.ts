import type { NudgeDelivery, RecoveryContext, StopOutcome } from "@rouse/contract";
import type {
  Holders,
  NudgeRequest,
  Quota,
  Revival,
  Started,
  StopRequest,
} from "../../packages/daemon/src/ports/holders.ts";
import type { HeldActor } from "../actors/held-actor.ts";
import type { WorldLimit } from "../actors/held-life.ts";
import { quietKind } from "../actors/quiet-kinds.ts";
import type { Holder, HolderWorld } from "./holders.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

/** Sees what is really done to agents, as opposed to what the monitor says of it. */
export interface HandsWitness {
  /** The monitor asks for it; it may never arrive. */
  stopWanted(request: StopRequest): void;
  /** The first signal is about to be sent. */
  stopped(actor: HeldActor, request: StopRequest): void;
  survived(actor: HeldActor): void;
  nudged(actor: HeldActor, key: string): void;
  /** The monitor wants it started just after it was told that its limit stands. */
  startWantedAtLimit(actor: HeldActor, limit: WorldLimit): void;
  /** The next life is about to be started, with this to go on from. */
  revived(actor: HeldActor, context: RecoveryContext | null): void;
}

const second = 1000;
const hour = 3600 * second;

interface Parts {
  readonly holders: HolderWorld;
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly witness: HandsWitness;
  readonly wall: () => number;
  /** Starts the next life of an agent and everything that goes with it. */
  readonly startLife: (actor: HeldActor, context: RecoveryContext | null) => void;
  /** A nudge has reached an agent. */
  readonly reach: (actor: HeldActor) => void;
}

/** What holders remember of orders, whichever monitor gave them. */
interface Memory {
  readonly stops: Map<string, StopOutcome>;
  readonly withdrawn: Set<string>;
  readonly nudges: Map<string, NudgeDelivery>;
  /** By agent: the life that was started last, and what it was given. */
  readonly started: Map<string, { readonly incarnation: number; readonly recovery: RecoveryContext | null }>;
  /** By the life that is over: when a monitor was told last that its quota is used up. */
  readonly usedUp: Map<string, number>;
}

/** The hands on simulated agents. `portFor` gives one monitor its own: what it asked and did not live to hear, nobody hears. */
export function createHolderPorts(parts: Parts) {
  const { holders, actors, timeline, random, witness, wall } = parts;
  const memory: Memory = {
    stops: new Map(),
    withdrawn: new Set(),
    nudges: new Map(),
    started: new Map(),
    usedUp: new Map(),
  };
  const stopping = new Set<Holder>();
  /** By the life that is being started: everybody who asked for it. */
  const starting = new Map<string, ((started: Started | Error) => void)[]>();

  function mustHave(agentId: string): { actor: HeldActor; holder: Holder } | null {
    const actor = actors.get(agentId);
    const holder = holders.of(agentId);
    return actor === undefined || holder === undefined ? null : { actor, holder };
  }

  const isMute = (holder: Holder): boolean => timeline.now() < holder.muteUntil;

  /** `false`: an order of a monitor that has been replaced. */
  function admits(holder: Holder, epoch: number): boolean {
    if (epoch < holder.highestEpoch) return false;
    holder.highestEpoch = epoch;
    return true;
  }

  function stop(request: StopRequest, epoch: number, answer: (outcome: StopOutcome | Error) => void): void {
    const found = mustHave(request.agentId);
    if (found === null) return answer({ kind: "refused", because: "not-registered" });
    const { actor, holder } = found;
    if (isMute(holder)) return timeline.after(5 * second, () => answer(new Error("the holder does not answer")));
    const known = memory.stops.get(request.key);
    if (known !== undefined) return answer(known);
    if (holder.incarnation !== request.incarnation) return answer({ kind: "refused", because: "wrong-incarnation" });
    if (!admits(holder, epoch)) return answer({ kind: "refused", because: "old-epoch" });
    if (memory.withdrawn.has(request.key) || (request.notAfter !== undefined && wall() > request.notAfter))
      return answer({ kind: "refused", because: "too-late" });
    if (!actor.isAlive() || stopping.has(holder)) return answer({ kind: "already-over" });
    if (request.unlessAttached && actor.attached() > 0) return answer({ kind: "refused", because: "attached" });
    if (random.chance(0.03)) return timeline.after(5 * second, () => answer(new Error("the line was cut")));
    carryOutStop(actor, holder, request, answer);
  }

  function carryOutStop(
    actor: HeldActor,
    holder: Holder,
    request: StopRequest,
    answer: (outcome: StopOutcome | Error) => void,
  ): void {
    witness.stopped(actor, request);
    if (random.chance(0.01)) {
      const outcome: StopOutcome = { kind: "termination_incomplete", survivors: [{ pid: 4242, name: "sleeper" }] };
      memory.stops.set(request.key, outcome);
      witness.survived(actor);
      return timeline.after(request.grace + 2 * second, () => answer(outcome));
    }
    stopping.add(holder);
    const forced = random.chance(0.3);
    const takes = forced ? request.grace + random.between(100, second) : random.between(100, 0.8 * request.grace);
    timeline.after(takes, () => {
      stopping.delete(holder);
      const outcome: StopOutcome = { kind: "stopped", forced, processes: 3 };
      memory.stops.set(request.key, outcome);
      if (actor.life.incarnation === holder.incarnation && actor.isAlive())
        holders.end(actor, { code: null, signal: forced ? "SIGKILL" : "SIGTERM", cause: "stopped" });
      // It is done, and the answer is lost on the way.
      answer(random.chance(0.04) ? new Error("the line was cut") : outcome);
    });
  }

  function nudge(request: NudgeRequest, epoch: number, answer: (delivery: NudgeDelivery | Error) => void): void {
    const found = mustHave(request.agentId);
    if (found === null) return answer({ kind: "not-sent", because: "not-registered" });
    const { actor, holder } = found;
    if (isMute(holder) || random.chance(0.02))
      return timeline.after(5 * second, () => answer(new Error("the holder does not answer")));
    const known = memory.nudges.get(request.key);
    if (known !== undefined) return answer(known);
    const delivery = tryNudge(actor, holder, request, epoch);
    memory.nudges.set(request.key, delivery);
    if (delivery.kind === "sent") {
      witness.nudged(actor, request.key);
      parts.reach(actor);
    }
    // It is typed, and the answer is lost on the way.
    if (random.chance(0.03)) return timeline.after(5 * second, () => answer(new Error("the line was cut")));
    answer(delivery);
  }

  function tryNudge(
    actor: HeldActor,
    holder: Holder,
    { incarnation, notAfter }: NudgeRequest,
    epoch: number,
  ): NudgeDelivery {
    const refuse = (because: Extract<NudgeDelivery, { kind: "not-sent" }>["because"]): NudgeDelivery => ({
      kind: "not-sent",
      because,
    });
    if (holder.incarnation !== incarnation) return refuse("wrong-incarnation");
    if (!admits(holder, epoch)) return refuse("old-epoch");
    if (!actor.isAlive()) return refuse("over");
    if (holder.dead || actor.traits.input === "none") return refuse("no-input");
    if (wall() > notAfter) return refuse("expired");
    if (actor.attached() > 0) return refuse("attached");
    const { mode } = actor.life;
    if (mode.kind === "asking") return refuse("asks");
    const refusal = mode.kind === "quiet" && actor.isWell() ? quietKind(mode.as).refuses : undefined;
    if (refusal !== undefined) return refuse(refusal);
    if (actor.traits.input === "terminal" && random.chance(0.1)) return refuse("half-typed");
    return { kind: "sent", channel: actor.traits.input, echoed: actor.traits.input === "terminal" };
  }

  function startAgain(
    agentId: string,
    after: number,
    revival: Revival | null,
    answer: (started: Started | Error) => void,
  ): void {
    const actor = actors.get(agentId);
    if (actor === undefined) return answer({ problem: "nothing is written down of how it was started" });
    if (actor.life.incarnation > after) {
      const last = memory.started.get(agentId);
      const recovery = last?.incarnation === actor.life.incarnation ? last.recovery : null;
      return answer({ incarnation: actor.life.incarnation, recovery });
    }
    if (actor.isAlive()) return answer({ problem: `${agentId} still runs; stop it first` });
    if (timeline.now() < actor.respawnFailsUntil) return answer({ problem: "the command is not there" });
    const life = `${agentId}/${after + 1}`;
    const waiting = starting.get(life);
    if (waiting !== undefined) return void waiting.push(answer);
    if (random.chance(0.02)) return timeline.after(5 * second, () => answer(new Error("out of memory")));
    const context = revival?.context ?? null;
    starting.set(life, [answer]);
    timeline.after(random.between(300, 4 * second), () => finishStart(actor, after, context));
  }

  /** Some programs cannot say, some do not answer, and some name no reset. */
  function askQuota(agentId: string, after: number, answer: (quota: Quota) => void): void {
    const actor = actors.get(agentId);
    const unknown = (because: Extract<Quota, { kind: "unknown" }>["because"]): Quota => ({ kind: "unknown", because });
    if (actor === undefined || actor.life.incarnation > after) return answer(unknown("begun"));
    if (agentId.endsWith("3")) return answer(unknown("no-way"));
    if (random.chance(0.1)) return timeline.after(15 * second, () => answer(unknown("no-answer")));
    timeline.after(random.between(300, 5 * second), () => {
      const left = (actor.limit?.overAt ?? 0) - timeline.now();
      if (left <= 0) return answer({ kind: "free" });
      answer({ kind: "used-up", resetsInMs: random.chance(0.8) ? left : null });
    });
  }

  function finishStart(actor: HeldActor, after: number, context: RecoveryContext | null): void {
    const life = `${actor.id}/${after + 1}`;
    const waiting = starting.get(life) ?? [];
    starting.delete(life);
    const isFirst = actor.life.incarnation === after;
    if (isFirst) {
      witness.revived(actor, context);
      parts.startLife(actor, context);
      memory.started.set(actor.id, { incarnation: actor.life.incarnation, recovery: context });
    }
    // It is done and the answer is lost on the way, or a person was quicker.
    const lost = random.chance(0.03);
    const started: Started = { incarnation: actor.life.incarnation, recovery: isFirst ? context : null };
    for (const answer of waiting) answer(lost ? new Error("the line was cut") : started);
  }

  function lookAnew(): void {
    for (const actor of actors.values()) {
      const holder = holders.of(actor.id);
      if (holder === undefined || holder.dead || isMute(holder)) continue;
      if (actor.isAlive() && actor.life.incarnation === holder.incarnation) holders.lookAt(holder);
    }
  }

  /** `toMonitor` gives an answer in the monitor's own turn, and to nobody once that monitor is dead. */
  function portFor(toMonitor: (callback: () => void) => void, isDead: () => boolean): Holders {
    let epoch = 0;
    const asked = <T>(ask: (answer: (given: T | Error) => void) => void): Promise<T> =>
      new Promise((resolve, reject) => {
        if (isDead()) return;
        const answer = (given: T | Error): void =>
          toMonitor(() => (given instanceof Error ? reject(given) : resolve(given)));
        // On its way for a moment, in which the monitor may die; what was sent arrives all the same.
        timeline.after(random.between(1, 40), () => ask(answer));
      });
    return {
      async begin(news, itsEpoch) {
        if (isDead()) return;
        epoch = itsEpoch;
        holders.listen(news, itsEpoch);
      },
      stop(request) {
        witness.stopWanted(request);
        return asked((answer) => stop(request, epoch, answer));
      },
      withdrawStop: async ({ key }) => void memory.withdrawn.add(key),
      nudge: (request) => asked((answer) => nudge(request, epoch, answer)),
      // Its agents have no hooks.
      contain: (_) => asked((answer) => answer({ kind: "not-contained", because: "no-hooks" })),
      async quotaOf(agentId, after) {
        const quota = await asked<Quota>((answer) => askQuota(agentId, after, answer));
        if (quota.kind === "used-up") memory.usedUp.set(`${agentId}/${after}`, timeline.now());
        return quota;
      },
      startAgain(agentId, after, revival) {
        const actor = actors.get(agentId);
        const wasTold = timeline.now() - (memory.usedUp.get(`${agentId}/${after}`) ?? -hour) < 30 * second;
        const limit = actor?.limit ?? null;
        // The monitor knows by then whether somebody ordered the end.
        if (actor !== undefined && limit !== null && wasTold)
          timeline.after(10 * second, () => witness.startWantedAtLimit(actor, limit));
        return asked((answer) => startAgain(agentId, after, revival, answer));
      },
      forget: async (agentId) => !actors.has(agentId),
      folderOf: (agentId) => (actors.has(agentId) ? `/work/${agentId}` : null),
      keptDownAt: () => null,
      settle: () => undefined,
      lookAnew() {
        if (!isDead()) timeline.after(random.between(1, 40), lookAnew);
      },
      close: async () => undefined,
    };
  }

  return { portFor };
}

export type HolderPorts = ReturnType<typeof createHolderPorts>;
