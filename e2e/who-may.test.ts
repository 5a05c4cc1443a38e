import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AuditRecord, HeartbeatAck } from "@rouse/contract";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mintAgentToken } from "../packages/daemon/src/home/agent-token.ts";
import { cleanUp } from "./clean-up.ts";
import { openStream } from "./read-stream.ts";
import { sendRequest } from "./send-request.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

const hash = "0".repeat(64);

/**
 * Written by hand, so that a slip in the code's own table shows. O owner, C orchestrator, V viewer, A the agent w with
 * its task t, Q the agent w without a task, X another agent with another task (its policy lets it see w), P whoever
 * has only a ping address of w, N nobody; – refused.
 */
const matrix = `
O C V A Q X P N  GET    /livez
O C V A Q X – –  GET    /readyz
O C V – – – – –  GET    /metrics
O C V A Q X – –  GET    /api/health/status
O C V – – – – –  GET    /api/health/agents
O C V – – – – –  GET    /api/health/tasks
O C V – – – – –  GET    /api/v1/openapi.json
O C V – – – – –  GET    /api/v1/events
O C V – – – – –  GET    /api/v1/incidents
O C V – – – – –  GET    /api/v1/recoveries
O C V – – – – –  GET    /api/v1/audit
O C V – – – – –  GET    /api/v1/audit/head
O – – – – – – –  GET    /api/v1/config
O – – – – – – –  POST   /api/v1/freeze
O – – – – – – –  POST   /api/v1/thaw
O C V A Q X – –  POST   /mcp
O C V A Q X – –  GET    /mcp
O C V A Q X – –  DELETE /mcp
O – – A Q X – –  POST   /api/v1/heartbeats
O – – A Q X – –  POST   /api/v1/agents
O C V A Q X – –  GET    /api/v1/agents
O C V A Q X – –  GET    /api/v1/agents/w
O C V A Q X – –  GET    /api/v1/agents/w/why
O C V A Q – – –  GET    /api/v1/agents/w/history
O C V A Q – – –  GET    /api/v1/agents/w/heartbeats
O C V A Q – – –  GET    /api/v1/agents/w/steps
O – – A Q – – –  POST   /api/v1/agents/w/steps
O – – A Q – – –  POST   /api/v1/agents/w/answers
O – – A Q – – –  POST   /api/v1/agents/w/check-in
O C – – – – – –  POST   /api/v1/agents/w/nudge
O – – – – – – –  POST   /api/v1/agents/w/escalate
O – – – – – – –  POST   /api/v1/agents/w/terminate
O – – – – – – –  POST   /api/v1/agents/w/recover
O – – – – – – –  DELETE /api/v1/agents/w
O – – – – – – –  POST   /api/v1/agents/w/assignments/restore
O C V A Q – – –  GET    /api/v1/agents/w/breaker-rules
O C V – – – – –  GET    /api/v1/breakers
O C V – – – – –  GET    /api/v1/breakers/w%2Ftool_execution
O – – – – – – –  POST   /api/v1/breakers/w%2Ftool_execution/reset
O – – A Q X – –  POST   /api/v1/rate-limits/github/take
O C V – – – – –  GET    /escalations
O C V – – – – –  GET    /api/v1/escalations
O C V – – – – –  GET    /api/v1/escalations/w.1
O C – – – – – –  POST   /escalations/w.9/decision
O C – – – – – –  POST   /api/v1/escalations/w.9/decision
O C – – – – – –  POST   /api/v1/escalations/w.9/acknowledge
O C V A Q X – –  GET    /api/v1/tasks
O – – – – – – –  POST   /api/v1/tasks
O C V A Q X – –  GET    /api/v1/tasks/t
O C V – – – – –  GET    /api/v1/tasks/t/recovery
O – – – – – – –  POST   /api/v1/tasks/t/recover
O – – – – – – –  POST   /api/v1/tasks/t/cancel
O – – – – – – –  POST   /api/v1/tasks/t/reassign
O – – – – – – –  POST   /api/v1/tasks/t/block
O – – – – – – –  POST   /api/v1/tasks/t/unblock
O – – – – – – –  POST   /api/v1/tasks/t/retry
O – – – Q – – –  POST   /api/v1/tasks/claim-next
O – – A Q – – –  POST   /api/v1/tasks/t/claim
O – – A Q – – –  POST   /api/v1/tasks/t/refresh
O – – A Q – – –  POST   /api/v1/tasks/t/update
O – – A Q – – –  POST   /api/v1/tasks/t/complete
O – – A Q – – –  POST   /api/v1/tasks/t/fail
O – – A Q – – –  POST   /api/v1/tasks/t/release
O C V A – – – –  GET    /api/v1/tasks/t/checkpoints
O – – A – – – –  POST   /api/v1/tasks/t/checkpoints
O C V A – – – –  GET    /api/v1/tasks/t/checkpoints/verify
O C V A Q X – –  GET    /api/v1/checkpoints/${hash}
– – – – – – – –  GET    /ping/w/wrong
– – – – – – – –  POST   /ping/w/wrong
`;

let daemon: Daemon;

beforeAll(async () => {
  daemon = await startDaemon();
  await daemon.rouse.recordHeartbeat({
    agentId: "w",
    status: "RUNNING",
    breakers: [{ operation: "tool_execution", state: "OPEN" }],
  });
});
afterAll(async () => {
  await cleanUp();
  expect(daemon.process.stderr()).not.toContain("a mistake in Rouse");
});

async function issue(...words: string[]): Promise<string> {
  const made = await daemon.cli("token", "create", ...words);
  expect(made).toMatchObject({ code: 0, stderr: "" });
  expect(made.stdout).toMatch(/^rouse-token\.[^\s]+\n$/);
  return made.stdout.trim();
}

const as = (token: string) => ({ url: daemon.url, token });
const linesOf = async (action: string): Promise<AuditRecord[]> => {
  const { json } = await sendRequest(daemon, { path: "/api/v1/audit?limit=1000" });
  return (json as { entries: AuditRecord[] }).entries.filter((line) => line.action === action);
};

/** Every line of the API by its own document, as what a row of the matrix must look like. */
async function operations(): Promise<RegExp[]> {
  const { json } = await sendRequest(daemon, { path: "/api/v1/openapi.json" });
  return Object.entries((json as { paths: Record<string, object> }).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(
      (method) =>
        new RegExp(`^${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`),
    ),
  );
}

describe("a token", () => {
  it("is good for what its role may do, and for nothing else", async () => {
    const tokens = {
      O: await issue("--role", "owner", "--name", "second-owner"),
      C: await issue("--role", "orchestrator", "--name", "planner"),
      V: await issue("--role", "viewer", "--name", "wall"),
      A: mintAgentToken(daemon.token, { agentId: "w", taskId: "t", incarnation: 1 }),
      Q: mintAgentToken(daemon.token, { agentId: "w", taskId: null, incarnation: 1 }),
      X: mintAgentToken(daemon.token, { agentId: "x", taskId: "u", incarnation: 1 }),
      P: (await daemon.cli("token", "ping", "w")).stdout.trim().split("/").at(-1) ?? "",
      N: null,
    };
    const rows = matrix.trim().split("\n");
    const found: string[] = [];
    for (const row of rows) {
      const [method = "", path = ""] = row.slice(15).trim().split(/ +/);
      const marks: string[] = [];
      for (const [mark, token] of Object.entries(tokens)) {
        const sent = { method, path, ...(method === "POST" ? { body: "{}" } : {}) };
        const { status } = await (token === null
          ? sendRequest(daemon, { ...sent, headers: { authorization: null } })
          : sendRequest(as(token), sent));
        expect(status, `${mark} ${row}`).not.toBe(500);
        if (token !== null && !path.startsWith("/ping")) expect(status, `${mark} ${row}`).not.toBe(401);
        marks.push(status === 403 || status === 401 ? "–" : mark);
      }
      found.push(`${marks.join(" ")}  ${row.slice(17)}`);
    }
    expect(found).toEqual(rows);
    expect(rows).toHaveLength(new Set(rows).size);
    const asked = rows.map((row) => row.slice(17).replace(/ +/, " "));
    const unasked = (await operations()).filter((line) => !asked.some((row) => line.test(row)));
    expect(unasked).toEqual([]);
    const refused = await linesOf("request-refused");
    expect(new Set(refused.map(({ actor }) => actor))).toEqual(
      new Set(["orchestrator:planner", "viewer:wall", "ping:w"]),
    );
  });

  it("asks by any spelling of a path for what its role may do, and no more", async () => {
    const viewer = as(await issue("--role", "viewer", "--name", "speller"));
    for (const path of ["/api/v1/%66reeze", "/api/v1/freeze?x=1", "/api/v1/agents/%77/terminate", "/api/v1/freeze#x"]) {
      const { status } = await sendRequest(viewer, { path, body: "{}" });
      expect([403, 404], path).toContain(status);
    }
    expect((await sendRequest(viewer, { method: "HEAD", path: "/api/v1/agents" })).status).toBe(200);
    expect((await sendRequest(viewer, { method: "HEAD", path: "/api/v1/config" })).status).toBe(403);
    expect((await daemon.rouse.status()).monitor.frozen).toBeNull();
  });

  it("is refused from the moment it is revoked, on open connections and streams too", async () => {
    const token = await issue("--role", "viewer", "--name", "leaves");
    const stream = await openStream({ ...daemon, token });
    expect((await sendRequest(as(token), { path: "/api/v1/agents" })).status).toBe(200);
    expect(await daemon.cli("token", "revoke", "leaves")).toMatchObject({ code: 0, stdout: "leaves is revoked.\n" });
    expect((await sendRequest(as(token), { path: "/api/v1/agents" })).status).toBe(401);
    await daemon.rouse.recordHeartbeat({ agentId: "after-the-revocation" });
    await until("the stream is cut off", () => stream.hasEnded() || undefined);
    expect(JSON.stringify(stream.events)).not.toContain("after-the-revocation");
    expect(await daemon.cli("token", "revoke", "leaves")).toMatchObject({ code: 1 });
    const again = await issue("--role", "viewer", "--name", "leaves");
    expect((await sendRequest(as(token), { path: "/api/v1/agents" })).status).toBe(401);
    expect((await sendRequest(as(again), { path: "/api/v1/agents" })).status).toBe(200);
  });

  it("is refused when its time is over", async () => {
    const token = await issue("--role", "viewer", "--name", "short", "--expires", "1s");
    await until("it is refused", async () => {
      const { status } = await sendRequest(as(token), { path: "/api/v1/agents" });
      return status === 401 || undefined;
    });
    expect((await daemon.cli("token", "list")).stdout).toMatch(/^short +viewer +– .*expired$/m);
  });

  it("of an agent speaks for that agent in whichever life it is, and for nobody else", async () => {
    const agent = as(await issue("--role", "agent", "--name", "remote", "--agent", "worker-7"));
    const beat = (said: object) => sendRequest(agent, { body: JSON.stringify(said) });
    expect((await beat({ agentId: "worker-7", incarnation: 4 })).json).toMatchObject({ status: "accepted" });
    const next = (await beat({ agentId: "worker-7" })).json as HeartbeatAck;
    expect(next).toMatchObject({ status: "accepted" });
    expect(await daemon.rouse.getAgentHealth("worker-7")).toMatchObject({ incarnation: 4 });
    expect((await beat({ agentId: "worker-8" })).status).toBe(403);
    expect((await sendRequest(agent, { path: "/api/v1/agents/w" })).status).toBe(403);
    expect((await sendRequest(agent, { path: "/api/v1/agents", body: '{"agentId":"worker-7"}' })).status).toBe(201);
  });

  it("is kept as a hash that only its owner can read, and shown to nobody again", async () => {
    const token = await issue("--role", "viewer", "--name", "hashed");
    const folder = join(daemon.home, "tokens");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of readdirSync(folder)) {
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(folder, file), "utf8")).not.toContain(token.slice(-43));
    }
    const listed = await daemon.cli("token", "list", "--json");
    expect(listed.stdout).toContain('"hashed"');
    expect(listed.stdout).not.toMatch(/[0-9a-f]{64}/);
    expect(await daemon.cli("token", "create", "--role", "viewer", "--name", "hashed")).toMatchObject({ code: 7 });
  });
});

describe("who did it", () => {
  it("is who authenticated, whatever a request says of itself; that stands beside it", async () => {
    const planner = as(await issue("--role", "orchestrator", "--name", "decider"));
    const id = (await daemon.rouse.escalateToOrchestrator("w", "it looks odd")).escalation;
    const root = { actor: "root" };
    const post = (target: ReturnType<typeof as>, path: string, body: object) =>
      sendRequest(target, { path, body: JSON.stringify(body) });
    expect((await post(planner, `/api/v1/escalations/${id}/acknowledge`, root)).status).toBe(200);
    expect((await post(planner, "/api/v1/agents/w/nudge", root)).status).toBe(200);
    const decision = { decision: "allow_more_time", ...root };
    expect((await post(planner, `/api/v1/escalations/${id}/decision`, decision)).status).toBe(200);
    const owner = as(daemon.token);
    await post(owner, "/api/v1/tasks", { taskId: "audited", ...root });
    for (const path of [
      "/api/v1/freeze",
      "/api/v1/thaw",
      "/api/v1/agents/w/escalate",
      "/api/v1/agents/w/terminate",
      "/api/v1/agents/w/recover",
      "/api/v1/agents/w/assignments/restore",
      "/api/v1/tasks/audited/recover",
      ...["block", "unblock", "reassign", "cancel", "retry"].map((order) => `/api/v1/tasks/audited/${order}`),
    ])
      expect((await post(owner, path, root)).status, path).not.toBe(400);
    const { json } = await sendRequest(daemon, { path: "/api/v1/audit?limit=1000" });
    const lines = (json as { entries: AuditRecord[] }).entries;
    expect(lines.filter(({ actor }) => actor === "root")).toEqual([]);
    const events = await daemon.events();
    expect(events.filter(({ payload }) => "actor" in payload && payload.actor === "root")).toEqual([]);
    const named = lines.filter(({ evidence }) => evidence["as"] === "root");
    expect(new Set(named.map(({ actor, action }) => `${actor} ${action}`))).toEqual(
      new Set([
        "orchestrator:decider order-acknowledgement",
        "orchestrator:decider order-nudge",
        "orchestrator:decider order-decision",
        "owner order-task-create",
        "owner freeze",
        "owner thaw",
        "owner order-escalation",
        "owner order-stop",
        "owner order-restart",
        "owner order-trust",
        "owner order-task-block",
        "owner order-task-unblock",
        "owner order-task-reassign",
        "owner order-task-cancel",
        "owner order-task-retry",
      ]),
    );
    expect((await daemon.events("ESCALATION_DECIDED")).at(-1)?.payload).toMatchObject({
      actor: "orchestrator:decider",
    });
    expect((await daemon.cli("audit", "list")).stdout).toContain("owner (as root)");
  });
});
