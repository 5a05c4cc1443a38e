import type { Sight } from "@rouse/contract";
import type { HolderWorld } from "../world/holders.ts";
import type { Random } from "../world/random.ts";
import type { Timeline } from "../world/virtual-time.ts";
import type { HeldActor } from "./held-actor.ts";
import type { LimitEnd } from "./held-life.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

interface Parts {
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly holders: HolderWorld;
}

/** Providers' limits: of one agent or of a whole fleet at once, with a reset that is named or not; the program dies of it, waits at its prompt or goes on by itself. */
export function createLimits({ actors, timeline, random, holders }: Parts) {
  function reach(actor: HeldActor, resetAt: number, named: boolean, end: LimitEnd, overAt = resetAt): void {
    const { life, traits } = actor;
    const holder = holders.of(actor.id);
    if (!actor.isWell() || life.mode.kind !== "working" || holder === undefined || holder.dead) return;
    const now = timeline.now();
    const { incarnation } = life;
    actor.limit = { since: now, resetAt, named, overAt, end, incarnation, knownAt: null, left: false };
    // Words on a screen name the minute.
    const told = traits.structured ? resetAt : Math.floor(resetAt / minute) * minute;
    const sight: Sight = {
      kind: "rate-limited",
      pattern: "limit-hit",
      resetsInMs: named ? Math.max(0, told - now) : null,
      ...(traits.structured ? {} : { withinMs: minute }),
      by: traits.structured ? "stream" : "text",
      what: "usage",
      continues: end === "continues",
    };
    holders.report(holder, [sight]);
    if (end === "dies") return holders.end(actor, { code: 1, signal: null, cause: "by-itself" });
    // Whoever waits is told to go on by a person, who takes a while; whoever goes on by itself takes a moment.
    const until = resetAt + (end === "waits" ? random.between(2 * minute, hour) : random.between(2 * second, minute));
    const asks = end === "waits" && !traits.structured && !traits.mute;
    life.mode = { kind: "limited", until, asks };
    if (asks) holders.report(holder, [{ kind: "asks", what: "prompt", pattern: "prompt" }]);
  }

  const anyEnd = (): LimitEnd => random.pick(["dies", "dies", "waits", "continues"] as const);

  /** Sometimes the quota is not back at the reset. A program that waits at its limit finds that out by itself. */
  const reallyOver = (resetAt: number, end: LimitEnd): number =>
    end === "dies" && random.chance(0.4) ? resetAt + random.between(10 * minute, 4 * hour) : resetAt;

  function planSingle(actor: HeldActor): void {
    timeline.after(random.until(7 * hour), () => {
      const resetAt = timeline.now() + random.between(2 * minute, 5 * hour);
      const end = anyEnd();
      reach(actor, resetAt, random.chance(0.7), end, reallyOver(resetAt, end));
      planSingle(actor);
    });
  }

  function planFleet(): void {
    timeline.after(random.until(9 * hour), () => {
      const resetAt = timeline.now() + random.between(10 * minute, 4 * hour);
      for (const actor of actors.values())
        if (random.chance(0.6))
          timeline.after(random.between(0, 5 * minute), () => {
            const end = anyEnd();
            reach(actor, resetAt, true, end, reallyOver(resetAt, end));
          });
      planFleet();
    });
  }

  return {
    plan(): void {
      if (actors.size > 0) timeline.plan(6 * minute, planFleet);
      for (const actor of actors.values()) timeline.plan(6 * minute, () => planSingle(actor));
    },
    /** A new life before the limit is over runs into it at once. */
    follow(actor: HeldActor): void {
      const { limit, life } = actor;
      if (limit === null || limit.end !== "dies") return;
      if (timeline.now() >= limit.overAt) {
        actor.limit = null;
        return;
      }
      timeline.after(random.between(3 * second, 20 * second), () => {
        if (actor.life !== life || actor.limit !== limit) return;
        if (timeline.now() < limit.overAt) reach(actor, limit.overAt, limit.named, "dies");
        else actor.limit = null;
      });
    },
  };
}
