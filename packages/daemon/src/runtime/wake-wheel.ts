import type { MonoMs } from "@rouse/contract";

const slotWidth = 250;

/** Something that wants to be looked at. The wheel keeps only in which slot it lies; the deadline itself is data of its owner. */
export interface Sleeper {
  wakeAt(): MonoMs | null;
  slot: number | null;
}

/**
 * Wakes who is due. Lazy: moving a deadline further away, which every beat does, costs nothing here; when the old slot comes up the sleeper is
 * asked again and filed anew. Cost grows with what is due, not with how many there are.
 */
export function createWakeWheel<S extends Sleeper>() {
  const slots = new Map<number, S[]>();
  let nextSlot: number | null = null;

  function file(sleeper: S): void {
    const at = sleeper.wakeAt();
    if (at === null) return;
    const slot = Math.max(Math.ceil(at / slotWidth), nextSlot ?? Number.NEGATIVE_INFINITY);
    if (sleeper.slot !== null && sleeper.slot <= slot) return;
    sleeper.slot = slot;
    const lying = slots.get(slot);
    if (lying === undefined) slots.set(slot, [sleeper]);
    else lying.push(sleeper);
  }

  /** Everyone whose deadline has passed, in the order of their slots. */
  function takeDue(now: MonoMs): S[] {
    const until = Math.floor(now / slotWidth);
    const due: S[] = [];
    if (nextSlot === null) nextSlot = slots.size === 0 ? until : Math.min(until, ...slots.keys());
    for (; nextSlot <= until; nextSlot++) {
      const lying = slots.get(nextSlot);
      if (lying === undefined) continue;
      slots.delete(nextSlot);
      for (const sleeper of lying) {
        if (sleeper.slot !== nextSlot) continue;
        sleeper.slot = null;
        const at = sleeper.wakeAt();
        if (at !== null && at <= now) due.push(sleeper);
        else refile.push(sleeper);
      }
    }
    for (const sleeper of refile) file(sleeper);
    refile.length = 0;
    return due;
  }
  const refile: S[] = [];

  return { file, takeDue };
}
