import { readHttpDate, readRetryAfter } from "./retry-after.ts";
import type { RetryBudget } from "./retry-budget.ts";

export interface RetryOptions {
  /** Tries in all, the first included. */
  readonly attempts?: number;
  /** The first wait; each one after it is twice as long. */
  readonly firstMs?: number;
  readonly longestMs?: number;
  /** A deadline: no try begins later than this after the first. */
  readonly budgetMs?: number;
  /** Shared by calls that end at the same service: once it is used up, they fail with their first error. */
  readonly budget?: RetryBudget;
  /** Whether another try may help; everything but an abort, when not given. */
  readonly isRetryable?: ((error: unknown) => boolean) | undefined;
  readonly signal?: AbortSignal;
  /** Told before each wait. What it throws keeps nobody from trying again. */
  readonly onRetry?: (next: { readonly attempt: number; readonly waitMs: number; readonly error: unknown }) => void;
  /** A number in [0, 1), for the jitter. */
  readonly random?: () => number;
}

/** Waits longer than this are capped, whatever a server asks for: a year would be a typing mistake. */
const longestAsked = 24 * 3_600_000;

/**
 * Calls until it goes well: exponential waits with full jitter, bounded in number and time. Where the error says how long to wait (`retryAfterMs`, as
 * `RetryAfterError` has it), it is waited for that long and never less.
 */
export async function retry<T>(call: (attempt: number) => T | Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { attempts = 5, signal, isRetryable = isNoAbort, onRetry } = checkRetry(options);
  options.budget?.noteCall();
  const giveUpAt = performance.now() + (options.budgetMs ?? Number.POSITIVE_INFINITY);
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted();
    try {
      return await call(attempt);
    } catch (error) {
      if (attempt >= attempts || signal?.aborted === true || !isRetryable(error)) throw error;
      const waitMs = waitBefore(attempt, error, options);
      if (performance.now() + waitMs > giveUpAt || options.budget?.takeRetry() === false) throw error;
      try {
        onRetry?.({ attempt: attempt + 1, waitMs, error });
      } catch {
        // It only listens.
      }
      await sleep(waitMs, signal);
    }
  }
}

const isNoAbort = (error: unknown): boolean => (error as { name?: unknown } | null | undefined)?.name !== "AbortError";

function checkRetry(options: RetryOptions): RetryOptions {
  for (const name of ["attempts", "firstMs", "longestMs", "budgetMs"] as const) {
    const value = options[name];
    if (value !== undefined && !(value > 0))
      throw new RangeError(`${name} of a retry is a number above 0, not ${value}`);
  }
  return options;
}

function waitBefore(attempt: number, error: unknown, options: RetryOptions): number {
  const { firstMs = 500, longestMs = 30_000, random = Math.random } = options;
  const grown = Math.min(longestMs, firstMs * 2 ** (attempt - 1));
  const asked = (error as { retryAfterMs?: unknown } | null)?.retryAfterMs;
  const least = typeof asked === "number" && asked > 0 ? Math.min(asked, longestAsked) : 0;
  return least + grown * random();
}

/** Resolves after so many milliseconds, or rejects with the reason of the abort. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      },
      Math.min(ms, 2 ** 31 - 1),
    );
    if (signal?.aborted === true) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** An answer that says "later": 429, or 503 with `Retry-After`. */
export class RetryAfterError extends Error {
  override readonly name = "RetryAfterError";
  readonly status: number;
  /** `null`: it did not say. */
  readonly retryAfterMs: number | null;

  constructor(status: number, retryAfterMs: number | null) {
    super(
      `answered ${status}${retryAfterMs === null ? "" : `, to be tried again in ${Math.ceil(retryAfterMs / 1000)} s`}`,
    );
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

type FetchLike = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` that waits and tries again where the server says so (429, 503), and where the connection broke before an answer to a request that may be
 * repeated: one that only reads or sets, or that has an `Idempotency-Key`. A body that can be read once is sent once.
 */
export function fetchWithRetry(options: RetryOptions = {}, fetchOnce: FetchLike = fetch): FetchLike {
  return async (input, init) => {
    const request = input instanceof Request ? input : null;
    const signals = [init?.signal ?? request?.signal, options.signal].filter((signal) => signal != null);
    const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
    const isOnce = !isRepeatable(init?.body) || (init?.body == null && request !== null && request.body !== null);
    const method = init?.method ?? request?.method ?? "GET";
    const headers = new Headers(init?.headers ?? request?.headers);
    const actsOnce = /^(?:GET|HEAD|OPTIONS|PUT|DELETE)$/i.test(method) || headers.has("idempotency-key");
    let last: Response | null = null;
    try {
      return await retry(
        async () => {
          last = null;
          const response = await fetchOnce(input, signal === undefined ? init : { ...init, signal });
          if (response.status !== 429 && response.status !== 503) return response;
          last = response;
          // Both dates are by the server's clock, which may not be ours.
          const now = readHttpDate(response.headers.get("date") ?? "") ?? Date.now();
          throw new RetryAfterError(response.status, readRetryAfter(response.headers.get("retry-after"), now));
        },
        {
          ...options,
          ...(signal === undefined ? {} : { signal }),
          isRetryable(error) {
            if (isOnce) return false;
            if (options.isRetryable !== undefined) return options.isRetryable(error);
            return isNoAbort(error) && (actsOnce || error instanceof RetryAfterError);
          },
          onRetry(next) {
            // Its connection is free for the next try.
            void last?.body?.cancel().catch(() => undefined);
            options.onRetry?.(next);
          },
        },
      );
    } catch (error) {
      // Whoever asked gets the last answer, not our word for it.
      if (error instanceof RetryAfterError && last !== null) return last;
      throw error;
    }
  };
}

/** Anything else is a stream of some kind, and read by the first try. */
const isRepeatable = (body: unknown): boolean =>
  body == null ||
  typeof body === "string" ||
  body instanceof ArrayBuffer ||
  ArrayBuffer.isView(body) ||
  [Blob, FormData, URLSearchParams].some((kind) => body instanceof kind);
