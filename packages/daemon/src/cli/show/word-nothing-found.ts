import type { TreeTier } from "@rouse/contract";

/** What is said where a process could get out of sight before its agent was ended. `spared`: something was left alone, and is named beside it. */
export function wordNothingFound(tier: TreeTier | undefined, spared = false): string {
  const exception =
    tier === "cgroup"
      ? "one that left its control group on purpose is not found"
      : "one that hid on purpose is not found";
  return `nothing ${spared ? "else " : ""}of it was found any more (${exception})`;
}
