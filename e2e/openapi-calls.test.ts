import { connectRouse, type RouseClient } from "@rouse/sdk";
import { afterEach, expect, it } from "vitest";
import { forever, sh } from "./agent-once.ts";
import { checkAgainstOpenapi } from "./check-against-openapi.ts";
import { cleanUp } from "./clean-up.ts";
import { spawnAgent } from "./held-agents.ts";
import { startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

type Call = (rouse: RouseClient) => Promise<unknown>;

const quick = "health_monitoring: { intervention: { termination: { grace_seconds: 1 } } }\n";
const open = { operation: "external_api/x", state: "OPEN", failures: 3 } as const;

/** Every method of the client at least once, in an order in which each has something to do. */
const story: readonly (readonly [method: keyof RouseClient, call: Call])[] = [
  ["registerAgent", (rouse) => rouse.registerAgent({ agentId: "w", agentType: "coder", node: "n" })],
  ["recordHeartbeat", (rouse) => rouse.recordHeartbeat({ agentId: "w", status: "RUNNING", breakers: [open] })],
  ["recordSteps", (rouse) => rouse.recordSteps("w", [{ kind: "tool_call", tool: "Bash", args: "ls" }], { key: "k" })],
  ["steps", (rouse) => rouse.steps("w", { limit: 5 })],
  ["getAgentHealth", (rouse) => rouse.getAgentHealth("w")],
  ["getAllAgentHealth", (rouse) => rouse.getAllAgentHealth({ state: ["HEALTHY", "DEGRADED"], type: "coder", q: "w" })],
  ["fleet", (rouse) => rouse.fleet()],
  ["getHealthHistory", (rouse) => rouse.getHealthHistory("w", 60_000)],
  ["getLastHeartbeat", (rouse) => rouse.getLastHeartbeat("w")],
  ["why", (rouse) => rouse.why("w")],
  ["breakerRules", (rouse) => rouse.breakerRules("w")],
  ["getAllCircuitBreakers", (rouse) => rouse.getAllCircuitBreakers()],
  ["getCircuitBreakerStatus", (rouse) => rouse.getCircuitBreakerStatus("w/external_api/x")],
  ["resetCircuitBreaker", (rouse) => rouse.resetCircuitBreaker("w/external_api/x", { reason: "fixed" })],
  ["sendNudge", (rouse) => rouse.sendNudge("w", "look at the failing test", "ada", { key: "n" })],
  ["checkIn", (rouse) => rouse.checkIn("w")],
  ["answerNudge", (rouse) => rouse.answerNudge("w", { kind: "update", text: "half way" })],
  ["escalateToOrchestrator", (rouse) => rouse.escalateToOrchestrator("w", "it asks for help")],
  ["escalations", (rouse) => rouse.escalations({ agentId: "w" })],
  ["escalation", (rouse) => rouse.escalation("w.1")],
  ["acknowledge", (rouse) => rouse.acknowledge("w.1", { actor: "ada" })],
  ["decide", (rouse) => rouse.decide("w.1", { decision: "force_handoff" })],
  ["closedEscalations", (rouse) => rouse.closedEscalations({ agentId: "w", limit: 5 })],
  ["incidents", (rouse) => rouse.incidents({ state: "open", limit: 5 })],
  ["createTask", (rouse) => rouse.createTask({ taskId: "t", priority: "high" }, { key: "t" })],
  ["createTask", (rouse) => rouse.createTask({ taskId: "s" })],
  ["tasks", (rouse) => rouse.tasks({ status: ["pending"], limit: 5 })],
  ["task", (rouse) => rouse.task("t")],
  ["taskHealth", (rouse) => rouse.taskHealth()],
  ["claimTask", (rouse) => rouse.claimTask("t", "w")],
  ["refreshTask", (rouse) => rouse.refreshTask("t", { agentId: "w", claim: 1 })],
  ["updateTask", (rouse) => rouse.updateTask("t", { agentId: "w", note: "half way" })],
  ["saveCheckpoint", (rouse) => rouse.saveCheckpoint("t", { step: 1, state: { files: ["a"] } })],
  ["checkpoints", (rouse) => rouse.checkpoints("t", { limit: 5 })],
  ["checkpoint", async (rouse) => rouse.checkpoint((await rouse.checkpoints("t"))[0]?.id ?? "")],
  ["verifyCheckpoints", (rouse) => rouse.verifyCheckpoints("t")],
  ["getRecoveryStatus", (rouse) => rouse.getRecoveryStatus("t")],
  ["releaseTask", (rouse) => rouse.releaseTask("t", { agentId: "w" })],
  ["reassignTask", (rouse) => rouse.reassignTask("t", { to: "w" })],
  ["claimNextTask", (rouse) => rouse.claimNextTask("w")],
  ["completeTask", (rouse) => rouse.completeTask("t", { agentId: "w", note: "done" })],
  ["blockTask", (rouse) => rouse.blockTask("s", { reason: "later" })],
  ["unblockTask", (rouse) => rouse.unblockTask("s", { reason: "now" })],
  ["claimTask", (rouse) => rouse.claimTask("s", "w")],
  ["failTask", (rouse) => rouse.failTask("s", { agentId: "w", note: "no luck" })],
  ["retryTask", (rouse) => rouse.retryTask("s", { reason: "again" })],
  ["cancelTask", (rouse) => rouse.cancelTask("s", { reason: "never mind" })],
  ["restoreAssignments", (rouse) => rouse.restoreAssignments("w", { reason: "trusted" })],
  [
    "takeFromRateLimit",
    (rouse) => rouse.takeFromRateLimit("api", { allow: { requests: { most: 5, perMs: 1000 } }, cost: { requests: 1 } }),
  ],
  ["status", (rouse) => rouse.status()],
  ["freeze", (rouse) => rouse.freeze({ reason: "look", actor: "ada" })],
  ["thaw", (rouse) => rouse.thaw()],
  ["events", (rouse) => rouse.events({ after: 0, agentId: "w", types: ["AGENT_REGISTERED"], limit: 5 })],
  ["streamEvents", async (rouse) => (await rouse.streamEvents({ after: 0 })[Symbol.asyncIterator]().next()).value],
  ["recoverAgent", (rouse) => rouse.recoverAgent("held", { reason: "start over" })],
  ["recoveries", (rouse) => rouse.recoveries({ agentId: "held", limit: 5 })],
  ["initiateRecovery", (rouse) => rouse.initiateRecovery("t", { reason: "again" })],
  ["terminateAgent", (rouse) => rouse.terminateAgent("held", "enough")],
  ["removeAgent", (rouse) => rouse.removeAgent("w", { reason: "over" })],
];

/** What may be refused here: what it does is tested elsewhere, and its refusal is described, too. */
const mayBeRefused: readonly (keyof RouseClient)[] = ["initiateRecovery", "terminateAgent", "removeAgent"];

it("every call of the client is in the OpenAPI document of a real daemon: path, query, body and answer", async () => {
  const daemon = await startDaemon({ config: quick });
  await spawnAgent(daemon.home, "held", sh(forever));
  const { fetch, differences, answered } = await checkAgainstOpenapi(daemon);
  const rouse = connectRouse({ url: daemon.url, token: daemon.token, fetch, timeout: 60_000 });
  const methods = Object.keys(rouse).filter((name) => typeof rouse[name as keyof RouseClient] === "function");
  expect(methods.filter((name) => !story.some(([method]) => method === name))).toEqual([]);
  const refused: string[] = [];
  for (const [method, call] of story)
    await call(rouse).catch((error: unknown) => refused.push(`${method}: ${String(error)}`));
  expect(differences).toEqual([]);
  expect(refused.filter((one) => !mayBeRefused.some((method) => one.startsWith(`${method}:`)))).toEqual([]);
  expect(answered.size).toBeGreaterThan(45);
});

it("questions about nobody, and what is refused, are answered as the document says", async () => {
  const daemon = await startDaemon();
  const { fetch, differences, answered } = await checkAgainstOpenapi(daemon);
  const rouse = connectRouse({ url: daemon.url, token: daemon.token, fetch, timeout: 60_000 });
  const outsider = connectRouse({ url: daemon.url, token: "wrong", fetch, timeout: 60_000 });
  const asked: readonly (readonly [status: number, operationId: string, call: Promise<unknown>])[] = [
    [404, "getAgent", rouse.getAgentHealth("nobody")],
    [404, "getBreakerRules", rouse.breakerRules("nobody")],
    [404, "getBreaker", rouse.getCircuitBreakerStatus("nobody/x")],
    [404, "getTask", rouse.task("nothing")],
    [401, "getStatus", outsider.status()],
  ];
  const settled = await Promise.allSettled(asked.map(([, , call]) => call));
  expect(settled.map(({ status }) => status)).toEqual(asked.map(() => "rejected"));
  expect(differences).toEqual([]);
  const statuses = [...answered.values()].flatMap((seen) => [...seen]).toSorted();
  expect(statuses).toEqual(asked.map(([status]) => status).toSorted());
});
