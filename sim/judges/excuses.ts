import type { RouseEvent } from "@rouse/contract";

interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** How much time the monitor could not use: its own faults with the amnesty after each, holds, and freezes. */
export function createExcuses(now: () => number, faults: readonly Stretch[], amnesty: number) {
  const still: Stretch[] = [];
  const since = new Map<string, number>();

  function note({ type, payload }: RouseEvent): void {
    // A hold is kept in memory only: a new monitor begins without it.
    if (type === "MONITOR_STARTED") for (const held of since.keys()) if (held !== "frozen") end(held);
    const scope =
      type === "MONITOR_FROZEN" || type === "MONITOR_THAWED" ? "frozen" : "scope" in payload ? payload.scope : "";
    if (type === "MONITOR_FROZEN" || type === "VERDICTS_HELD_BACK") since.set(scope, since.get(scope) ?? now());
    if (type === "MONITOR_THAWED" || type === "VERDICTS_RESUMED") end(scope);
  }

  function end(scope: string): void {
    const from = since.get(scope);
    since.delete(scope);
    if (from !== undefined) still.push({ from, to: now() });
  }

  const overlap = (at: number, { from, to }: Stretch): number => Math.max(0, Math.min(now(), to) - Math.max(at, from));

  return {
    note,
    /** How long the monitor had a fault since then, without the amnesty. */
    blindSince(at: number): number {
      let sum = 0;
      for (let i = faults.length - 1; i >= 0; i--) {
        const fault = faults[i] as Stretch;
        if (fault.to < at) break;
        sum += overlap(at, fault);
      }
      return sum;
    },
    excusedSince(at: number): number {
      let sum = 0;
      for (let i = faults.length - 1; i >= 0; i--) {
        const fault = faults[i] as Stretch;
        if (fault.to + amnesty < at) break;
        sum += overlap(at, { from: fault.from, to: fault.to + amnesty });
      }
      for (let i = still.length - 1; i >= 0; i--) {
        const stretch = still[i] as Stretch;
        if (stretch.to < at) break;
        sum += overlap(at, stretch);
      }
      for (const from of since.values()) sum += overlap(at, { from, to: now() });
      return sum;
    },
  };
}
