/** Something that will happen in the world. Ties happen in the order they were planned. */
interface Planned {
  readonly at: number;
  readonly order: number;
  readonly happen: () => void;
}

/** Virtual time: a queue of what happens next. Nothing here ever waits. */
export function createTimeline() {
  const heap: Planned[] = [];
  let now = 0;
  let order = 0;

  const isBefore = (a: Planned, b: Planned): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

  function plan(at: number, happen: () => void): void {
    heap.push({ at: Math.max(at, now), order: order++, happen });
    let i = heap.length - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(heap[i] as Planned, heap[parent] as Planned)) break;
      [heap[i], heap[parent]] = [heap[parent] as Planned, heap[i] as Planned];
      i = parent;
    }
  }

  function pop(): Planned {
    const top = heap[0] as Planned;
    const last = heap.pop() as Planned;
    if (heap.length === 0) return top;
    heap[0] = last;
    for (let i = 0; ; ) {
      const left = 2 * i + 1;
      let least = i;
      if (left < heap.length && isBefore(heap[left] as Planned, heap[least] as Planned)) least = left;
      if (left + 1 < heap.length && isBefore(heap[left + 1] as Planned, heap[least] as Planned)) least = left + 1;
      if (least === i) return top;
      [heap[i], heap[least]] = [heap[least] as Planned, heap[i] as Planned];
      i = least;
    }
  }

  return {
    now: (): number => now,
    plan,
    after: (delay: number, happen: () => void): void => plan(now + delay, happen),
    /** Lets everything happen that is due up to and including `until`. */
    runUntil(until: number): void {
      while (heap.length > 0 && (heap[0] as Planned).at <= until) {
        const { at, happen } = pop();
        now = at;
        happen();
      }
      now = until;
    },
  };
}

export type Timeline = ReturnType<typeof createTimeline>;
