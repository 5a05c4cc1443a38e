import {
  type DurationMs,
  days,
  type EpochMs,
  Fault,
  type HealthState,
  type HistoryReport,
  toIso,
} from "@rouse/contract";
import type { Store } from "../ports/store.ts";

/** About as many points as a chart can show. */
const points = 120;
const steps: readonly DurationMs[] = [10, 30, 60, 300, 900, 3600, 21_600].map((s) => s * 1000);

export const durationWanted = "duration: such as 90s, 15m, 1h or 30d, at most a year";

/**
 * An agent's past in even steps: its state at the end of each, and what came in. Steps of which nothing is known are
 * left out.
 */
export async function readHistory(
  store: Store,
  agent: { no: number; agentId: string; state: HealthState },
  to: EpochMs,
  duration: DurationMs,
): Promise<HistoryReport> {
  if (!(duration > 0 && duration <= days(366))) throw new Fault("bad-request", durationWanted);
  const from = to - duration;
  const step = steps.find((s) => duration / s <= points) ?? Math.ceil(duration / points / 21_600_000) * 21_600_000;
  const [stretches, changes] = await Promise.all([
    store.readHistory(agent.no, from, to, step),
    store.readEvents({ agentId: agent.agentId, types: ["HEALTH_STATE_CHANGED"], since: from, limit: 10_000 }),
  ]);
  const turns = changes.flatMap((event) =>
    event.type === "HEALTH_STATE_CHANGED" ? [{ time: Date.parse(event.time), ...event.payload }] : [],
  );
  const stateAt = (at: EpochMs): HealthState => {
    const next = turns.find((turn) => turn.time > at);
    return next === undefined ? agent.state : next.from;
  };
  // A change of state is a point of its own even where no beat came: that is how a death shows.
  const known = new Map(stretches.map((stretch) => [stretch.at, stretch]));
  for (const { time } of turns) {
    const at = from + Math.ceil((time - from) / step) * step;
    if (!known.has(at)) known.set(at, { at, beats: 0, tokenCount: null, errorCount: null, toolCallCount: null });
  }
  const ordered = [...known.values()].sort((a, b) => a.at - b.at);
  return {
    agentId: agent.agentId,
    from: toIso(from),
    to: toIso(to),
    stepSeconds: step / 1000,
    history: ordered.map(({ at, beats, tokenCount, errorCount, toolCallCount }) => ({
      at: toIso(Math.min(at, to)),
      state: stateAt(Math.min(at, to)),
      beats,
      tokenCount,
      errorCount,
      toolCallCount,
    })),
  };
}
