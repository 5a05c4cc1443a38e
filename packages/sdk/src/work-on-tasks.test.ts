import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connectTasks, type TaskCalls } from "./work-on-tasks.ts";

let server: Server;
let rouse: TaskCalls;
let asked: [method: string | undefined, url: string | undefined, body: unknown][];
let answer: { status: number; body: unknown };

beforeEach(async () => {
  asked = [];
  answer = { status: 200, body: { ok: true } };
  server = createServer(async (request, response) => {
    asked.push([request.method, request.url, await bodyOf(request)]);
    response.writeHead(answer.status).end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  rouse = connectTasks({ url: `http://127.0.0.1:${port}`, token: "s3cret-s3cret-s3cret" });
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? null : JSON.parse(Buffer.concat(chunks).toString());
}

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
    expect(asked).toEqual([
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
    answer.body = { task: { taskId: "a" } };
    expect(await rouse.claimNextTask("w")).toEqual({ taskId: "a" });
    answer.body = { task: null };
    expect(await rouse.claimNextTask()).toBeNull();
    expect(asked.map(([, , body]) => body)).toEqual([{ agentId: "w" }, {}]);
  });

  it("rejects with the reason when it is refused", async () => {
    const message = "task a is v's by claim 1 (taken)";
    answer = { status: 409, body: { error: { code: "task-refused", message, retryable: false } } };
    await expect(rouse.claimTask("a", "w")).rejects.toMatchObject({ code: "task-refused", message });
  });

  it("asks nothing for an id that would make another path", async () => {
    for (const id of ["", "..", "a/b", "a?b"]) {
      await expect(rouse.task(id), id).rejects.toMatchObject({ code: "task-unknown" });
      await expect(rouse.claimTask(id, "w"), id).rejects.toMatchObject({ code: "task-unknown" });
      await expect(rouse.restoreAssignments(id), id).rejects.toMatchObject({ code: "agent-unknown" });
    }
    expect(asked).toEqual([]);
  });
});
