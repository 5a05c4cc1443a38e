import { type ExitStatus, Fault, type HolderInfo, type HolderReport, type Sight } from "@rouse/contract";
import type { HolderNews } from "../../packages/daemon/src/ports/holders.ts";
import type { Eyes } from "../actors/eyes.ts";
import type { HeldActor } from "../actors/held-actor.ts";
import type { Terminals } from "../actors/show-terminal.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

const second = 1000;
/** A holder that does not answer is noticed after this long. */
const silentFor = 27 * second;
const tryAgainAfter = second;

/** The holder of one life: it keeps what it saw until a monitor has it in writing, and outlives every monitor. */
export interface Holder {
  readonly actor: HeldActor;
  readonly incarnation: number;
  readonly hold: HolderInfo;
  unheard: { readonly report: HolderReport; readonly shows: boolean }[];
  lastSeq: number;
  bytes: number;
  rows: number;
  lastAt: number | null;
  /** When something was last seen of it that it wrote. */
  newsAt: number;
  /** The monitor it speaks with has met it. */
  met: boolean;
  carrying: boolean;
  /** The monitor knows everything about this life. */
  over: boolean;
  /** It does not answer from then until then. */
  muteFrom: number;
  muteUntil: number;
  silenceTold: boolean;
  /** Its process was killed; the agent's may live on. */
  dead: boolean;
  highestEpoch: number;
}

interface Parts {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly terminals: Terminals;
  readonly eyes: Eyes;
  readonly wall: () => number;
  /** It has begun something else. */
  readonly announce: (actor: HeldActor) => void;
}

/** All holders of this machine, and what they see of their agents. */
export function createHolders({ timeline, random, terminals, eyes, wall, announce }: Parts) {
  const holders = new Map<string, Holder>();
  const telling = createTelling(timeline);

  function take(actor: HeldActor): Holder {
    const { life, traits, id } = actor;
    const { incarnation, pid, startedAt, foreground, taskId } = life;
    const { structured, policy, input, idleKill } = traits;
    const family = structured ? "claude-code" : "generic";
    const startedWall = wall() - (timeline.now() - startedAt);
    const kind = { family, structured, foreground, input } as const;
    const hold: HolderInfo = {
      agentId: id,
      agentType: null,
      taskId,
      policy,
      incarnation,
      pid,
      startedAt: startedWall,
      idleKillMs: idleKill,
      ...kind,
    };
    const holder: Holder = {
      actor,
      incarnation,
      hold,
      unheard: [],
      lastSeq: 0,
      bytes: 0,
      rows: 0,
      lastAt: null,
      newsAt: timeline.now(),
      met: false,
      carrying: false,
      over: false,
      muteFrom: 0,
      muteUntil: 0,
      silenceTold: false,
      dead: false,
      highestEpoch: 0,
    };
    holders.set(id, holder);
    telling.wants(holder);
    report(holder, []);
    follow(holder);
    return holder;
  }

  /** A sign of life every so often, and whatever was seen since. */
  function follow(holder: Holder): void {
    const { actor, incarnation } = holder;
    timeline.after(signOfLifeAfter(actor), () => {
      if (actor.life.incarnation !== incarnation || !actor.isAlive() || holder.dead) return;
      lookAt(holder);
      follow(holder);
    });
  }

  /**
   * Real ones give a sign of life every ten seconds. These spare the simulation most of them: it takes two readings of its processes within two
   * minutes to know that an agent is at rest, and less than one in five to know that it is there.
   */
  function signOfLifeAfter({ life: { sickness, mode }, traits }: HeldActor): number {
    if (traits.rhythm === "seconds") return 20 * second;
    // Holders on a starved machine are late as well.
    if (mode.kind === "quiet" && mode.as === "starved") return random.between(100 * second, 290 * second);
    if (sickness !== null || mode.kind === "thinking" || mode.kind === "building")
      return random.between(95 * second, 115 * second);
    return mode.kind === "working"
      ? random.between(120 * second, 200 * second)
      : random.between(180 * second, 250 * second);
  }

  function lookAt(holder: Holder): void {
    const { actor } = holder;
    const before = actor.life.mode;
    const now = timeline.now();
    const changed = actor.liveUntil(now);
    const sights = changed ? terminals.showChange(before, actor.life.mode, actor, now) : [];
    report(holder, [...sights, ...terminals.showWork(actor)]);
    if (changed && before.kind !== actor.life.mode.kind) announce(actor);
  }

  /** `shows`: whoever reads it knows that the agent is well. */
  function report(holder: Holder, sights: Sight[], exit: ExitStatus | null = null, shows = false): void {
    if (holder.dead) return;
    const { actor } = holder;
    const now = timeline.now();
    noteNews(holder, sights);
    const rows = sights.reduce((sum, sight) => sum + (sight.kind === "output" ? sight.rows : 0), 0);
    if (sights.length > 0) holder.lastAt = wall();
    holder.rows += rows;
    holder.bytes += 40 * rows;
    holder.lastSeq += 1;
    const { bytes, lastAt } = holder;
    const written: HolderReport = {
      seq: holder.lastSeq,
      at: wall(),
      sights,
      output: { bytes, rows: holder.rows, lastAt },
      // Now and then nobody can look at the processes.
      process: exit !== null || random.chance(0.01) ? null : eyes.look(actor.id, actor.measure(now, wall())),
      attached: exit === null ? actor.attached() : 0,
      fullScreen: false,
      outputKept: true,
      exit,
    };
    holder.unheard.push({ report: written, shows });
    telling.wants(holder);
  }

  function noteNews(holder: Holder, sights: readonly Sight[]): void {
    if (!sights.some((sight) => sight.kind !== "output" || sight.rows > 0)) return;
    holder.actor.longestQuiet = Math.max(holder.actor.longestQuiet, timeline.now() - holder.newsAt);
    holder.newsAt = timeline.now();
  }

  return {
    take,
    lookAt,
    report,
    deliver: telling.deliver,
    of: (agentId: string): Holder | undefined => holders.get(agentId),
    listen: (news: HolderNews, epoch: number): void => telling.listen(news, epoch, holders.values()),
    hangUp: telling.hangUp,
    /** The agent's process is over. */
    end(actor: HeldActor, exit: ExitStatus): void {
      const holder = holders.get(actor.id);
      actor.life.exit = { ...exit, at: timeline.now() };
      if (holder === undefined) return;
      if (holder.dead) telling.wants(holder);
      else report(holder, [], exit);
    },
    mute(agentId: string, lasts: number): void {
      const holder = holders.get(agentId);
      if (holder === undefined) return;
      holder.muteFrom = timeline.now();
      holder.muteUntil = timeline.now() + lasts;
      holder.silenceTold = false;
      timeline.after(silentFor + second, () => telling.wants(holder));
      timeline.after(lasts + 1, () => telling.wants(holder));
    },
    kill(agentId: string): void {
      const holder = holders.get(agentId);
      if (holder === undefined) return;
      holder.dead = true;
      holder.silenceTold = false;
      holder.unheard = [];
      telling.wants(holder);
    },
  };
}

export type HolderWorld = ReturnType<typeof createHolders>;

/** The monitor that listens. */
interface Listener {
  readonly news: HolderNews;
  readonly epoch: number;
  readonly since: number;
}

/** Tells whichever monitor is there what holders saw: in order, until it is saved, and again from where the last one left off. */
function createTelling(timeline: Timeline) {
  /** Holders with something to tell. */
  let eager = new Set<Holder>();
  let listener: Listener | null = null;

  /** Carries what there is to tell to the monitor; called in its turn. */
  function deliver(): void {
    if (listener === null || eager.size === 0) return;
    const waiting = eager;
    eager = new Set();
    for (const holder of waiting) carry(holder, listener);
  }

  function carry(holder: Holder, to: Listener): void {
    if (holder.carrying || holder.over) return;
    if (holder.dead) return tellLoss(holder, to);
    if (timeline.now() < holder.muteUntil) return tellSilence(holder, to);
    const next = holder.unheard[0];
    if (holder.met && next === undefined) return;
    holder.carrying = true;
    const said = holder.met && next !== undefined ? tell(holder, next, to) : meet(holder, to);
    said.then(
      () => goOn(holder, to),
      (error: unknown) => {
        if (!(error instanceof Fault)) throw error;
        comeAgain(holder, to);
      },
    );
  }

  function goOn(holder: Holder, to: Listener): void {
    if (to !== listener) return;
    holder.carrying = false;
    if (holder.over || (holder.met && holder.unheard.length === 0)) return;
    carry(holder, to);
  }

  /** The store is down: the holder tries again a moment later. */
  function comeAgain(holder: Holder, to: Listener): void {
    timeline.after(tryAgainAfter, () => {
      if (to !== listener) return;
      holder.carrying = false;
      eager.add(holder);
    });
  }

  async function meet(holder: Holder, to: Listener): Promise<void> {
    const known = await to.news.held(holder.hold, holder.actor.life.startedAt < to.since);
    if (to !== listener) return;
    if (known === null) {
      holder.over = true;
      return;
    }
    holder.met = true;
    holder.silenceTold = false;
    holder.highestEpoch = Math.max(holder.highestEpoch, to.epoch);
    holder.unheard = holder.unheard.filter(({ report }) => report.seq > known.lastReport);
    if (holder.unheard.length === 0 && holder.actor.life.incarnation !== holder.incarnation) holder.over = true;
  }

  async function tell(holder: Holder, { report, shows }: Holder["unheard"][number], to: Listener): Promise<void> {
    await to.news.reported(holder.actor.id, holder.incarnation, report);
    if (to !== listener) return;
    holder.unheard.shift();
    if (shows && holder.actor.life.incarnation === holder.incarnation) holder.actor.noteSeen("report", timeline.now());
    if (report.exit !== null) holder.over = true;
  }

  /** The holder does not answer: the monitor is told whether the agent's own process lives. */
  function tellSilence(holder: Holder, to: Listener): void {
    if (holder.silenceTold || !holder.met || timeline.now() < holder.muteFrom + silentFor) return;
    holder.silenceTold = true;
    to.news.lost(holder.actor.id, holder.incarnation, isThere(holder) ? "alive" : "gone", null).catch(() => undefined);
  }

  const isThere = ({ actor, incarnation }: Holder): boolean =>
    actor.life.incarnation === incarnation && actor.isAlive();

  /** Its holder is gone: the process itself is looked at until it is over. */
  function tellLoss(holder: Holder, to: Listener): void {
    if (!holder.met) return void meetDead(holder, to);
    const isAlive = isThere(holder);
    if (isAlive && holder.silenceTold) return;
    holder.carrying = true;
    to.news.lost(holder.actor.id, holder.incarnation, isAlive ? "alive" : "gone", null).then(
      () => {
        if (to !== listener) return;
        holder.carrying = false;
        if (isAlive) holder.silenceTold = true;
        else holder.over = true;
      },
      () => comeAgain(holder, to),
    );
  }

  /** A monitor that finds only what a dead holder left behind tells of it once its agent is over; one that knew it goes on knowing it. */
  function meetDead(holder: Holder, to: Listener): void {
    const known = to.news.standing(holder.actor.id);
    if (known === null || known.incarnation < holder.incarnation) return;
    holder.met = true;
    holder.silenceTold = false;
    if (known.over || known.incarnation > holder.incarnation) holder.over = true;
    else carry(holder, to);
  }

  return {
    deliver,
    wants: (holder: Holder): void => void eager.add(holder),
    /** A monitor is there: it finds everybody. */
    listen(news: HolderNews, epoch: number, holders: Iterable<Holder>): void {
      listener = { news, epoch, since: timeline.now() };
      for (const holder of holders) {
        holder.met = false;
        holder.carrying = false;
        if (!holder.over) eager.add(holder);
      }
    },
    hangUp(): void {
      listener = null;
    },
  };
}
