import { beforeEach, describe, expect, it } from "vitest";
import { listenAndNote } from "./fake-api.test-support.ts";
import { connectTasks, type TaskCalls } from "./work-on-tasks.ts";

let rouse: TaskCalls;
let noted: Awaited<ReturnType<typeof listenAndNote>>["noted"];

beforeEach(async () => {
  const opened = await listenAndNote();
  noted = opened.noted;
  rouse = connectTasks(opened.line);
});

describe("working on tasks", () => {
  it("takes the paths of the API and sends what was given, no more", async () => {
    await rouse.createTask({ taskId: "a:b", priority: "high" });
    await rouse.tasks();
    await rouse.tasks({ status: ["pending", "running"], agentId: "w", limit: 5 });
    await rouse.tasks({ status: "failed" });
    await rouse.task("a:b");
    await rouse.taskHealth();
    await rouse.claimTask("a:b", "w");
    await rouse.claimTask("a:b");
    await rouse.refreshTask("a:b", { agentId: "w", claim: 3 });
    await rouse.updateTask("a:b", { note: "half", status: "running" });
    await rouse.completeTask("a:b", { claim: 3, note: "all" });
    await rouse.failTask("a:b");
    await rouse.releaseTask("a:b");
    await rouse.cancelTask("a:b", { actor: "ann" });
    await rouse.reassignTask("a:b", { to: "v" });
    await rouse.blockTask("a:b");
    await rouse.unblockTask("a:b");
    await rouse.retryTask("a:b");
    await rouse.restoreAssignments("w", { actor: "ann" });
    expect(noted.asked).toEqual([
      ["POST", "/api/v1/tasks", { taskId: "a:b", priority: "high" }],
      ["GET", "/api/v1/tasks", null],
      ["GET", "/api/v1/tasks?status=pending%2Crunning&agentId=w&limit=5", null],
      ["GET", "/api/v1/tasks?status=failed", null],
      ["GET", "/api/v1/tasks/a%3Ab", null],
      ["GET", "/api/health/tasks", null],
      ["POST", "/api/v1/tasks/a%3Ab/claim", { agentId: "w" }],
      ["POST", "/api/v1/tasks/a%3Ab/claim", {}],
      ["POST", "/api/v1/tasks/a%3Ab/refresh", { agentId: "w", claim: 3 }],
      ["POST", "/api/v1/tasks/a%3Ab/update", { note: "half", status: "running" }],
      ["POST", "/api/v1/tasks/a%3Ab/complete", { claim: 3, note: "all" }],
      ["POST", "/api/v1/tasks/a%3Ab/fail", {}],
      ["POST", "/api/v1/tasks/a%3Ab/release", {}],
      ["POST", "/api/v1/tasks/a%3Ab/cancel", { actor: "ann" }],
      ["POST", "/api/v1/tasks/a%3Ab/reassign", { to: "v" }],
      ["POST", "/api/v1/tasks/a%3Ab/block", {}],
      ["POST", "/api/v1/tasks/a%3Ab/unblock", {}],
      ["POST", "/api/v1/tasks/a%3Ab/retry", {}],
      ["POST", "/api/v1/agents/w/assignments/restore", { actor: "ann" }],
    ]);
  });

  it("tells a task to do from there being none", async () => {
    noted.answer.body = { task: { taskId: "a" } };
    expect(await rouse.claimNextTask("w")).toEqual({ taskId: "a" });
    noted.answer.body = { task: null };
    expect(await rouse.claimNextTask()).toBeNull();
    expect(noted.asked.map(([, , body]) => body)).toEqual([{ agentId: "w" }, {}]);
  });

  it("rejects with the reason when it is refused", async () => {
    const message = "task a is v's by claim 1 (taken)";
    noted.answer = { status: 409, body: { code: "task-refused", detail: message, retryable: false } };
    await expect(rouse.claimTask("a", "w")).rejects.toMatchObject({ code: "task-refused", message });
  });

  it("asks nothing for an id that would make another path", async () => {
    for (const id of ["", "..", "a/b", "a?b"]) {
      await expect(rouse.task(id), id).rejects.toMatchObject({ code: "task-unknown" });
      await expect(rouse.claimTask(id, "w"), id).rejects.toMatchObject({ code: "task-unknown" });
      await expect(rouse.restoreAssignments(id), id).rejects.toMatchObject({ code: "agent-unknown" });
    }
    expect(noted.asked).toEqual([]);
  });
});
