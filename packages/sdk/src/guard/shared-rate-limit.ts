import { type Allow, type Cost, Fault, findBadCost, idRule, isId } from "@rouse/contract";
import { type ConnectOptions, openLine } from "../open-line.ts";
import { takeFromRateLimit } from "../take-from-rate-limit.ts";
import { createRateLimit, type TakeOptions } from "./rate-limit.ts";
import { sleep } from "./retry.ts";

export interface SharedRateLimitOptions<D extends string> extends ConnectOptions {
  /** Whoever names the same limit shares it. All have to name the same allowance. */
  readonly name: string;
  readonly allow: Allow<D>;
  /** Told once of each kind of trouble with Rouse; `console.warn` when not given. */
  readonly onWarning?: (text: string) => void;
}

/** Nobody waits longer than this for a monitor that hangs. */
const longestAnswer = 2000;
const longestPause = 60_000;
/** Rouse refuses whoever would have to wait longer. */
const longestWait = 3_600_000;

/**
 * A rate limit that is shared by all processes that name it, through Rouse, which says to each how long to wait: first come, first served. Without
 * Rouse it holds for each process by itself, until Rouse is back. Nothing of that is thrown. What is given up after Rouse has promised it stays used.
 */
export function createSharedRateLimit<D extends string>(options: SharedRateLimitOptions<D>) {
  const { name, onWarning = warn } = options;
  if (!isId(name)) throw new RangeError(`the name of a rate limit ${idRule}`);
  const local = createRateLimit({ allow: options.allow });
  const allow = structuredClone(options.allow);
  const line = openLine({ ...options, timeout: Math.min(options.timeout ?? longestAnswer, longestAnswer) });
  const warned = new Set<string>();
  let asked: Promise<unknown> = Promise.resolve();
  let through: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let failures = 0;
  let askAgainAt = 0;

  function tell(kind: string, text: string): void {
    if (warned.has(kind)) return;
    warned.add(kind);
    try {
      onWarning(text);
    } catch {
      // It only listens.
    }
  }

  /** When it may be used, by our clock. Asked for one after the other, so that the queue is in the order of the calls. */
  async function reserve(cost: Cost<D>, signal: AbortSignal | undefined): Promise<number> {
    for (let tries = 0; ; tries++) {
      signal?.throwIfAborted();
      if (performance.now() < askAgainAt) return 0;
      try {
        const { waitMs } = await takeFromRateLimit(line, name, { cost: cost as Record<string, number>, allow }, signal);
        if (!(waitMs >= 0 && waitMs <= longestWait))
          throw new Fault("daemon-unreachable", "the answer is none to this question");
        failures = 0;
        return performance.now() + waitMs;
      } catch (error) {
        signal?.throwIfAborted();
        const { code, message, retryable } = error instanceof Fault ? error : new Fault("internal", String(error));
        if (code === "rate-limit-refused" && retryable) {
          tell("queue", `Rouse lets nobody take from rate limit ${name} for now: ${message}`);
          await sleep(pause(tries), signal);
          continue;
        }
        tell(code, `rate limit ${name} holds for this process only, until Rouse takes part: ${message}`);
        askAgainAt = performance.now() + pause(failures++);
        return 0;
      }
    }
  }

  /** The longest of what is reserved, of those before, and of the limit of this process, which is never above the shared one. */
  async function pass(
    usableAt: Promise<number>,
    before: Promise<unknown>,
    cost: Cost<D>,
    by: TakeOptions,
  ): Promise<void> {
    const at = await usableAt;
    await before;
    for (let left = at - performance.now(); left > 0; left = at - performance.now())
      await sleep(Math.ceil(left), by.signal);
    await local.take(cost, by);
  }

  return {
    /** Resolves when so much may be used. Rejects only when `signal` is aborted. */
    take(wanted: Cost<D>, { signal }: TakeOptions = {}): Promise<void> {
      const cost = { ...wanted };
      const wrong = findBadCost(cost, allow);
      if (wrong !== null) throw new RangeError(wrong);
      waiting += 1;
      const usableAt = asked.then(() => reserve(cost, signal));
      asked = usableAt.catch(() => undefined);
      const passed = orAborted(pass(usableAt, through, cost, { signal }), signal).finally(() => {
        waiting -= 1;
      });
      through = passed.catch(() => undefined);
      return passed;
    },
    waiting: (): number => waiting,
  };
}

export type SharedRateLimit<D extends string> = ReturnType<typeof createSharedRateLimit<D>>;

/** One, two, four … seconds, not all processes at the same moment. */
const pause = (failures: number): number => Math.min(longestPause, 1000 * 2 ** failures) * (0.5 + Math.random() / 2);

/** Whoever gives up does not wait for those before. */
function orAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

// biome-ignore lint/suspicious/noConsole: whoever gave no listener is told here
const warn = (text: string): void => console.warn(text);
