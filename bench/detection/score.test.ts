import { describe, expect, it } from "vitest";
import type { LabelledRun } from "./read-traces.ts";
import { scoreAlarms, shareOf, showShare } from "./score.ts";

const labels: readonly LabelledRun[] = [
  { trace: "a", label: "stuck", kind: "same_edit_error" },
  { trace: "b", label: "stuck", kind: "env_blocked" },
  { trace: "c", label: "transient", kind: "same_action_error" },
  { trace: "d", label: "not_stuck", kind: "progress" },
];

describe("the score of a rule", () => {
  it("counts an alarm for a transient run once as right and once as wrong", () => {
    const score = scoreAlarms(labels, new Set(["a", "c", "d", "nobody labelled it"]));
    expect(score.precisionTransientsRight).toEqual({ count: 2, of: 3 });
    expect(score.precisionTransientsWrong).toEqual({ count: 1, of: 3 });
  });

  it("counts stuck runs that were found, and of those the ones that repeat themselves mechanically", () => {
    const score = scoreAlarms(labels, new Set(["b"]));
    expect(score.recall).toEqual({ count: 1, of: 2 });
    expect(score.recallMechanical).toEqual({ count: 0, of: 1 });
  });

  it("has no share of nothing", () => {
    const score = scoreAlarms(labels, new Set());
    expect(shareOf(score.precisionTransientsRight)).toBeNull();
    expect(showShare(score.precisionTransientsRight)).toBe("none");
  });
});
