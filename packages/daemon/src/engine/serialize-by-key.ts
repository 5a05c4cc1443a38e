/** Work on the same thing is done one after the other, in the order it was asked for; on different things side by side. */
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
