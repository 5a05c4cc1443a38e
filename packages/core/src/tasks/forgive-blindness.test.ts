import { minutes } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { Gap } from "../doubt.ts";
import { forgiveBlindness } from "./forgive-blindness.ts";
import { superviseTask } from "./supervise-task.ts";
import type { TaskRecord } from "./task-record.ts";
import { seedRules, taskStory } from "./task-story.test-support.ts";

/** Claimed at minute 10. */
function claimed(status?: "blocked"): TaskRecord {
  const task = taskStory();
  task.pass("10m");
  task.claims("a");
  if (status !== undefined) task.pass("20m");
  if (status !== undefined) task.updates("a", { status });
  return task.task;
}

const dawn = claimed().createdAt;
const blind = (from: number, to: number): Gap => {
  const gap = { from: dawn + minutes(from), to: dawn + minutes(to) };
  return { id: gap.to, cause: "stall", ...gap };
};

/** The minute from which its work counts. */
function startOf(task: TaskRecord, ...gaps: Gap[]): number | null {
  const { state } = forgiveBlindness(task, { gaps });
  return "claim" in state && state.claim !== null ? (state.claim.startedAt - dawn) / minutes(1) : null;
}

describe("time in which we were blind", () => {
  it("moves the start of the work on by as much of it as the claim was there for", () => {
    expect(startOf(claimed(), blind(20, 50))).toBe(40);
    expect(startOf(claimed(), blind(0, 5))).toBe(10);
    expect(startOf(claimed(), blind(5, 15))).toBe(15);
  });

  it("counts once where two stretches lie over each other", () => {
    expect(startOf(claimed(), blind(20, 50), blind(40, 60), blind(100, 101))).toBe(51);
  });

  it("is taken out once, also when it is still known the next time", () => {
    const gaps = [blind(20, 50)];
    const forgiven = forgiveBlindness(claimed(), { gaps });
    expect(forgiveBlindness(forgiven, { gaps })).toBe(forgiven);
    expect(startOf(forgiven, ...gaps, blind(60, 70))).toBe(50);
    expect(startOf(forgiven)).toBe(40);
  });

  it("is taken out of a task that waits for a person only as far as it did not wait yet", () => {
    expect(startOf(claimed("blocked"), blind(25, 45))).toBe(15);
    expect(startOf(claimed("blocked"), blind(31, 45))).toBe(10);
  });

  it("that we learn of only when the task goes on again counts from there: the waiting was taken out before", () => {
    const task = taskStory();
    task.pass("10m");
    task.claims("a");
    task.pass("20m");
    task.updates("a", { status: "blocked" });
    task.pass("15m");
    task.updates("a", { status: "running" });
    expect(startOf(task.task, blind(31, 46))).toBe(26);
  });

  it("is not even looked at by a report that is refused", () => {
    const task = claimed();
    const surroundings = { gaps: [blind(20, 50)], frozen: false, othersBlocked: 0 };
    const report = { kind: "complete", agentId: "b" } as const;
    const turn = superviseTask(task, report, { now: dawn + minutes(51), rules: seedRules, doubt: surroundings });
    expect(turn.reply).toEqual({ kind: "refused", because: "not-yours" });
    expect(turn.task).toBe(task);
  });

  it("is nothing to a task that nobody has", () => {
    const { task } = taskStory();
    expect(forgiveBlindness(task, { gaps: [blind(0, 50)] })).toBe(task);
  });
});
