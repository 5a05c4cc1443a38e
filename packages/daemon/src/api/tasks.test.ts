import type { IncomingMessage } from "node:http";
import { minutes, TaskHealth, TaskPage, TaskReport } from "@rouse/contract";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type AgentTokenClaims, mintAgentToken, readAgentToken } from "../home/agent-token.ts";
import type { RefusedSpeaker } from "../monitor.ts";
import { type TaskWorld, taskWorld } from "../tasks/task-world.test-support.ts";
import type { Speaker } from "./guard.ts";
import { ownerSpeaks, serveTable } from "./serve-table.test-support.ts";
import { taskRoutes } from "./tasks.ts";

const master = "s3cret-s3cret-s3cret";
let world: TaskWorld;
let app: FastifyInstance;
let refused: RefusedSpeaker[];

const speakerOf = ({ headers }: IncomingMessage): Speaker => {
  const claims = readAgentToken(master, headers.authorization?.slice("Bearer ".length) ?? "");
  return claims === null ? ownerSpeaks : { kind: "agent", ...claims };
};

beforeEach(async () => {
  world = await taskWorld();
  refused = [];
  const { service } = world;
  const table = taskRoutes({ service, noteRefusedSpeaker: (one) => void refused.push(one) });
  app = serveTable(table, { speakerOf, refused });
});
afterEach(() => app.close());

interface Answer {
  readonly status: number;
  readonly body: TaskReport & { task?: TaskReport | null; code?: string; detail?: string };
}

async function send(
  method: "GET" | "POST" | "PUT" | "DELETE",
  path: string,
  body?: object,
  agent?: AgentTokenClaims,
): Promise<Answer> {
  const authorization = agent === undefined ? master : mintAgentToken(master, agent);
  const response = await app.inject({
    method,
    url: path,
    headers: { authorization: `Bearer ${authorization}` },
    ...(body === undefined ? {} : { payload: body }),
  });
  return { status: response.statusCode, body: response.json() };
}

const post = (path: string, body: object = {}, agent?: AgentTokenClaims) =>
  send("POST", `/api/v1/tasks${path}`, body, agent);
const get = (path: string, agent?: AgentTokenClaims) => send("GET", `/api/v1/tasks${path}`, undefined, agent);
const add = (taskId: string, more: object = {}) => post("", { taskId, ...more });

describe("a task over HTTP", () => {
  it("is created, claimed, updated and completed, and each answer says how it stands", async () => {
    const created = await add("fix:42", { title: "Fix it", priority: "high", timeoutMinutes: 90, owner: "ann" });
    expect(created.status).toBe(201);
    expect(TaskReport.parse(created.body)).toEqual(created.body);
    expect(created.body).toMatchObject({ taskId: "fix:42", status: "pending", createdAt: "2026-02-05T09:00:00.000Z" });
    const claimed = await post("/fix%3A42/claim", { agentId: "w" });
    expect(claimed.body).toMatchObject({
      status: "claimed",
      claim: { number: 1, agentId: "w" },
      timeoutAt: "2026-02-05T10:30:00.000Z",
    });
    world.pass(minutes(5));
    expect((await post("/fix:42/refresh", { agentId: "w", claim: 1 })).body).toMatchObject({
      status: "claimed",
      claim: { refreshedAt: "2026-02-05T09:05:00.000Z" },
      updatedAt: "2026-02-05T09:00:00.000Z",
    });
    expect((await post("/fix:42/update", { agentId: "w", claim: 1, note: "half way" })).body).toMatchObject({
      status: "running",
      note: "half way",
    });
    expect((await post("/fix:42/complete", { agentId: "w", claim: 1, note: "done it" })).body).toMatchObject({
      status: "completed",
      note: "done it",
      claim: null,
    });
    expect((await get("/fix:42")).body).toMatchObject({ status: "completed", because: "done" });
  });

  it("that is completed or created once more, because the answer was lost, is the same", async () => {
    await add("t", { dependsOn: ["a"], timeoutMinutes: 0.1 });
    expect((await add("t", { dependsOn: ["a"], timeoutMinutes: 0.1 })).status).toBe(201);
    expect((await add("t", { dependsOn: ["b"], timeoutMinutes: 0.1 })).body.detail).toContain("(exists)");
    await add("u");
    await post("/u/claim", { agentId: "w" });
    expect((await add("u")).status).toBe(409);
    for (const _ of [1, 2]) expect((await post("/u/complete", { agentId: "w", note: "ok" })).status).toBe(200);
  });

  it("is on disk before anybody is answered", async () => {
    await add("t");
    const saved = (await world.store.resume()).machines.map(({ id }) => id);
    expect(saved).toEqual(["t"]);
  });

  it("is not touched while nothing can be saved, and whoever asked is told to come again", async () => {
    await add("t");
    world.storeBreaks();
    expect((await add("u")).status).toBe(503);
    expect(await post("/t/claim", { agentId: "w" })).toMatchObject({
      status: 503,
      body: { code: "store-unavailable" },
    });
    expect(world.tasks.find("t")?.claims).toBe(0);
    world.storeMends();
    await expect.poll(() => world.commits.down()).toBeNull();
    expect((await post("/t/claim", { agentId: "w" })).status).toBe(200);
  });
});

describe("work", () => {
  it("is given out by urgency, one claim at a time, until there is none", async () => {
    for (const [id, priority] of [
      ["low", "low"],
      ["high", "high"],
      ["normal", "normal"],
    ])
      await add(id ?? "", { priority });
    await add("later", { priority: "critical", dependsOn: ["high"] });
    const next = async () => {
      const { task } = (await post("/claim-next", { agentId: "w" })).body;
      if (task != null) await post(`/${task.taskId}/update`, { agentId: "w" });
      return task?.taskId ?? null;
    };
    expect([await next(), await next(), await next(), await next()]).toEqual(["high", "normal", "low", null]);
    await post("/high/complete", { agentId: "w" });
    expect(await next()).toBe("later");
  });

  it("goes to one of many who ask at once", async () => {
    await add("t");
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => post("/t/claim", { agentId: `w${n}` })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    const messages = answers.flatMap(({ body }) => body.detail ?? []);
    expect(new Set(messages)).toEqual(new Set(["task t is w0's by claim 1 (taken)"]));
  });
});

describe("what cannot be", () => {
  it("is refused with one sentence that says how it is and what can be done", async () => {
    await add("a");
    await add("b", { dependsOn: ["a", "x"] });
    await post("/a/claim", { agentId: "w" });
    const because = async (path: string, body: object = {}) => {
      const { status, body: problem } = await post(path, body);
      return `${status} ${problem.code}: ${problem.detail}`;
    };
    expect(await because("/a/claim", { agentId: "v" })).toBe("409 task-refused: task a is w's by claim 1 (taken)");
    expect(await because("/b/claim", { agentId: "v" })).toBe("409 task-refused: task b waits for a, x (not-ready)");
    expect(await because("/a/complete", { agentId: "v" })).toBe(
      "409 task-refused: v does not hold task a: it is w's by claim 1 (not-yours)",
    );
    expect(await because("/a/complete", { agentId: "w", claim: 7 })).toContain("(claim-lost)");
    await post("/a/block");
    expect(await because("/a/claim", { agentId: "v" })).toBe(
      "409 task-refused: task a needs a person; `rouse tasks unblock a` frees it (blocked)",
    );
    await post("/a/cancel");
    expect(await because("/a/unblock")).toBe(
      "409 task-refused: task a is cancelled; nothing more can be done with it (over)",
    );
    expect(await because("/nope/claim", { agentId: "v" })).toBe(
      "404 task-unknown: no such task; `rouse tasks` lists those that are known",
    );
    expect(await because("/b/reassign", { to: "nobody" })).toContain("404 agent-unknown: no agent nobody is known");
  });

  it("names a circle by its ends, and says how many it left out", async () => {
    for (let n = 0; n < 30; n++) await add(`t${n}`, { dependsOn: [n === 0 ? "root" : `t${n - 1}`] });
    const { status, body } = await post("", { taskId: "root", dependsOn: ["t29"] });
    expect(status).toBe(400);
    expect(body.detail).toContain("root → t29 → t28 → t27 → (24 more) → t2 → t1 → t0 → root");
  });

  it.each([
    ["", { taskId: "../x" }, "taskId: must be 1 to 128"],
    ["", { taskId: "t", priority: "urgent" }, "priority:"],
    ["", { taskId: "t", unknown: 1 }, "unknown"],
    ["", { taskId: "t", dependsOn: ["t"] }, "wait for itself: t → t"],
    ["", { taskId: "root", dependsOn: ["leaf"] }, "wait for itself: root → leaf → root"],
    ["/leaf/claim", {}, "agentId:"],
    ["/leaf/claim", { agentId: "rouse.canary" }, "reserved"],
    ["/leaf/update", { agentId: "w", status: "completed" }, "status:"],
    ["/leaf/cancel", { to: "w" }, "to"],
    ["/leaf/refresh", { agentId: "w", note: "x" }, "note"],
  ])("POST %s %j is answered 400", async (path, body, problem) => {
    await add("leaf", { dependsOn: ["root"] });
    const answer = await post(path, body);
    expect(answer.status).toBe(400);
    expect(answer.body.detail).toContain(problem);
  });
});

describe("a person", () => {
  it("cancels, reassigns, blocks, unblocks and retries, and it is on record with their reason", async () => {
    world.beats({ agentId: "v" });
    await add("t");
    await post("/t/claim", { agentId: "w" });
    const order = { actor: "ann", reason: "I say so" };
    expect((await post("/t/reassign", { ...order, to: "v" })).body).toMatchObject({
      status: "pending",
      reservedFor: "v",
    });
    expect((await post("/t/block", order)).body).toMatchObject({ status: "blocked", because: "marked-by-person" });
    expect((await post("/t/unblock", order)).body.status).toBe("pending");
    expect((await post("/t/cancel", order)).body.status).toBe("cancelled");
    expect((await post("/t/retry", order)).body.status).toBe("pending");
    const trail = await world.store.readAudit({ limit: 100 });
    const said = trail.filter(({ reason }) => reason === "I say so");
    expect(said.map(({ action }) => action)).toEqual([
      "order-task-reassign",
      "order-task-block",
      "order-task-unblock",
      "order-task-cancel",
      "order-task-retry",
    ]);
    expect(new Set(trail.map(({ subject }) => subject))).toEqual(new Set(["t"]));
  });

  it("finds on record who made a task, when a person did", async () => {
    await add("unnamed");
    for (const title of ["x", "x", "y"]) await post("", { taskId: "t", title, actor: "ann" });
    await world.saved();
    const trail = await world.store.readAudit({ limit: 100 });
    expect(trail.map(({ actor, action, subject, reason }) => [actor, action, subject, reason].join(" "))).toEqual([
      "owner order-task-create t no reason given",
      "owner order-task-create t no reason given",
      "rouse order-refused t exists",
    ]);
    expect(trail.map(({ evidence }) => evidence["as"])).toEqual(["ann", "ann", undefined]);
  });

  it("finds on record that an order was refused, and why", async () => {
    await add("t");
    await post("/t/claim", { agentId: "w" });
    await post("/t/complete", { agentId: "w" });
    expect((await post("/t/cancel", { actor: "ann" })).status).toBe(409);
    expect((await post("/t/retry", { actor: "ann" })).status).toBe(409);
    await world.saved();
    const trail = await world.store.readAudit({ limit: 100 });
    expect(trail.map(({ actor, action, subject, reason }) => [actor, action, subject, reason].join(" "))).toEqual([
      "owner order-task-cancel t no reason given",
      "rouse order-refused t over",
      "owner order-task-retry t no reason given",
      "rouse order-refused t over",
    ]);
    expect(trail[1]?.evidence).toEqual({ order: "task-cancel" });
  });

  it("trusts an agent again; who was never heard of cannot be", async () => {
    world.beats({ agentId: "w" });
    const restore = (id: string) => send("POST", `/api/v1/agents/${id}/assignments/restore`, { actor: "ann" });
    expect((await restore("w")).body).toEqual({ agentId: "w", standing: "normal" });
    expect((await restore("nobody")).status).toBe(404);
  });
});

describe("lists", () => {
  it("give what is open first, and can be narrowed by status and agent", async () => {
    for (const id of ["a", "b", "c", "d"]) await add(id);
    await post("/a/claim", { agentId: "w" });
    await post("/a/complete", { agentId: "w" });
    world.pass(1000);
    await post("/b/cancel");
    await post("/c/claim", { agentId: "w" });
    const page = async (query: string) => {
      const { tasks, total } = TaskPage.parse((await get(query)).body);
      return [tasks.map(({ taskId }) => taskId).join(" "), total];
    };
    expect(await page("")).toEqual(["c d b a", 4]);
    expect(await page("?status=pending")).toEqual(["d", 1]);
    expect(await page("?status=completed,%20cancelled")).toEqual(["b a", 2]);
    expect(await page("?agentId=w")).toEqual(["c a", 2]);
    expect(await page("?limit=1")).toEqual(["c", 4]);
    expect((await get("?status=done")).body.detail).toContain("status: one or more of pending, claimed");
    expect((await get("?limit=0")).status).toBe(400);
  });

  it("GET /api/health/tasks counts them, and puts those first that something is the matter with", async () => {
    for (const id of ["waits", "stalls", "blocked", "done", "early"]) await add(id);
    await add("late", { dependsOn: ["waits"] });
    await post("/done/claim", { agentId: "w" });
    await post("/done/complete", { agentId: "w" });
    await post("/blocked/block");
    await post("/stalls/claim", { agentId: "w" });
    world.pass(minutes(20));
    await add("fresh");
    world.pass(minutes(11));
    const health = TaskHealth.parse((await send("GET", "/api/health/tasks")).body);
    expect(health).toMatchObject({
      total_tasks: 7,
      active_tasks: 6,
      stalled_tasks: 1,
      long_running_tasks: 0,
      blocked_tasks: 1,
      tasks_by_status: { pending: 4, claimed: 1, blocked: 1, completed: 1 },
    });
    expect(health.tasks.map(({ taskId, flags }) => [taskId, ...flags].join(" "))).toEqual([
      "blocked",
      "waits unclaimed",
      "stalls stalled",
      "early unclaimed",
      "late",
      "fresh",
    ]);
    world.pass(minutes(100));
    expect(TaskHealth.parse((await send("GET", "/api/health/tasks")).body)).toMatchObject({ long_running_tasks: 1 });
  });

  it("have been updated when a person cancels or blocks them", async () => {
    for (const [id, order] of [
      ["a", "cancel"],
      ["b", "block"],
    ] as const) {
      await add(id);
      const { updatedAt } = (await get(`/${id}`)).body;
      world.pass(minutes(4));
      await post(`/${id}/${order}`);
      expect(Date.parse((await get(`/${id}`)).body.updatedAt) - Date.parse(updatedAt)).toBe(minutes(4));
    }
  });

  it("name what waits for a task", async () => {
    await add("a");
    await add("b", { dependsOn: ["a"] });
    expect((await get("/a")).body.dependents).toEqual(["b"]);
    expect((await get("/b")).body.dependsOn).toEqual(["a"]);
  });
});

describe("an agent with its own token", () => {
  const worker: AgentTokenClaims = { agentId: "w", taskId: null, incarnation: 1 };

  it("claims and speaks as itself, and need not say who it is", async () => {
    await add("t");
    expect((await post("/claim-next", {}, worker)).body.task?.claim).toMatchObject({ agentId: "w", number: 1 });
    expect((await post("/t/update", { note: "mine" }, worker)).body.note).toBe("mine");
    expect((await post("/t/complete", { agentId: "w" }, worker)).body.status).toBe("completed");
  });

  it("cannot speak for another, and the attempt is noted", async () => {
    await add("t");
    await post("/t/claim", { agentId: "v" });
    for (const word of ["claim", "refresh", "update", "complete", "fail", "release"]) {
      expect((await post(`/t/${word}`, { agentId: "v" }, worker)).body.code).toBe("forbidden");
    }
    expect((await post("/claim-next", { agentId: "v" }, worker)).status).toBe(403);
    expect(refused).toHaveLength(7);
    expect(refused[0]).toEqual({ agentId: "w", because: "other-agent", claimed: "v" });
    expect((await get("/t")).body.claim?.agentId).toBe("v");
  });

  it("has no say any more once a later life of it has begun", async () => {
    await add("t");
    await post("/t/claim", {}, worker);
    world.beats({ agentId: "w", incarnation: 2 });
    for (const [path, body] of [
      ["/t/complete", {}],
      ["/t/claim", {}],
      ["/claim-next", {}],
    ] as const) {
      const { status, body: problem } = await post(path, body, worker);
      expect([status, problem.detail]).toEqual([403, "incarnation 1 of w is over; the current one is 2"]);
    }
    const later = await post("/t/claim", {}, { ...worker, incarnation: 2 });
    expect(later.body.claim?.number).toBe(2);
  });

  it.each([
    ["GET", "", null, null],
    ["GET", "/t", null, null],
    ["POST", "/claim-next", null, null],
    ["POST", "/t/claim", null, null],
    ["POST", "/t/fail", null, null],
    ["POST", "/t/claim", "t", null],
    ["POST", "/t%3A1/claim", "t:1", null],
    ["GET", "/other", "t", null],
    ["POST", "/other/claim", "t", "other-task"],
    ["POST", "/other/complete", "t", "other-task"],
    ["POST", "/claim-next", "t", "not-allowed"],
    ["POST", "", null, "not-allowed"],
    ["GET", "/t/recovery", null, "not-allowed"],
    ["POST", "/t", null, "not-allowed"],
    ["POST", "/t/claim/x", null, "not-allowed"],
    ["POST", "//claim", null, "not-allowed"],
    ["POST", "/%/claim", null, "not-allowed"],
    ["DELETE", "/t", null, "not-allowed"],
    ["PUT", "/t/claim", null, "not-allowed"],
    ["POST", "x/claim", null, "not-allowed"],
    ...["cancel", "reassign", "block", "unblock", "retry", "recover"].map(
      (order) => ["POST", `/t/${order}`, "t", "not-allowed"] as const,
    ),
  ] as const)("is let through by %s /api/v1/tasks%s with a token for %s: %s", async (method, path, taskId, verdict) => {
    const { status } = await send(method, `/api/v1/tasks${path}`, undefined, { ...worker, taskId });
    expect(status === 403).toBe(verdict !== null);
    expect(refused.map(({ because }) => because)).toEqual(verdict === null ? [] : [verdict]);
  });

  it.each([
    ["POST", "/api/v1/agents/w/assignments/restore"],
    ["GET", "/api/health/tasks"],
  ] as const)("has no say about tasks elsewhere: %s %s", async (method, path) => {
    expect((await send(method, path, undefined, worker)).status).toBe(403);
    expect(refused).toMatchObject([{ because: "not-allowed" }]);
  });
});
