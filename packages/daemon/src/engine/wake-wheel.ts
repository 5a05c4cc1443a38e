import type { MonoMs } from "@rouse/contract";

const slotWidth = 250;

/** Something with a deadline, which is its owner's data. The wheel keeps only the slot it lies in. */
export interface Sleeper {
  wakeAt(): MonoMs | null;
  slot: number | null;
}

/**
 * Finds who is due. Moving a deadline further away, which every beat does, costs nothing: when the old slot comes up,
 * the sleeper is asked for its deadline and filed anew. Cost grows with who is due, not with how many there are.
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
    const later: S[] = [];
    for (const slot of passedSlots(until)) {
      for (const sleeper of slots.get(slot) ?? []) {
        if (sleeper.slot !== slot) continue;
        sleeper.slot = null;
        const at = sleeper.wakeAt();
        (at !== null && at <= now ? due : later).push(sleeper);
      }
      slots.delete(slot);
    }
    nextSlot = until + 1;
    for (const sleeper of later) file(sleeper);
    return due;
  }

  /** Usually a few slots in a row; after a long pause, or at the start, only those that hold a sleeper. */
  function passedSlots(until: number): number[] {
    const from = nextSlot;
    if (from === null || until - from > slots.size)
      return [...slots.keys()].filter((slot) => slot <= until).sort((a, b) => a - b);
    return Array.from({ length: Math.max(0, until - from + 1) }, (_, i) => from + i);
  }

  return { file, takeDue };
}
