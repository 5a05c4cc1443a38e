import type { BeatStretch } from "../../ports/store.ts";

/** One stretch so far; `nth` counts stretches from the start of the range. */
export interface StretchPart extends Omit<BeatStretch, "at"> {
  readonly nth: number;
}

export type Stretches = Map<number, StretchPart>;

/** The past is read newest first, so a later part is older and only fills values that are still unknown. */
export function addOlder(stretches: Stretches, older: StretchPart): void {
  const newer = stretches.get(older.nth);
  stretches.set(older.nth, {
    nth: older.nth,
    beats: (newer?.beats ?? 0) + older.beats,
    tokenCount: newer?.tokenCount ?? older.tokenCount,
    errorCount: newer?.errorCount ?? older.errorCount,
    toolCallCount: newer?.toolCallCount ?? older.toolCallCount,
  });
}

/** The running totals an agent put into a beat. */
export function countsIn(body: string): Omit<StretchPart, "nth" | "beats"> {
  const { tokenCount, errorCount, toolCallCount } = JSON.parse(body) as Record<string, unknown>;
  return {
    tokenCount: numberOrNull(tokenCount),
    errorCount: numberOrNull(errorCount),
    toolCallCount: numberOrNull(toolCallCount),
  };
}

const numberOrNull = (value: unknown): number | null => (typeof value === "number" ? value : null);
