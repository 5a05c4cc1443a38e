import type { BeatStretch } from "../../ports/store.ts";

/** One stretch so far; `nth` counts stretches from the start of the range. */
export interface StretchPart extends Omit<BeatStretch, "at"> {
  readonly nth: number;
}

export type Stretches = Map<number, StretchPart>;

/** The past is read newest first, so a later part is older and only fills values that are still unknown. */
export function addOlder(stretches: Stretches, older: StretchPart): void {
  const newer = stretches.get(older.nth);
  if (newer === undefined) {
    stretches.set(older.nth, older);
    return;
  }
  stretches.set(older.nth, {
    nth: older.nth,
    beats: newer.beats + older.beats,
    tokenCount: newer.tokenCount ?? older.tokenCount,
    errorCount: newer.errorCount ?? older.errorCount,
    toolCallCount: newer.toolCallCount ?? older.toolCallCount,
  });
}

interface Counts {
  readonly tokenCount: number | null;
  readonly errorCount: number | null;
  readonly toolCallCount: number | null;
}

/** The running totals an agent put into a beat. */
export function countsIn(body: string): Counts {
  const beat = JSON.parse(body) as Partial<Record<keyof Counts, unknown>>;
  return {
    tokenCount: numberOrNull(beat.tokenCount),
    errorCount: numberOrNull(beat.errorCount),
    toolCallCount: numberOrNull(beat.toolCallCount),
  };
}

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);
