import { connectRouse, type RouseClient } from "@rouse/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import { type Route, readQuery } from "./route.ts";
import { tableOfMonitor } from "./table.test-support.ts";

let table: readonly Route[];
beforeAll(async () => {
  ({ table } = await tableOfMonitor());
});

interface Asked {
  readonly method: string;
  readonly url: URL;
  readonly body: unknown;
}

/** Every method of the client, called with all it takes. */
const calls: { readonly [M in keyof RouseClient]: (rouse: RouseClient) => unknown } = {
  getAgentHealth: (rouse) => rouse.getAgentHealth("w"),
  getAllAgentHealth: (rouse) =>
    rouse.getAllAgentHealth({
      filter: "unhealthy",
      state: ["STUCK", "FAILING"],
      type: "t",
      node: "n",
      task: "t",
      q: "w",
    }),
  fleet: (rouse) => rouse.fleet(),
  getHealthHistory: (rouse) => rouse.getHealthHistory("w", 60_000),
  recordHeartbeat: (rouse) => rouse.recordHeartbeat({ agentId: "w", status: "RUNNING" }),
  getLastHeartbeat: (rouse) => rouse.getLastHeartbeat("w"),
  registerAgent: (rouse) => rouse.registerAgent({ agentId: "w", taskId: "t" }),
  terminateAgent: (rouse) => rouse.terminateAgent("w", { reason: "r", force: true, actor: "ada" }),
  recoverAgent: (rouse) => rouse.recoverAgent("w", { reason: "r" }),
  removeAgent: (rouse) => rouse.removeAgent("w", { reason: "r", actor: "ada" }),
  initiateRecovery: (rouse) => rouse.initiateRecovery("t", { reason: "r" }),
  getRecoveryStatus: (rouse) => rouse.getRecoveryStatus("t"),
  getCircuitBreakerStatus: (rouse) => rouse.getCircuitBreakerStatus("w/tool_execution"),
  getAllCircuitBreakers: (rouse) => rouse.getAllCircuitBreakers(),
  resetCircuitBreaker: (rouse) => rouse.resetCircuitBreaker("w/tool_execution", { reason: "r", actor: "ada" }),
  breakerRules: (rouse) => rouse.breakerRules("w"),
  takeFromRateLimit: (rouse) =>
    rouse.takeFromRateLimit("github", { cost: { requests: 1 }, allow: { requests: { most: 60, perMs: 60_000 } } }),
  recordSteps: (rouse) => rouse.recordSteps("w", [{ kind: "tool_call", tool: "Bash" }]),
  steps: (rouse) => rouse.steps("w", { limit: 5, after: "1.0", cursor: "9.0" }),
  why: (rouse) => rouse.why("w"),
  events: (rouse) => rouse.events({ after: 1, agentId: "w", types: ["AGENT_FINISHED"], limit: 5 }),
  streamEvents: async (rouse) => {
    for await (const _ of rouse.streamEvents({ after: 1, agentId: "w", types: ["AGENT_FINISHED"] })) break;
  },
  incidents: (rouse) => rouse.incidents({ state: "closed", agentId: "w", limit: 5, cursor: "7" }),
  recoveries: (rouse) => rouse.recoveries({ agentId: "w", limit: 5, cursor: "7" }),
  closedEscalations: (rouse) => rouse.closedEscalations({ agentId: "w", limit: 5, cursor: "7" }),
  status: (rouse) => rouse.status(),
  freeze: (rouse) => rouse.freeze({ reason: "r", actor: "ada" }),
  thaw: (rouse) => rouse.thaw({ reason: "r" }),
  escalations: (rouse) => rouse.escalations({ agentId: "w" }),
  escalation: (rouse) => rouse.escalation("w.1"),
  decide: (rouse) => rouse.decide("w.1", { decision: "allow_more_time", minutes: 5 }),
  acknowledge: (rouse) => rouse.acknowledge("w.1", { actor: "ada" }),
  sendNudge: (rouse) => rouse.sendNudge("w", "go on", "ada"),
  escalateToOrchestrator: (rouse) => rouse.escalateToOrchestrator("w", "odd", "ada"),
  answerNudge: (rouse) => rouse.answerNudge("w", { kind: "update", text: "half way" }),
  checkIn: (rouse) => rouse.checkIn("w"),
  saveCheckpoint: (rouse) => rouse.saveCheckpoint("t", { step: 1, state: { a: 1 } }),
  checkpoints: (rouse) => rouse.checkpoints("t", { limit: 5 }),
  checkpoint: (rouse) => rouse.checkpoint("a".repeat(64)),
  verifyCheckpoints: (rouse) => rouse.verifyCheckpoints("t"),
  createTask: (rouse) => rouse.createTask({ taskId: "t", priority: "high", dependsOn: ["s"] }),
  tasks: (rouse) => rouse.tasks({ status: ["pending", "running"], agentId: "w", limit: 5, cursor: "open.1.t" }),
  task: (rouse) => rouse.task("t"),
  taskHealth: (rouse) => rouse.taskHealth(),
  claimTask: (rouse) => rouse.claimTask("t", "w"),
  claimNextTask: (rouse) => rouse.claimNextTask("w"),
  refreshTask: (rouse) => rouse.refreshTask("t", { agentId: "w", claim: 1 }),
  updateTask: (rouse) => rouse.updateTask("t", { agentId: "w", claim: 1, note: "n", status: "running" }),
  completeTask: (rouse) => rouse.completeTask("t", { agentId: "w", claim: 1, note: "n" }),
  failTask: (rouse) => rouse.failTask("t", { agentId: "w" }),
  releaseTask: (rouse) => rouse.releaseTask("t", { agentId: "w" }),
  cancelTask: (rouse) => rouse.cancelTask("t", { reason: "r", actor: "ada" }),
  reassignTask: (rouse) => rouse.reassignTask("t", { to: "v" }),
  blockTask: (rouse) => rouse.blockTask("t", { reason: "r" }),
  unblockTask: (rouse) => rouse.unblockTask("t", { reason: "r" }),
  retryTask: (rouse) => rouse.retryTask("t", { reason: "r" }),
  restoreAssignments: (rouse) => rouse.restoreAssignments("w", { reason: "r" }),
};

async function askedBy(call: (rouse: RouseClient) => unknown): Promise<Asked[]> {
  const asked: Asked[] = [];
  const rouse = connectRouse({
    url: "http://127.0.0.1:1",
    token: "any",
    fetch: async (url, { method = "GET", body }) => {
      asked.push({ method, url: new URL(url), body: body === undefined ? undefined : JSON.parse(body) });
      return new Response("{}", { status: 500 });
    },
  });
  await Promise.resolve(call(rouse)).catch(() => undefined);
  return asked;
}

/** The line that a request is for: the one that spells more of the path out. */
const lineFor = ({ method, url }: Asked): Route | undefined =>
  table
    .filter(
      (line) =>
        line.method === method && new RegExp(`^${line.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(url.pathname),
    )
    .sort((a, b) => a.path.split("{").length - b.path.split("{").length)[0];

describe("what the client asks for", () => {
  it.each(Object.keys(calls) as (keyof RouseClient)[])(
    "by %s is in the table, query and body included",
    async (name) => {
      const asked = await askedBy(calls[name]);
      expect(asked.length).toBeGreaterThan(0);
      for (const one of asked) {
        const line = lineFor(one);
        expect(line, `${one.method} ${one.url.pathname}`).toBeDefined();
        expect(() => readQuery(line?.request?.query ?? {}, Object.fromEntries(one.url.searchParams))).not.toThrow();
        expect(one.body === undefined).toBe(line?.request?.body === undefined);
        for (const part of one.body === undefined ? [] : [one.body].flat())
          expect(line?.request?.body?.safeParse(part)).toMatchObject({ success: true });
      }
    },
  );

  it("is everything there is to ask, but for what only people, tools and older clients want", async () => {
    const asked = (await Promise.all(Object.values(calls).map(askedBy))).flat().map(lineFor);
    const others = table.filter((line) => !asked.includes(line)).map(({ method, path }) => `${method} ${path}`);
    expect(others.toSorted()).toEqual(
      [
        "DELETE /mcp",
        "GET /api/health/agents",
        "GET /api/v1/audit",
        "GET /api/v1/audit/head",
        "GET /api/v1/config",
        "GET /api/v1/openapi.json",
        "GET /escalations",
        "GET /livez",
        "GET /mcp",
        "GET /metrics",
        "GET /ping/{agent}/{token}",
        "GET /readyz",
        "POST /escalations/{id}/decision",
        "POST /mcp",
        "POST /ping/{agent}/{token}",
      ].toSorted(),
    );
  });
});
