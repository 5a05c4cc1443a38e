import type { TreeTier } from "@rouse/contract";

/** What is said where a process could get out of sight before its agent was ended. */
export function wordNothingFound(tier: TreeTier | undefined): string {
  const exception =
    tier === "cgroup"
      ? "one that left its control group on purpose is not found"
      : "one that hid on purpose is not found";
  return `nothing of it was found any more (${exception})`;
}
