import { Fault } from "@rouse/contract";

/** Does work on the same thing one after the other, in the order it was asked for; on different things side by side. */
export function serializeByKey() {
  const last = new Map<string, Promise<unknown>>();

  return function inTurn<T>(thing: string, work: () => Promise<T>): Promise<T> {
    const mine = (last.get(thing) ?? Promise.resolve()).then(work);
    const settled = mine.then(ignore, ignore);
    last.set(thing, settled);
    void settled.then(() => {
      if (last.get(thing) === settled) last.delete(thing);
    });
    return mine;
  };
}

export type InTurn = ReturnType<typeof serializeByKey>;

const ignore = (): void => undefined;

/** Refuses when `most` wait for the same thing: requests that wait for a slow disk must not fill the memory. */
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
