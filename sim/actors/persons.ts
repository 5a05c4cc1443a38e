import type { HolderWorld } from "../world/holders.ts";
import type { Speak } from "../world/monitor-world.ts";
import type { Random } from "../world/random.ts";
import type { Timeline } from "../world/virtual-time.ts";
import type { HeldActor } from "./held-actor.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

interface Parts {
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly holders: HolderWorld;
  readonly speak: Speak;
  /** What the monitor has saved of the agent: an open incident, or one that was handed to a person. */
  readonly standing: (agentId: string) => { readonly incident: boolean; readonly handedOver: boolean };
  readonly startByHand: (actor: HeldActor, nextTask: boolean) => void;
  readonly cure: (actor: HeldActor) => void;
  readonly noteHelp: (actor: HeldActor) => void;
  readonly noteAttached: (actor: HeldActor) => void;
  /** When people go to bed, in hours of the day. */
  readonly bedtime: number;
  readonly freezes: { began(): void; ends(): void };
}

const order = { actor: "owner", reason: "simulated", force: true };

/** Every night. */
const asleepFor = 10 * hour;

/**
 * People: they look after what they were called for, visit terminals, give orders, and freeze everything now and then. At night they sleep, whatever
 * rings.
 */
export function planPersons(parts: Parts): void {
  const { actors, timeline, random, holders, speak } = parts;

  const isAwake = (): boolean => (timeline.now() + (24 - parts.bedtime) * hour) % (24 * hour) >= asleepFor;

  /** What nobody else is at work on, a person takes care of. */
  function lookAfter(actor: HeldActor): void {
    if (actor.isWell() && holders.of(actor.id)?.dead !== true) return;
    // A person who looks at the terminal sees until when the limit lasts, and waits for that.
    if (timeline.now() < (actor.downAtLimitUntil() ?? 0) + 10 * minute && !random.chance(0.02)) return;
    const { incident, handedOver } = parts.standing(actor.id);
    // Now and then a person acts beside the monitor.
    if (incident && !random.chance(0.02)) return;
    if (!actor.isAlive()) return bringBack(actor);
    if (!handedOver && holders.of(actor.id)?.dead !== true) return;
    parts.noteHelp(actor);
    actor.chronic = null;
    actor.respawnFailsUntil = 0;
    if (actor.life.sickness !== null && random.chance(0.5)) parts.cure(actor);
    else speak((to) => to.recover(actor.id, order));
  }

  function bringBack(actor: HeldActor): void {
    parts.noteHelp(actor);
    actor.chronic = null;
    actor.respawnFailsUntil = 0;
    if (!actor.life.finished && random.chance(0.4)) speak((to) => to.recover(actor.id, order));
    else parts.startByHand(actor, actor.life.finished || random.chance(0.5));
  }

  function visit(actor: HeldActor): void {
    const { life } = actor;
    const holder = holders.of(actor.id);
    if (!actor.isAlive() || holder === undefined) return;
    life.visitors += 1;
    parts.noteAttached(actor);
    holders.report(holder, []);
    timeline.after(random.between(minute, hour), () => {
      life.visitors -= 1;
      if (actor.life !== life || !actor.isAlive()) return;
      parts.noteAttached(actor);
      holders.report(holder, []);
    });
  }

  function freeze(): void {
    const lasts = random.between(2 * minute, 40 * minute);
    let isOver = false;
    speak((to) =>
      to.freeze("operator", "simulated").then(() => {
        // A monitor that was held up for longer than that hears of both at once.
        if (!isOver) parts.freezes.began();
      }),
    );
    timeline.after(lasts, () => {
      isOver = true;
      parts.freezes.ends();
    });
    // Said until it must have been heard: a monitor that dies in between hears it never, or twice.
    for (const again of [0, 30 * second, 3 * minute, 6 * minute])
      timeline.after(lasts + again, () => speak((to) => to.thaw("operator", "simulated")));
  }

  const now = (mean: number, act: (actor: HeldActor) => void): void =>
    timeline.after(random.until(mean / Math.max(1, actors.size)), () => {
      const actor = random.pick([...actors.values()]);
      if (isAwake()) act(actor);
      now(mean, act);
    });

  const caring = (actor: HeldActor): void =>
    timeline.after(random.between(15 * minute, 40 * minute), () => {
      if (isAwake()) lookAfter(actor);
      caring(actor);
    });
  const freezing = (): void =>
    timeline.after(random.until(30 * hour), () => {
      if (isAwake()) freeze();
      timeline.after(hour, freezing);
    });

  if (actors.size === 0) return;
  for (const actor of actors.values()) caring(actor);
  freezing();
  now(60 * hour, visit);
  now(200 * hour, ({ id }) => speak((to) => to.terminate(id, order)));
  now(200 * hour, ({ id }) => speak((to) => to.recover(id, order)));
  now(300 * hour, ({ id }) => speak((to) => to.help.words.nudge(id, "operator", null)));
  now(300 * hour, ({ id }) => speak((to) => to.help.words.escalate(id, "operator", "simulated")));
}
