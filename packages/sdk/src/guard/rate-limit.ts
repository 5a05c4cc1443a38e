/** How much of one thing may be used: `most` at once, and as much again within `perMs`. */
export interface Allowance {
  readonly most: number;
  readonly perMs: number;
}

export interface RateLimitOptions<D extends string> {
  /** For instance `{ requests: { most: 60, perMs: 60_000 }, tokens: { most: 90_000, perMs: 60_000 } }`. */
  readonly allow: Readonly<Record<D, Allowance>>;
  /** Milliseconds that only go forward, and how to be called later; the clock of this process when not given. */
  readonly now?: () => number;
  readonly after?: (ms: number, call: () => void) => () => void;
}

function afterTimeout(ms: number, call: () => void): () => void {
  const timer = setTimeout(call, Math.min(ms, 2 ** 31 - 1));
  return () => clearTimeout(timer);
}

interface Waiter<D extends string> {
  readonly cost: Readonly<Partial<Record<D, number>>>;
  resolve(): void;
}

/**
 * A token bucket in several dimensions, for one process. First come, first served: whoever needs much is not overtaken by those who need little. In any
 * stretch of time no more is let through than a full bucket and what flowed in meanwhile.
 */
export function createRateLimit<D extends string>({
  allow,
  now = () => performance.now(),
  after = afterTimeout,
}: RateLimitOptions<D>) {
  const dimensions = Object.entries(allow) as [D, Allowance][];
  for (const [name, { most, perMs }] of dimensions)
    if (!(most > 0 && perMs > 0 && Number.isFinite(most) && Number.isFinite(perMs)))
      throw new RangeError(`${name} of a rate limit: most and perMs are numbers above 0, not ${most} and ${perMs}`);
  const left = new Map<D, number>(dimensions.map(([name, { most }]) => [name, most]));
  let queue: Waiter<D>[] = [];
  let filledAt = now();
  let cancel: () => void = () => undefined;

  function fill(): void {
    const at = now();
    const passed = Math.max(0, at - filledAt);
    filledAt = Math.max(filledAt, at);
    for (const [name, { most, perMs }] of dimensions)
      left.set(name, Math.min(most, (left.get(name) ?? 0) + (most * passed) / perMs));
  }

  const wanted = (cost: Waiter<D>["cost"], name: D): number => cost[name] ?? 0;

  /** How long until there is enough for it; 0: now. */
  function waitFor(cost: Waiter<D>["cost"]): number {
    let wait = 0;
    for (const [name, { most, perMs }] of dimensions) {
      const missing = wanted(cost, name) - (left.get(name) ?? 0);
      if (missing > 0) wait = Math.max(wait, (missing * perMs) / most);
    }
    return wait;
  }

  function spend(cost: Waiter<D>["cost"]): void {
    for (const [name] of dimensions) left.set(name, (left.get(name) ?? 0) - wanted(cost, name));
  }

  function serve(): void {
    cancel();
    fill();
    for (let first = queue[0]; first !== undefined; first = queue[0]) {
      const wait = waitFor(first.cost);
      // Rounded up: a timer that comes early would only wait once more.
      if (wait > 0) {
        cancel = after(Math.ceil(wait), serve);
        return;
      }
      queue.shift();
      spend(first.cost);
      first.resolve();
    }
  }

  function check(cost: Waiter<D>["cost"]): void {
    for (const [name, amount] of Object.entries(cost) as [D, number][]) {
      const allowance = allow[name];
      if (allowance === undefined) throw new RangeError(`this rate limit knows no ${name}`);
      if (!(amount >= 0)) throw new RangeError(`${name}: a cost is a number from 0, not ${amount}`);
      if (amount > allowance.most)
        throw new RangeError(`${name}: ${amount} are never let through at once, ${allowance.most} are`);
    }
  }

  return {
    /** Resolves when so much may be used. */
    take(cost: Waiter<D>["cost"], { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
      check(cost);
      return new Promise((resolve, reject) => {
        if (signal?.aborted === true) return reject(signal.reason);
        const onAbort = (): void => {
          queue = queue.filter((other) => other !== waiter);
          reject(signal?.reason);
          serve();
        };
        const waiter: Waiter<D> = {
          cost,
          resolve() {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        queue.push(waiter);
        if (queue.length === 1) serve();
      });
    },
    waiting: (): number => queue.length,
    /** What may be used at once, right now. */
    left(): Readonly<Record<D, number>> {
      fill();
      return Object.fromEntries(left) as Record<D, number>;
    },
  };
}

export type RateLimit<D extends string> = ReturnType<typeof createRateLimit<D>>;
