import { describe, expect, it } from "vitest";
import { takenFrom } from "./task-record.ts";
import { type TaskStory, taskStory } from "./task-story.test-support.ts";

/** The agent that `happens` told to stop. */
function afterwards(task: TaskStory, happens: () => void): string | null {
  const before = task.task;
  happens();
  const taken = takenFrom(before, task.task);
  return taken === null ? null : `${taken.agentId}: ${taken.task.because}`;
}

function atWork(request: { timeoutMinutes?: number; onTimeout?: "cancel" | "reassign" | "person" } = {}): TaskStory {
  const task = taskStory({ request });
  task.claims("a");
  task.updates("a");
  return task;
}

describe("who held a task and has lost it", () => {
  it.each(["cancel", "reassign", "person"] as const)("is told when it ran over its time limit (%s)", (onTimeout) => {
    const task = atWork({ timeoutMinutes: 20, onTimeout });
    expect(afterwards(task, () => task.pass("19m"))).toBeNull();
    expect(afterwards(task, () => task.pass("2m"))).toBe("a: timed-out");
  });

  it("is told when a person cancels it, gives it to somebody else or takes it into their own hands", () => {
    const cancelled = atWork();
    expect(afterwards(cancelled, () => cancelled.orders("cancel"))).toBe("a: cancelled-by-person");
    const given = atWork();
    expect(afterwards(given, () => given.reassigns("b"))).toBe("a: reassigned-by-person");
    const marked = atWork();
    expect(afterwards(marked, () => marked.orders("block"))).toBe("a: marked-by-person");
  });

  it("is not told what it did itself, nor when it is gone", () => {
    for (const lets of [
      (task: TaskStory) => task.completes("a"),
      (task: TaskStory) => task.fails("a"),
      (task: TaskStory) => task.releases("a"),
      (task: TaskStory) => task.goesDown("a", "released"),
      (task: TaskStory) => task.updates("a", { note: "still at it" }),
    ]) {
      const task = atWork();
      expect(afterwards(task, () => lets(task))).toBeNull();
    }
  });

  it("is not told of what it was given by a person and has", () => {
    const given = atWork();
    expect(afterwards(given, () => given.reassigns("a"))).toBeNull();
    const other = atWork();
    other.reassigns("b");
    expect(afterwards(other, () => other.updates("b"))).toBeNull();
    expect(afterwards(other, () => other.pass("1m"))).toBeNull();
  });

  it("nobody is told of a task that nobody held", () => {
    const task = taskStory();
    expect(afterwards(task, () => task.orders("cancel"))).toBeNull();
  });
});
