import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { sh } from "./agent-once.ts";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { spawnAgent } from "./held-agents.ts";
import { eventOnce } from "./ladder-agents.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

it("a breaker inside an agent is told with its beats, listed, kept across a crash, and reset by hand", async () => {
  let daemon = await startDaemon();
  const open = { operation: "external_api/api.example.com", state: "OPEN", failures: 3, retryInSeconds: 60 } as const;
  await daemon.rouse.recordHeartbeat({ agentId: "w", sequenceNumber: 1, breakers: [open] });
  const name = "w/external_api/api.example.com";
  const [changed, ...more] = await daemon.events("CIRCUIT_BREAKER_STATE_CHANGED");
  expect([changed?.payload, more]).toEqual([{ name, from: "CLOSED", to: "OPEN" }, []]);
  await daemon.end("SIGKILL");
  daemon = await startDaemon({ home: daemon.home });
  const { rouse } = daemon;
  expect(await rouse.getCircuitBreakerStatus(name)).toMatchObject({
    ...{ state: "OPEN", source: "agent", trips: 1, failures: 3, agentOver: false },
  });
  expect((await rouse.getAgentHealth("w")).circuitBreakers).toMatchObject([{ name, state: "OPEN" }]);
  expect((await daemon.cli("breakers")).stdout).toMatch(/^BREAKER .*\nw\/external_api\/api\.example\.com +OPEN /);
  expect(await daemon.cli("breakers", "--agent", "nobody")).toMatchObject({ code: 5, stdout: "" });
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
  const byOperation = async () =>
    Object.fromEntries((await daemon.rouse.getAllCircuitBreakers()).map(({ operation, state }) => [operation, state]));
  await fails("grep");
  await fails("grep");
  expect(await byOperation()).toEqual({ tool_execution: "CLOSED", "tool_execution/grep": "OPEN" });
  await fails("ls");
  await fails("ls");
  expect(await byOperation()).toMatchObject({ tool_execution: "OPEN", "tool_execution/ls": "CLOSED" });
  await daemon.rouse.resetCircuitBreaker("w/tool_execution");
  expect(await daemon.rouse.getCircuitBreakerStatus("w/tool_execution")).toMatchObject({
    state: "CLOSED",
    source: "observed",
    resetPending: false,
  });
});

const states = async ({ rouse }: Daemon): Promise<Record<string, string>> =>
  Object.fromEntries((await rouse.getAllCircuitBreakers()).map(({ name, state }) => [name, state]));

it("an agent whose breakers are open is told of once, with the reason, and no more once they are closed", async () => {
  const daemon = await startDaemon();
  const { rouse } = daemon;
  const beat = (sequenceNumber: number, ...breakers: { operation: string; state: "OPEN" | "CLOSED" }[]) =>
    rouse.recordHeartbeat({ agentId: "w", sequenceNumber, status: "RUNNING", breakers });
  await beat(1, { operation: "external_api/a", state: "OPEN" }, { operation: "external_api/b", state: "OPEN" });
  expect(await rouse.getAgentHealth("w")).toMatchObject({ state: "DEGRADED", stateReason: "breaker-open" });
  await beat(2, { operation: "tool_execution", state: "OPEN" });
  expect(await rouse.getAgentHealth("w")).toMatchObject({ state: "FAILING", stateReason: "breaker-open" });
  const raised = await daemon.events("ALERT_RAISED");
  expect(raised.map(({ payload }) => "severity" in payload && payload.severity)).toEqual(["warning", "critical"]);
  for (const word of ["why", "health"])
    expect((await daemon.cli(word, "w")).stdout).toContain(
      "its circuit breaker for all its tools is open, as it reports",
    );
  expect((await daemon.cli("ps")).stdout).toMatch(/w +FAILING/);
  const { payload } = (await daemon.events("HEALTH_STATE_CHANGED")).at(-1) ?? {};
  expect(payload).toMatchObject({ to: "FAILING", reason: "breaker-open" });
  // An agent has no say in how often it is brought back.
  await beat(3, { operation: "recovery_attempt", state: "OPEN" }, { operation: "tool_execution", state: "CLOSED" });
  expect(Object.keys(await states(daemon))).not.toContain("w/recovery_attempt");
  await beat(4, { operation: "external_api/a", state: "CLOSED" });
  await daemon.cli("breakers", "reset", "w/external_api/b");
  expect((await rouse.getAgentHealth("w")).state).toBe("HEALTHY");
  expect(await daemon.events("ALERT_RESOLVED")).toHaveLength(2);
  const metrics = await (
    await fetch(`${daemon.url}/metrics`, { headers: { authorization: `Bearer ${daemon.token}` } })
  ).text();
  expect(metrics).toContain('rouse_breakers{state="CLOSED",source="agent"} 3');
  expect(metrics).toContain('rouse_breakers{state="OPEN",source="observed"} 0');
  expect(metrics).toContain("rouse_breaker_trips_total 3");
  expect(metrics).toContain("rouse_breaker_resets_total 1");
});

it("a reset reaches its agent though the monitor crashed and the agent began a new life since", async () => {
  let daemon = await startDaemon();
  const open = { operation: "external_api", state: "OPEN", failures: 3, retryInSeconds: 600 } as const;
  await daemon.rouse.recordHeartbeat({ agentId: "w", incarnation: 1, sequenceNumber: 1, breakers: [open] });
  await daemon.cli("breakers", "reset", "w/external_api");
  await daemon.end("SIGKILL");
  daemon = await startDaemon({ home: daemon.home });
  const born = { agentId: "w", incarnation: 2 } as const;
  const told = await daemon.rouse.recordHeartbeat({ ...born, sequenceNumber: 1, breakers: [open] });
  const reset = told.commands.find(({ kind }) => kind === "reset-breaker");
  expect(reset).toMatchObject({ breaker: "external_api" });
  expect(await daemon.rouse.getCircuitBreakerStatus("w/external_api")).toMatchObject({
    state: "CLOSED",
    resetPending: true,
  });
  // Nothing of it is lost by another crash, and once it is heard of it is over.
  await daemon.end("SIGKILL");
  daemon = await startDaemon({ home: daemon.home });
  const again = await daemon.rouse.recordHeartbeat({ ...born, sequenceNumber: 2 });
  expect(again.commands.map(({ id }) => id)).toContain(reset?.id);
  await daemon.rouse.recordHeartbeat({ ...born, sequenceNumber: 3, seen: [reset?.id ?? ""] });
  await daemon.end("SIGKILL");
  daemon = await startDaemon({ home: daemon.home });
  const over = await daemon.rouse.recordHeartbeat({ ...born, sequenceNumber: 4, breakers: [open] });
  expect(over.commands.map(({ kind }) => kind)).not.toContain("reset-breaker");
  expect(await states(daemon)).toEqual({ "w/external_api": "OPEN" });
});

it("a breaker of a former life is closed, unless the new one says it again, and those of a removed agent are gone", async () => {
  const daemon = await startDaemon();
  const { rouse } = daemon;
  const open = (operation: string) => ({ operation, state: "OPEN" }) as const;
  const both = [open("external_api/a"), open("external_api/b")];
  await rouse.recordHeartbeat({ agentId: "w", incarnation: 1, breakers: both });
  await rouse.recordHeartbeat({ agentId: "w", incarnation: 2, breakers: [open("external_api/b")] });
  expect(await states(daemon)).toEqual({ "w/external_api/a": "CLOSED", "w/external_api/b": "OPEN" });
  await rouse.recordHeartbeat({ agentId: "w", incarnation: 2, status: "FINISHED" });
  // What is over needs nobody: it is shown to who asks for it, and the API says so.
  expect((await daemon.cli("breakers")).stdout).toBe("2 breakers of agents that are over: --all\n");
  for (const option of [["--all"], ["--agent", "w"]])
    expect((await daemon.cli("breakers", ...option)).stdout).toMatch(/^w\/external_api\/b +OPEN/m);
  expect(await rouse.getCircuitBreakerStatus("w/external_api/b")).toMatchObject({ agentOver: true });
  await daemon.cli("rm", "w");
  expect(await states(daemon)).toEqual({});
});

it("a held agent's failing calls are seen in its stream, without any library, each once", async () => {
  const daemon = await startDaemon();
  const program = join(makeFolder(), "claude");
  const line = (message: object) => `echo '${JSON.stringify(message)}'`;
  const call = (i: number) => [
    line({
      type: "assistant",
      message: {
        id: `m${i}`,
        content: [{ type: "tool_use", id: `t${i}`, name: "Bash", input: { command: `look ${i}` } }],
      },
    }),
    line({
      type: "user",
      message: { content: [{ type: "tool_result", tool_use_id: `t${i}`, is_error: true, content: `no ${i}` }] },
    }),
  ];
  const script = [1, 2, 3, 4].flatMap(call);
  writeFileSync(program, ["#!/bin/sh", ...script, "read more", ...call(5), "exec sleep 600"].join("\n"));
  chmodSync(program, 0o755);
  await spawnAgent(daemon.home, "streamer", [program, "-p", "fix it", "--output-format", "stream-json"]);
  const failures = async () =>
    Object.fromEntries((await daemon.rouse.getAllCircuitBreakers()).map(({ name, failures }) => [name, failures]));
  await until("four failures are counted", async () => (await failures())["streamer/tool_execution"] === 4);
  // What it would tell of its steps besides is the same calls.
  await daemon.rouse.recordSteps("streamer", [{ kind: "tool_result", tool: "Bash", failed: true, text: "no 4" }]);
  expect(await failures()).toEqual({ "streamer/tool_execution": 4, "streamer/tool_execution/Bash": 4 });
});

it("what cannot be started again is not tried without end: the breaker before it opens, and a person's word closes it", async () => {
  const config = `
health_monitoring:
  restart: { cooldown_seconds: 1, max_attempts: 50 }
  circuit_breaker: { overrides: { recovery_attempt: { failure_threshold: 2, recovery_timeout_seconds: 3600 } } }
`;
  let daemon = await startDaemon({ config });
  await spawnAgent(daemon.home, "crasher", sh("exit 3"), ["--restart", "on-failure:50"]);
  const name = "crasher/recovery_attempt";
  const isOpen = () =>
    until("it is open", async () => (await states(daemon))[name] === "OPEN" && (await daemon.rouse.why("crasher")));
  await isOpen();
  await daemon.end("SIGKILL");
  daemon = await startDaemon({ home: daemon.home });
  const { agent } = await isOpen();
  expect(agent.incident).toMatchObject({ stage: "down", heldBy: "breaker-open" });
  expect((await daemon.cli("why", "crasher")).stdout).toContain("because the last attempts to bring it back failed");
  const [listed] = (await daemon.rouse.getAllCircuitBreakers()).filter((one) => one.name === name);
  expect(listed).toMatchObject({ source: "rouse", operation: "recovery_attempt", trips: 1, resetPending: false });
  const before = (await daemon.events("RESTART_ORDERED")).length;
  expect(before).toBe(2);
  const reset = await daemon.cli("breakers", "reset", name, "--reason", "mended");
  expect(reset).toMatchObject({ code: 0, stdout: `${name} is CLOSED\n` });
  await until("it is tried again", async () => (await daemon.events("RESTART_ORDERED")).length > before);
  const { payload } = await eventOnce(daemon, "crasher", "CIRCUIT_BREAKER_STATE_CHANGED");
  expect(payload).toEqual({ name, from: "CLOSED", to: "OPEN" });
});
