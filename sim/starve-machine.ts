import type { HeldActor } from "./held-actor.ts";
import type { HolderWorld } from "./holders.ts";
import type { Random } from "./random.ts";
import type { Timeline } from "./virtual-time.ts";

const minute = 60_000;
const hour = 60 * minute;

interface Parts {
  readonly actors: ReadonlyMap<string, HeldActor>;
  readonly timeline: Timeline;
  readonly random: Random;
  readonly holders: HolderWorld;
  readonly slowMonitor: (lasts: number) => void;
}

/** The machine has more to do than it can: whoever lives on its crowded part does everything late, all at once, and so does the monitor. */
export function planStarvation({ actors, timeline, random, holders, slowMonitor }: Parts): void {
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
