import type { Actor } from "../actors/actor.ts";
import type { MonitorWorld } from "./monitor-world.ts";
import type { Network } from "./network.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

interface Parts {
  readonly world: MonitorWorld;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly network: Network;
  readonly actors: ReadonlyMap<string, Actor>;
  /** Held agents that beat are cut off like everybody else. */
  readonly others: readonly string[];
  /** What goes wrong with the hands. */
  readonly hands: { readonly folders: Failing; readonly orchestrator: Failing } | null;
}

interface Failing {
  fail(lasts: number): void;
}

/** What goes wrong with the monitor and the path to it: one fault after the other, on average every hour and a half. */
export function planFaults(parts: Parts): void {
  const { world, timeline, random, network, actors, others, hands } = parts;

  /** Until when the monitor cannot be blamed for what it could not see. */
  const fault = (lasts: number): void => {
    world.faultUntil = Math.max(world.faultUntil, timeline.now() + lasts);
    world.faults.push({ from: timeline.now(), to: timeline.now() + lasts });
  };

  const blind = (lasts: number): void => {
    world.blind.push({ from: timeline.now(), to: timeline.now() + lasts });
  };

  /** Where agents are held, a second crash may follow soon after the restart: that is when something could be done twice. */
  const crash = (downFor: number): void => {
    world.crash(downFor);
    if (hands === null || !random.chance(0.3)) return;
    timeline.after(downFor + random.between(100, 90 * second), () => world.crash(random.between(second, minute)));
  };

  const faults: Record<string, () => void> = {
    stall() {
      const lasts = random.between(3 * second, minute);
      world.stalledUntil = timeline.now() + lasts;
      fault(lasts);
      blind(lasts);
    },
    suspend() {
      const lasts = random.chance(0.1) ? random.between(hour, 8 * hour) : random.between(30 * second, 20 * minute);
      world.stalledUntil = timeline.now() + lasts;
      world.deaf = true;
      world.suspendedSince = timeline.now();
      fault(lasts);
      blind(lasts);
      timeline.after(lasts, () => {
        world.suspended += lasts;
        world.suspendedSince = null;
        world.deaf = false;
      });
    },
    "clock step"() {
      world.wallOffset += random.pick([-1, 1]) * random.whole(3 * second, 400 * 24 * hour);
      world.furthestAhead = Math.max(world.furthestAhead, world.wallOffset);
      world.furthestBehind = Math.min(world.furthestBehind, world.wallOffset);
      fault(0);
    },
    crash() {
      const downFor = random.between(second, 2 * minute);
      if (random.chance(0.5)) crash(downFor);
      else world.store.crashAfterCommit = () => crash(downFor);
    },
    "store outage"() {
      const lasts = random.between(2 * second, 3 * minute);
      world.store.outage = true;
      fault(lasts + 2 * second);
      blind(lasts);
      timeline.after(lasts, () => {
        world.store.outage = false;
      });
    },
    deafness() {
      const lasts = random.between(5 * second, 4 * minute);
      world.deaf = true;
      fault(lasts);
      timeline.after(lasts, () => {
        world.deaf = false;
      });
    },
    load() {
      const lasts = random.between(minute, 10 * minute);
      world.load = random.between(200, 1500);
      fault(lasts);
      timeline.after(lasts, () => {
        world.load = 0;
      });
    },
    partition() {
      const lasts = random.between(4 * second, 3 * minute);
      const chosen = chooseCut();
      const share = chosen.length / Math.max(1, actors.size);
      const mass = chosen.length >= 3 && isMass(new Set(chosen));
      const members = new Set([...chosen, ...others.filter(() => random.chance(share))]);
      network.cut({ members, since: timeline.now(), mass });
      fault(lasts);
      timeline.after(lasts, () => network.heal());
    },
  };

  function chooseCut(): string[] {
    const all = [...actors.values()];
    const roll = random.next();
    if (all.length === 0) return [];
    if (roll < 0.3) return all.map((actor) => actor.id);
    if (roll < 0.6) {
      const { node } = random.pick(all);
      return all.filter((actor) => actor.node === node).map((actor) => actor.id);
    }
    if (roll < 0.8) return all.filter(() => random.chance(0.6)).map((actor) => actor.id);
    return [random.pick(all).id];
  }

  /** Clearly more than the threshold of those who can be heard at all, so that a few dead ones do not decide it. */
  function isMass(members: ReadonlySet<string>): boolean {
    // An agent that cannot beat through its tool is silent anyway.
    const heard = [...actors.values()].filter((actor) => !actor.isSilent() && !actor.isBlocked(timeline.now()));
    const share = (of: Actor[]): number => of.filter((actor) => members.has(actor.id)).length / Math.max(1, of.length);
    if (heard.filter((actor) => members.has(actor.id)).length >= 3 && share(heard) >= 0.45) return true;
    const nodes = new Set(heard.map((actor) => actor.node));
    return [...nodes].some((node) => {
      const there = heard.filter((actor) => actor.node === node);
      return there.length >= 4 && share(there) >= 0.9;
    });
  }

  if (hands !== null) {
    faults["git down"] = () => hands.folders.fail(random.between(minute, hour));
    faults["orchestrator down"] = () => hands.orchestrator.fail(random.between(minute, 3 * hour));
  }

  const again = (): void => {
    const name = random.pick(Object.keys(faults));
    // One fault at a time: the judges do not know the truth about two at once.
    if (timeline.now() > world.faultUntil + 2 * minute) faults[name]?.();
    timeline.after(random.until(1.5 * hour), again);
  };
  timeline.after(random.until(hour), again);
}
