import { uptime } from "node:os";
import type { ProcessId } from "../protocol/spec.ts";

/** When the youngest process of a tree was started, by the wall clock. */
export function createYoungest(agent: ProcessId) {
  let last: (ProcessId & { readonly at: number }) | null = null;
  return {
    /** The same process keeps its moment: the clock may be set meanwhile, and reckoning anew would move it by a little. */
    startedAt(members: readonly ProcessId[], ticksPerSecond: number): number | null {
      const child = members
        .filter(({ pid }) => pid !== agent.pid)
        .reduce<ProcessId | null>((a, b) => (a !== null && a.startTicks >= b.startTicks ? a : b), null);
      if (child === null) return null;
      if (last?.pid === child.pid && last.startTicks === child.startTicks) return last.at;
      const ageMs = Math.max(0, (uptime() - child.startTicks / ticksPerSecond) * 1000);
      last = { pid: child.pid, startTicks: child.startTicks, at: Math.round(Date.now() - ageMs) };
      return last.at;
    },
  };
}
