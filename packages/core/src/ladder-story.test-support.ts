import { overlay, type PartialSettings, type Sight } from "@rouse/contract";
import { type HeldGiven, type HeldStory, heldStory } from "./held-story.test-support.ts";

/** A held agent that wrote a line and then nothing more: STUCK after fifteen minutes, its processes quiet. */
export function goesQuiet(given: HeldGiven = {}): HeldStory {
  const held = heldStory({ taskId: "t1", ...given, hold: { input: "terminal", ...given.hold } });
  held.prints();
  held.passes("15m");
  return held;
}

/**
 * A held agent whose model request is open for longer than its program allows, without a byte: STUCK after fifteen
 * minutes, with two kinds of evidence.
 */
export function hangs(given: HeldGiven = {}): HeldStory {
  const clocks = { activity: { model_request_seconds: 900 }, terminal: { idle_timeout_minutes: 16 } };
  const settings = overlay<PartialSettings>(clocks, given.settings);
  const hold = { input: "terminal", structured: true, ...given.hold } as const;
  const held = heldStory({ taskId: "t1", ...given, settings, hold });
  held.shows({ kind: "model-asked" });
  held.passes("15m");
  return held;
}

/** The agent hangs and is out of reach: the orchestrator is asked after fifteen minutes. */
export const isAsked = (given: HeldGiven = {}): HeldStory =>
  hangs({ obedient: true, ...given, hold: { input: "none", ...given.hold } });

/** A held agent that reports failure after failure, its processes quiet: FAILING after five minutes. */
export function startsFailing(given: HeldGiven = {}): HeldStory {
  const held = heldStory({ taskId: "t1", ...given });
  held.passes("5m");
  held.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
  return held;
}

export const error: Sight = { kind: "error", pattern: "error", digest: "e1", text: "e" };

/** The same error every minute and nothing else. */
export function repeatsError(held: HeldStory, times: number): void {
  for (let i = 0; i < times; i++) {
    held.shows({ kind: "output", rows: 1, novel: 0 }, error);
    held.passes("1m");
  }
}

export const refusals = ({ agent }: HeldStory) => agent.told("TERMINATION_REFUSED").map(({ because }) => because);

export const endings = ({ agent }: Pick<HeldStory, "agent">): string[] =>
  agent.told("INCIDENT_CLOSED").map(({ ending, because }) => `${ending}: ${because}`);
