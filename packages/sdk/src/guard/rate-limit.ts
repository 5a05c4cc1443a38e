import {
  type Allow,
  type Allowance,
  type Cost,
  enoughFrom,
  findBadAllowance,
  findBadCost,
  fullBucket,
  leftIn,
  spend,
} from "@rouse/contract";
import { steady } from "./steady.ts";

export type { Allow, Allowance, Cost };

export interface RateLimitOptions<D extends string> {
  /** Whole numbers, each with its own time: `{ requests: { most: 5000, perMs: 3_600_000 }, tokens: { most: 90_000, perMs: 60_000 } }`. */
  readonly allow: Allow<D>;
  /** Milliseconds that only go forward, and how to be called later; the clock of this process when not given. */
  readonly now?: () => number;
  readonly after?: (ms: number, call: () => void) => () => void;
}

export interface TakeOptions {
  /** Gives up its place in the queue. What is let through already stays used. */
  readonly signal?: AbortSignal | undefined;
}

const longestTimer = 2 ** 31 - 1;

function afterTimeout(ms: number, call: () => void): () => void {
  const timer = setTimeout(call, ms);
  return () => clearTimeout(timer);
}

interface Waiter<D extends string> {
  readonly cost: Cost<D>;
  resolve(): void;
}

/**
 * A token bucket in several dimensions, for one process. First come, first served: whoever needs much is not overtaken by those who need little. In any
 * stretch of time no more is let through than a full bucket and what flowed in meanwhile, exactly: the bucket counts in whole numbers, gives what has
 * flowed in by the last whole millisecond, and takes from the next one on. What that costs is less than a millisecond's flow whenever a full bucket is
 * first used.
 */
export function createRateLimit<D extends string>(options: RateLimitOptions<D>) {
  const { now = () => performance.now(), after = afterTimeout } = options;
  const wrong = findBadAllowance(options.allow);
  if (wrong !== null) throw new RangeError(wrong);
  const allow = structuredClone(options.allow);
  const readClock = steady(now);
  const queue = new Set<Waiter<D>>();
  let bucket = fullBucket(allow);
  let cancel: () => void = () => undefined;

  /** Lets so much through now, or says how long it is until there is enough; 0: it is through. */
  function tryToSpend(cost: Cost<D>): number {
    const at = readClock();
    const enoughAt = enoughFrom(bucket, cost, allow);
    if (enoughAt > Math.floor(at)) return enoughAt - at;
    bucket = spend(bucket, cost, allow, Math.ceil(at));
    return 0;
  }

  function serve(): void {
    cancel();
    for (const first of queue) {
      const wait = tryToSpend(first.cost);
      if (wait > 0) {
        // One that comes early only waits once more.
        cancel = after(Math.min(Math.ceil(wait), longestTimer), serve);
        return;
      }
      queue.delete(first);
      first.resolve();
    }
  }

  return {
    /** Resolves when so much may be used. */
    take(wanted: Cost<D>, { signal }: TakeOptions = {}): Promise<void> {
      const cost = { ...wanted };
      const wrong = findBadCost(cost, allow);
      if (wrong !== null) throw new RangeError(wrong);
      if (signal?.aborted === true) return Promise.reject(signal.reason);
      if (queue.size === 0 && tryToSpend(cost) === 0) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          const wasFirst = isFirst(queue, waiter);
          queue.delete(waiter);
          reject(signal?.reason);
          if (wasFirst) serve();
        };
        const waiter: Waiter<D> = {
          cost,
          resolve() {
            signal?.removeEventListener("abort", onAbort);
            resolve();
          },
        };
        signal?.addEventListener("abort", onAbort, { once: true });
        queue.add(waiter);
        if (queue.size === 1) serve();
      });
    },
    waiting: (): number => queue.size,
    /** What may be used at once, right now. */
    left: (): Readonly<Record<D, number>> => leftIn(bucket, allow, Math.floor(readClock())),
  };
}

function isFirst<T>(set: ReadonlySet<T>, one: T): boolean {
  for (const first of set) return first === one;
  return false;
}

export type RateLimit<D extends string> = ReturnType<typeof createRateLimit<D>>;
