import type { LabelledRun } from "./read-traces.ts";

/** Loops that show in calls and results. The others need somebody who understands the work, or a clock. */
const needsUnderstanding: ReadonlySet<string> = new Set([
  "env_blocked",
  "no_progress_semantic",
  "silent_gap",
  "busywork_no_progress",
  "reworded_search_no_progress",
]);

export interface Share {
  readonly count: number;
  readonly of: number;
}

/** How a rule's alarms agree with the labels. */
export interface Score {
  /** Alarms that were right, when three or four repeats before moving on are worth one. */
  readonly precisionTransientsRight: Share;
  readonly precisionTransientsWrong: Share;
  readonly recall: Share;
  readonly recallMechanical: Share;
}

export function scoreAlarms(labels: readonly LabelledRun[], alarms: ReadonlySet<string>): Score {
  const called = labels.filter(({ trace }) => alarms.has(trace));
  const stuck = labels.filter(({ label }) => label === "stuck");
  const mechanical = stuck.filter(({ kind }) => !needsUnderstanding.has(kind));
  const found = (runs: readonly LabelledRun[]): Share => ({
    count: runs.filter(({ trace }) => alarms.has(trace)).length,
    of: runs.length,
  });
  return {
    precisionTransientsRight: {
      count: called.filter(({ label }) => label !== "not_stuck").length,
      of: called.length,
    },
    precisionTransientsWrong: { count: called.filter(({ label }) => label === "stuck").length, of: called.length },
    recall: found(stuck),
    recallMechanical: found(mechanical),
  };
}

/** Of nothing there is no share. */
export const shareOf = ({ count, of }: Share): number | null => (of === 0 ? null : count / of);

export const showShare = (share: Share): string => {
  const value = shareOf(share);
  return value === null ? "none" : `${value.toFixed(2)} (${share.count}/${share.of})`;
};
