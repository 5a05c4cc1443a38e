import { TaskRequest } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { dawn } from "../story.test-support.ts";
import { chooseTask, isTaskReady } from "./choose-task.ts";
import { newTask, type TaskRecord } from "./task-record.ts";
import { taskStory } from "./task-story.test-support.ts";

function open(taskId: string, request: Partial<TaskRequest> = {}, more: Partial<TaskRecord> = {}): TaskRecord {
  return { ...newTask(TaskRequest.parse({ taskId, ...request }), dawn), ...more };
}

const chosen = (...tasks: TaskRecord[]): string | null => chooseTask(tasks, "a")?.taskId ?? null;

describe("an agent that asks for work", () => {
  it("gets the most urgent task", () => {
    const tasks = (["low", "critical", "normal", "high"] as const).map((priority) => open(priority, { priority }));
    expect(chosen(...tasks)).toBe("critical");
  });

  it("gets the oldest of the equally urgent, and by name what is equally old", () => {
    const older = { createdAt: dawn - 1 };
    expect(chosen(open("x"), open("y", {}, older))).toBe("y");
    expect(chosen(open("y"), open("x"))).toBe("x");
    expect(chosen(open("x", {}, older), open("y", { priority: "high" }))).toBe("y");
  });

  it("gets what is meant for it before anything else, and never what is meant for another", () => {
    const mine = open("mine", { priority: "low" }, { reservedFor: "a" });
    const theirs = open("theirs", { priority: "critical" }, { reservedFor: "b" });
    expect(chosen(theirs, open("anybodys", { priority: "critical" }), mine)).toBe("mine");
    expect(chosen(theirs)).toBeNull();
  });

  it("gets nothing whose dependencies are not completed", () => {
    const failed = taskStory({ request: { taskId: "first" } });
    failed.claims("b");
    failed.fails("b");
    const done = taskStory({ request: { taskId: "first" } });
    done.claims("b");
    done.completes("b");
    const second = open("second", { dependsOn: ["first"] });
    expect(chosen(second)).toBeNull();
    expect(chosen(second, failed.task)).toBeNull();
    expect(chosen(second, done.task)).toBe("second");
  });

  it("gets nothing that somebody has, that is blocked, or that is over", () => {
    const held = taskStory();
    held.claims("a");
    const blocked = taskStory();
    blocked.orders("block");
    const over = taskStory();
    over.orders("cancel");
    expect(chosen(held.task, blocked.task, over.task)).toBeNull();
    expect(chosen()).toBeNull();
  });

  it("is offered tasks from anything that can be gone through once", () => {
    function* once() {
      yield open("second", { dependsOn: ["first"] });
      yield open("third");
    }
    expect(chooseTask(once(), "a")?.taskId).toBe("third");
  });

  it("may claim what it was offered", () => {
    expect(isTaskReady(open("x"), () => false)).toBe(true);
    expect(isTaskReady(open("x", { dependsOn: ["y", "z"] }), (id) => id === "y")).toBe(false);
    expect(isTaskReady(open("x", { dependsOn: ["y", "z"] }), () => true)).toBe(true);
  });
});
