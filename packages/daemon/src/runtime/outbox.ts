import type { Action } from "@rouse/core";
import type { Alerts } from "../ports/alerts.ts";
import type { Timers } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { IntendedAction } from "../ports/store.ts";

const firstRetry = 1000;
const longestRetry = 60_000;

/**
 * Carries out what was decided, after it was saved. Each action stays in the store until its outcome is known, so after a crash it
 * is issued again: at least once, and once for whoever looks at the key.
 */
export function startOutbox(alerts: Alerts, timers: Timers, log: Log, done: (action: Action) => void) {
  const underway = new Set<string>();
  const retries = new Set<() => void>();
  let stopped = false;

  function issue(action: Action, delay: number): void {
    alerts.deliver(action).then(
      () => {
        underway.delete(action.key);
        if (!stopped) done(action);
      },
      (error: unknown) => {
        log.warn(
          { action: action.key, error: String(error) },
          "an alert could not be delivered and will be tried again",
        );
        if (stopped) return;
        const cancel = timers.after(delay, () => {
          retries.delete(cancel);
          issue(action, Math.min(delay * 2, longestRetry));
        });
        retries.add(cancel);
      },
    );
  }

  return {
    send(saved: readonly IntendedAction[]): void {
      for (const { key, body } of saved) {
        if (stopped || underway.has(key)) continue;
        underway.add(key);
        issue(JSON.parse(body) as Action, firstRetry);
      }
    },
    waiting: (): number => underway.size,
    stop(): void {
      stopped = true;
      for (const cancel of retries) cancel();
      retries.clear();
    },
  };
}

export type Outbox = ReturnType<typeof startOutbox>;
