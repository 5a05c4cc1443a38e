const pollEvery = 50;

/** Looks again and again until there is something to return. Fails with `what` when there is nothing for a minute. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | null | false> | T | undefined | null | false,
  deadline = 60_000,
): Promise<T> {
  const giveUpAt = performance.now() + deadline;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > giveUpAt) throw new Error(`waited ${deadline / 1000} s in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pollEvery));
  }
}
