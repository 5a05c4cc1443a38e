import type { CheckpointCheck } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { paintLine } from "../text/styled-text.ts";
import { showVerdict } from "./checkpoints.ts";

const check = (number: number, flaws: CheckpointCheck["flaws"] = []): CheckpointCheck => ({
  id: "0".repeat(64),
  number,
  step: number,
  stepName: "",
  time: "2026-02-05T12:00:00.000Z",
  flaws,
});

const summaryOf = (checks: readonly CheckpointCheck[], more: boolean): string[] => {
  const sound = checks.every(({ flaws }) => flaws.length === 0);
  const lines = showVerdict({ taskId: "t", sound, checks: [...checks], more }, 0, 120);
  const painted = lines.map((line) => paintLine(line, false));
  return painted.slice(painted.indexOf("") + 1);
};

describe("a verdict on checkpoints", () => {
  it("says what became of one that is gone, and of a state that is not kept any more", () => {
    const gone = { ...check(0, ["missing"]), number: null, step: null, stepName: null, time: null };
    const checks = [gone, { ...check(1), stateForgotten: true }];
    const lines = showVerdict({ taskId: "t", sound: false, checks, more: false }, 0, 120);
    const [, first, second] = lines.map((line) => paintLine(line, false));
    expect(first).toMatch(/^– .*it was saved as the newest, and is gone/);
    expect(second).toMatch(/^1 .*as it was saved; its state is not kept any more/);
    expect(summaryOf(checks, false)).toEqual(["1 of 2 is not right."]);
  });

  it("is about all of them", () => {
    expect(summaryOf([check(2), check(1)], false)).toEqual(["All 2 are right."]);
  });

  it("does not say all when there are older ones, and says how many it says nothing about", () => {
    expect(summaryOf([check(252), check(251)], true)).toEqual([
      "The newest 2 are right.",
      "The 250 before them were not looked at: nothing is said about whether they are right.",
    ]);
    expect(summaryOf([check(3, ["state-missing"]), check(2)], true)).toEqual([
      "1 of 2 is not right.",
      "The one before them was not looked at: nothing is said about whether they are right.",
    ]);
  });
});
