import type { Outcome } from "./link.ts";
import { afterMs, steadyNow } from "./surroundings.ts";

type Settled = Exclude<Outcome, { kind: "later" }>;

export interface Sending<M> {
  /** What is to be sent next; `null` when there is nothing now. */
  take(): M | null;
  send(message: M): Promise<Outcome>;
  /** `attempts`: how often it was sent. One that is to be sent anew is returned. */
  settle(message: M, outcome: Settled, attempts: number): M | null | Promise<M | null>;
  readonly isOver: () => boolean;
  readonly onRetry: () => void;
  /** What answers there made the SDK fail: nothing of that reaches the agent. */
  readonly onMistake: (error: unknown) => void;
}

const first = 500;
const longest = 30_000;
/** While somebody waits for the last words. */
const hurried = { first, longest: first };
const hurryMs = 5000;
const slow = { first: 30_000, longest: 300_000 };

/** Sends one message after the other; each again, unchanged, until it is answered. Waiting keeps no program alive. */
export function sendUntilAnswered<M>({ take, send, settle, isOver, onRetry, onMistake }: Sending<M>) {
  let current: M | null = null;
  let running: Promise<void> | null = null;
  /** Somebody woke it since it last looked. */
  let wanted = false;
  let attempts = 0;
  let tried = 0;
  let hurry: (() => void) | null = null;
  let hurriesUntil = 0;
  const watchers = new Set<() => void>();

  async function run(): Promise<void> {
    while (!isOver()) {
      wanted = false;
      current ??= takeNext();
      if (current === null) break;
      if (attempts > 0) onRetry();
      attempts += 1;
      const outcome = await send(current).catch((error: unknown): Outcome => {
        onMistake(error);
        return { kind: "later", waitMs: 0, slow: true };
      });
      if (isOver()) break;
      if (outcome.kind === "later") {
        tried += 1;
        tell();
        await pause(outcome);
        continue;
      }
      const [message, times] = [current, attempts];
      tried = 0;
      current = await settleOne(message, outcome, times);
      attempts = 0;
      tell();
    }
    current = isOver() ? null : current;
    tell();
  }

  function takeNext(): M | null {
    try {
      return take();
    } catch (error) {
      onMistake(error);
      return null;
    }
  }

  async function settleOne(message: M, outcome: Settled, times: number): Promise<M | null> {
    try {
      return await settle(message, outcome, times);
    } catch (error) {
      onMistake(error);
      return null;
    }
  }

  function pause({ waitMs, slow: isSlow }: Extract<Outcome, { kind: "later" }>): Promise<void> {
    const pace = isSlow ? slow : steadyNow() < hurriesUntil ? hurried : { first, longest };
    const grown = Math.min(pace.longest, pace.first * 2 ** Math.min(tried - 1, 20));
    // Half of it is chance, so that a thousand agents do not return together.
    const wait = Math.max(grown * (0.5 + Math.random() / 2), Math.min(waitMs, 3_600_000) * (1 + Math.random() / 10));
    return new Promise((resolve) => {
      const cancel = afterMs(wait, done);
      hurry = done;
      function done(): void {
        cancel();
        hurry = null;
        resolve();
      }
    });
  }

  function wake(): void {
    wanted = true;
    running ??= run().finally(() => {
      running = null;
      if (wanted && !isOver()) wake();
    });
  }

  const tell = (): void => {
    for (const watcher of watchers) watcher();
  };

  return {
    /** There may be something to send. */
    wake,
    /** Tries again now instead of later, and often for as long as last words are waited for. */
    hurry(): void {
      hurriesUntil = steadyNow() + hurryMs;
      hurry?.();
    },
    current: (): M | null => current,
    isBusy: (): boolean => running !== null,
    /** Resolves as soon as it holds; looked at whenever something was sent. */
    until: (holds: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!holds() && !isOver()) return;
          watchers.delete(look);
          resolve();
        };
        watchers.add(look);
        look();
      }),
  };
}
