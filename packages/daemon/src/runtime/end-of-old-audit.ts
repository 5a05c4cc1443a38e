import type { DurationMs, EpochMs } from "@rouse/contract";

/**
 * The last line of the audit trail that goes when it is tidied, or `null` when none does. Given are lines from the oldest on, without the newest of
 * all, which stays. Only what lies before the first line of the kept time goes, so that no clock that jumped can make a hole: a line that a wrong
 * clock dated long ago stays with its neighbours, and one dated into the future goes with them.
 */
export function endOfOldAudit<L extends { readonly time: string }>(
  lines: Iterable<L>,
  { now, history }: { readonly now: EpochMs; readonly history: DurationMs },
): L | null {
  let end: L | null = null;
  for (const line of lines) {
    const time = Date.parse(line.time);
    if (time >= now - history && time <= now) break;
    if (time < now - history) end = line;
  }
  return end;
}
