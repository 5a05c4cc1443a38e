import { Fault } from "@rouse/contract";

/** Lets no more than so many wait for the same thing: a slow disk must not fill the memory with what waits for it. */
export function boundLine(most: number, tooMany: (thing: string) => string) {
  const waiting = new Map<string, number>();

  return async function inLine<T>(thing: string, work: () => Promise<T>): Promise<T> {
    const ahead = waiting.get(thing) ?? 0;
    if (ahead >= most) throw new Fault("store-unavailable", tooMany(thing), { retryable: true });
    waiting.set(thing, ahead + 1);
    try {
      return await work();
    } finally {
      const left = (waiting.get(thing) ?? 1) - 1;
      if (left === 0) waiting.delete(thing);
      else waiting.set(thing, left);
    }
  };
}
