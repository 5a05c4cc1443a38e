import type { ExitStatus } from "@rouse/contract";
import type { HolderWorld } from "../world/holders.ts";
import type { Random } from "../world/random.ts";
import type { Timeline } from "../world/virtual-time.ts";
import type { HeldActor } from "./held-actor.ts";
import type { HeldSickness } from "./held-life.ts";
import type { Terminals } from "./show-terminal.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

interface Parts {
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly holders: HolderWorld;
  /** Shows the monitor that the sickness is over. */
  readonly show: (actor: HeldActor) => void;
  /** It has fallen ill. */
  readonly noteIll: (actor: HeldActor) => void;
  readonly noteDeath: (actor: HeldActor) => void;
  /** Agents that nobody holds. */
  readonly others: number;
  readonly noteMassDeath: (agents: readonly string[]) => void;
  readonly terminals: Terminals;
}

/** What goes wrong with held agents: they crash, flap, get stuck, hang, go round, fail, lose their holder. And some simply finish. */
export function createHeldSicknesses(parts: Parts) {
  const { actors, timeline, random, holders, show, noteDeath, noteIll, terminals } = parts;

  const isSameLife = (actor: HeldActor, incarnation: number): boolean =>
    actor.life.incarnation === incarnation && actor.isAlive();

  function crash(actor: HeldActor): void {
    if (!actor.isAlive()) return;
    if (random.chance(0.06)) actor.respawnFailsUntil = timeline.now() + random.between(20 * second, 5 * minute);
    else if (random.chance(0.015)) actor.respawnFailsUntil = Number.POSITIVE_INFINITY;
    const exit: ExitStatus = random.chance(0.6)
      ? { code: random.whole(1, 3), signal: null, cause: "by-itself" }
      : { code: null, signal: random.pick(["SIGKILL", "SIGSEGV"]), cause: "killed" };
    noteDeath(actor);
    holders.end(actor, exit);
  }

  /** The exit status is 0, or anything after the agent said that it is done. */
  function finish(actor: HeldActor): void {
    if (!actor.isWell() || actor.life.mode.kind !== "working") return;
    actor.life.finished = true;
    const holder = holders.of(actor.id);
    const marked = random.chance(0.3) && holder !== undefined && !holder.dead;
    if (marked) holders.report(holder, [{ kind: "completed", pattern: "marker" }]);
    holders.end(actor, { code: marked && random.chance(0.3) ? 1 : 0, signal: null, cause: "by-itself" });
  }

  function sicken(actor: HeldActor, wanted: HeldSickness["kind"]): void {
    if (!actor.isWell()) return;
    const { incarnation, mode } = actor.life;
    // An announced tool or wait would hide the sickness, so the agent falls ill once it is at work again.
    if (mode.kind !== "working")
      return timeline.after(5 * minute, () => {
        if (isSameLife(actor, incarnation)) sicken(actor, wanted);
      });
    const kind = chooseKind(actor, wanted);
    const busy = random.chance(
      kind === "looping" || kind === "failing" ? 0.3 : kind === "hung" || kind === "stuck" ? 0.05 : 0,
    );
    const sickness: HeldSickness = { kind, since: timeline.now(), busy, reacts: random.pick([0, 0.3, 0.7]) };
    // The work since the last look is reported before the call that hangs.
    const holder = holders.of(actor.id);
    if ((kind === "request" || kind === "tool") && holder !== undefined)
      holders.report(holder, terminals.showHang(kind));
    actor.fallIll(sickness);
    noteIll(actor);
    if (actor.chronic === null && random.chance(0.3))
      timeline.after(random.between(minute, 90 * minute), () => {
        if (isSameLife(actor, incarnation) && actor.life.sickness === sickness) cure(actor);
      });
  }

  /** Failures show only in regular beats. A stream stands still in the middle of a call. */
  function chooseKind({ traits }: HeldActor, wanted: HeldSickness["kind"]): HeldSickness["kind"] {
    const tells = traits.beats && (traits.rhythm === "minutes" || traits.rhythm === "seconds");
    const kind = wanted === "failing" && !tells ? "stuck" : wanted;
    if (kind !== "stuck" || !traits.structured) return kind;
    return random.chance(0.5) ? "request" : "tool";
  }

  function cure(actor: HeldActor): void {
    actor.comeRound(timeline.now());
    show(actor);
  }

  /** Soon after every start the same again, until somebody looks into it. */
  function relapse(actor: HeldActor): void {
    const { chronic, life } = actor;
    if (chronic === null) return;
    const after =
      chronic === "crash" ? random.between(5 * second, 2 * minute) : random.between(30 * second, 12 * minute);
    timeline.after(after, () => {
      if (!isSameLife(actor, life.incarnation) || actor.chronic !== chronic) return;
      if (chronic === "crash") crash(actor);
      else sicken(actor, chronic);
    });
  }

  function strike(actor: HeldActor): void {
    const roll = random.next();
    const kinds = ["stuck", "hung", "looping", "failing"] as const;
    if (roll < 0.35) return crash(actor);
    if (roll < 0.45) {
      actor.chronic = "crash";
      const flapsFor = random.between(5 * minute, 2 * hour);
      timeline.after(flapsFor, () => {
        if (actor.chronic === "crash") actor.chronic = null;
      });
      return crash(actor);
    }
    if (roll < 0.49) return holders.mute(actor.id, random.between(5 * second, 6 * minute));
    if (roll < 0.5) return killHolder(actor);
    const kind = random.pick(kinds);
    if (random.chance(0.1)) actor.chronic = kind;
    sicken(actor, kind);
  }

  /** Only a holder that the monitor has met: what such a holder leaves behind is enough to find the agent by. */
  function killHolder(actor: HeldActor): void {
    const holder = holders.of(actor.id);
    if (holder?.met && holder.unheard.length === 0 && actor.isAlive()) holders.kill(actor.id);
  }

  /** Many at once, as when a provider goes down: more than the budget lets anybody stop at once. */
  function planOutbreaks(): void {
    timeline.after(random.until(14 * hour), () => {
      const all = [...actors.values()];
      const kind = random.pick(["stuck", "hung", "looping"] as const);
      for (let n = random.whole(5, 25); n > 0; n--) sicken(random.pick(all), kind);
      planOutbreaks();
    });
  }

  /** Most of them at once, as when their machine runs out of memory. */
  function planMassDeaths(): void {
    timeline.after(random.until(20 * hour), () => {
      const alive = [...actors.values()].filter((actor) => actor.isAlive());
      const killed = alive.filter(() => random.chance(0.9));
      // Clearly more than the share that makes it one matter.
      if (killed.length >= 5 && killed.length >= 0.4 * (alive.length + parts.others)) {
        parts.noteMassDeath(killed.map(({ id }) => id));
        for (const actor of killed) crash(actor);
      }
      planMassDeaths();
    });
  }

  /** Once everybody has been started. */
  function plan(): void {
    const strikes = (actor: HeldActor): void =>
      // The few with an owner's rule are ill more often, so that half a day shows what the rule does.
      timeline.after(random.until((hasRule(actor) ? 5 : 16) * hour), () => {
        if (actor.isWell()) strike(actor);
        strikes(actor);
      });
    const ends = (actor: HeldActor): void =>
      timeline.after(random.until(14 * hour), () => {
        finish(actor);
        ends(actor);
      });
    if (actors.size > 0)
      timeline.plan(6 * minute, () => {
        planOutbreaks();
        planMassDeaths();
      });
    for (const actor of actors.values())
      timeline.plan(6 * minute, () => {
        strikes(actor);
        ends(actor);
      });
  }

  return { plan, relapse, cure };
}

const hasRule = ({ traits }: HeldActor): boolean => traits.idleKill !== null || traits.rhythm === "seconds";

export type HeldSicknesses = ReturnType<typeof createHeldSicknesses>;

interface Starvation {
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly holders: HolderWorld;
  readonly slowMonitor: (lasts: number) => void;
}

/** The machine has more to do than it can: whoever lives on its crowded part does everything late, all at once, and so does the monitor. */
export function planStarvation({ actors, timeline, random, holders, slowMonitor }: Starvation): void {
  const crowded = [...actors.values()].filter(({ traits }) => traits.quiet === "starved");
  if (crowded.length === 0) return;

  function starve(): void {
    const until = timeline.now() + random.between(20 * minute, 100 * minute);
    slowMonitor(until - timeline.now());
    for (const actor of crowded) {
      if (!actor.isWell() || actor.life.mode.kind !== "working") continue;
      actor.life.mode = actor.beQuiet("starved", timeline.now(), until + random.between(0, 5 * minute));
      const holder = holders.of(actor.id);
      if (holder !== undefined) holders.report(holder, []);
    }
  }

  const again = (mean: number): void =>
    timeline.after(random.until(mean), () => {
      starve();
      again(8 * hour);
    });
  again(2 * hour);
}
