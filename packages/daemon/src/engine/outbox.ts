import type { Action, ActionOutcome } from "@rouse/core";
import type { Timers } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { IntendedAction } from "../ports/store.ts";

const firstRetry = 1000;
const longestRetry = 60_000;

/**
 * Carries out actions after they were saved. An action stays in the store until its outcome is known, so after a crash
 * it is issued again: at least once, and once for a receiver that looks at its key.
 */
export function startOutbox(
  carryOut: (action: Action) => Promise<ActionOutcome>,
  timers: Timers,
  log: Log,
  done: (action: Action, outcome: ActionOutcome) => void,
) {
  const underway = new Set<string>();
  const retries = new Set<() => void>();
  let stopped = false;

  function issue(action: Action, delay: number): void {
    carryOut(action).then(
      (outcome) => {
        underway.delete(action.key);
        if (!stopped) done(action, outcome);
      },
      (error: unknown) => {
        log.warn(
          { action: action.key, kind: action.kind, error: String(error) },
          "an action could not be carried out and will be tried again",
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
