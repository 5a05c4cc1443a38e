import type { Judge } from "../judges/judge.ts";
import type { Random } from "../world/random.ts";
import type { Timeline } from "../world/virtual-time.ts";
import type { Actor } from "./actor.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

interface Parts {
  readonly actors: ReadonlyMap<string, Actor>;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly judge: Judge;
  live(actor: Actor): void;
  register(actor: Actor): void;
}

/** What goes wrong with agents: they die and are replaced, hang and come back, flap, get stuck, fail. Each some times a week. */
export function planSicknesses(parts: Parts): void {
  const { timeline, random, judge } = parts;

  const fallSilent = (actor: Actor, kind: "dead" | "hung"): void => {
    const since = timeline.now();
    actor.sickness = { kind, since, during: actor.mode.kind, announcedUntil: actor.announcedUntil(since) };
  };

  const die = (actor: Actor): void => {
    fallSilent(actor, "dead");
    timeline.after(random.between(2 * minute, 40 * minute), () => {
      judge.noteCure(actor);
      actor.revive(timeline.now());
      const slow = random.chance(0.5);
      if (slow) parts.register(actor);
      timeline.after(slow ? random.between(5 * second, 50 * second) : 0, () => parts.live(actor));
    });
  };

  const hang = (actor: Actor, lasts: number): void => {
    fallSilent(actor, "hung");
    timeline.after(lasts, () => {
      judge.noteCure(actor);
      actor.sickness = null;
      parts.live(actor);
    });
  };

  const flap = (actor: Actor, times: number): void => {
    if (times === 0 || actor.sickness !== null) return;
    hang(actor, random.between(5 * second, 40 * second));
    timeline.after(random.between(minute, 3 * minute), () => flap(actor, times - 1));
  };

  const sicken = (actor: Actor, kind: "stuck" | "failing", lasts: number): void => {
    if (actor.mode.kind !== "working") return;
    actor.sickness = { kind, since: timeline.now() };
    timeline.after(lasts, () => {
      judge.noteCure(actor);
      actor.sickness = null;
    });
  };

  const again = (actor: Actor): void => {
    timeline.after(random.until(20 * hour), () => {
      if (actor.sickness === null) {
        const roll = random.next();
        if (roll < 0.4) die(actor);
        else if (roll < 0.55) hang(actor, random.between(minute, 30 * minute));
        else if (roll < 0.7) flap(actor, random.whole(2, 6));
        else if (roll < 0.9) sicken(actor, "stuck", random.between(40 * minute, 90 * minute));
        else sicken(actor, "failing", random.between(20 * minute, 40 * minute));
      }
      again(actor);
    });
  };
  for (const actor of parts.actors.values()) again(actor);
}
