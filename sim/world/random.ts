/** A seeded source of chance (mulberry32): the same seed gives the same world, whatever machine runs it. */
export function seededRandom(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return {
    next,
    chance: (probability: number): boolean => next() < probability,
    between: (low: number, high: number): number => low + next() * (high - low),
    whole: (low: number, high: number): number => Math.floor(low + next() * (high - low + 1)),
    /** Time until something that happens on average every `mean`. */
    until: (mean: number): number => -Math.log(1 - next()) * mean,
    pick<T>(items: readonly T[]): T {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error("nothing to pick from");
      return item;
    },
  };
}

export type Random = ReturnType<typeof seededRandom>;
