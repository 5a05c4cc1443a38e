import { afterEach, expect, it } from "vitest";
import { cleanUp } from "./clean-up.ts";
import { startDaemon } from "./start-daemon.ts";

afterEach(cleanUp);

it("a breaker inside an agent is told with its beats, listed, kept across a crash, and reset by hand", async () => {
  let daemon = await startDaemon();
  const open = { operation: "external_api/api.example.com", state: "OPEN", failures: 3, retryInSeconds: 60 } as const;
  await daemon.rouse.recordHeartbeat({ agentId: "w", sequenceNumber: 1, breakers: [open] });
  const name = "w/external_api/api.example.com";
  expect(await daemon.events("CIRCUIT_BREAKER_STATE_CHANGED")).toMatchObject([
    { payload: { name, from: "CLOSED", to: "OPEN" } },
  ]);
  await daemon.end("SIGKILL");
  daemon = await startDaemon({ home: daemon.home });
  const { rouse } = daemon;
  expect(await rouse.getCircuitBreakerStatus(name)).toMatchObject({ state: "OPEN", source: "agent", trips: 1 });
  expect((await rouse.getAgentHealth("w")).circuitBreakers).toMatchObject([{ name, state: "OPEN" }]);
  expect((await daemon.cli("breakers")).stdout).toMatch(/^BREAKER .*\nw\/external_api\/api\.example\.com +OPEN /);
  const typo = await daemon.cli("breakers", "reset", "w/external_api/api.example.con");
  expect(typo).toMatchObject({ code: 5, stderr: expect.stringContaining(`did you mean ${name}?`) });
  const reset = await daemon.cli("breakers", "reset", name, "--reason", "it works again");
  expect(reset).toMatchObject({ code: 0, stdout: `${name} is CLOSED; its agent is told with its next heartbeat\n` });
  // The agent is told with each acknowledgement until it says that it has read it.
  const told = await rouse.recordHeartbeat({ agentId: "w", sequenceNumber: 2, breakers: [open] });
  // The monitor was not there for a while: it asks to be told everything as well.
  expect(told.commands).toMatchObject([{ kind: "check-in" }, { kind: "reset-breaker", breaker: open.operation }]);
  expect((await rouse.getCircuitBreakerStatus(name)).state).toBe("CLOSED");
  const seen = told.commands.map(({ id }) => id);
  const heard = await rouse.recordHeartbeat({ agentId: "w", sequenceNumber: 3, seen });
  expect(heard.commands).toEqual([]);
  expect(await rouse.getCircuitBreakerStatus(name)).toMatchObject({ resetPending: false });
  expect((await daemon.cli("audit", "list")).stdout).toMatch(/order-reset-breaker +w\/external_api\/api\.example\.com/);
});

it("a tool that fails again and again trips a breaker without the agent's doing, by the rules of its settings", async () => {
  const config =
    "health_monitoring: { circuit_breaker: { overrides: { tool_execution: { failure_threshold: 4 }, tool_execution/grep: { failure_threshold: 2 } } } }\n";
  const daemon = await startDaemon({ config });
  const fails = (tool: string) =>
    daemon.rouse.recordSteps("w", [
      { kind: "tool_call", tool },
      { kind: "tool_result", tool, failed: true, text: `${tool} failed` },
    ]);
  const states = async () =>
    Object.fromEntries((await daemon.rouse.getAllCircuitBreakers()).map(({ operation, state }) => [operation, state]));
  await fails("grep");
  await fails("grep");
  expect(await states()).toEqual({ tool_execution: "CLOSED", "tool_execution/grep": "OPEN" });
  await fails("ls");
  await fails("ls");
  expect(await states()).toMatchObject({ tool_execution: "OPEN", "tool_execution/ls": "CLOSED" });
  await daemon.rouse.resetCircuitBreaker("w/tool_execution");
  expect(await daemon.rouse.getCircuitBreakerStatus("w/tool_execution")).toMatchObject({
    state: "CLOSED",
    source: "observed",
    resetPending: false,
  });
});
