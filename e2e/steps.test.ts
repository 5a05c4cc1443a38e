import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { StepEvent, StepPage, StepsAck } from "@rouse/contract";
import { afterEach, describe, expect, it } from "vitest";
import { readConfig, requireConfig } from "../packages/daemon/src/config/read-config.ts";
import { mintAgentToken } from "../packages/daemon/src/home/agent-token.ts";
import { replayRun } from "../packages/daemon/src/replay/replay-run.ts";
import { cleanUp, makeFolder } from "./clean-up.ts";
import { spawnAgent } from "./held-agents.ts";
import { startRouse } from "./run-rouse.ts";
import { sendRequest } from "./send-request.ts";
import { type Daemon, shareDaemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

const shared = shareDaemon();
afterEach(cleanUp);

const step = (tool: string, args: string, text: string, failed = false): StepEvent[] => [
  { kind: "tool_call", tool, args },
  { kind: "tool_result", tool, text, failed },
];

const testAgain = () => step("Bash", "npm test", "2 failed, 40 passed", true);
/** The same call with the same result as often as you like, each time after a change: work, one piece at a time. */
const fixMore = (i: number) => [...step("Edit", `piece ${i}`, `done ${i}`), ...step("Bash", "npm test", "42 passed")];
const tell = (daemon: Daemon, agentId: string, events: readonly StepEvent[]) =>
  daemon.rouse.recordSteps(agentId, events);
const stateOf = async (daemon: Daemon, agentId: string) => (await daemon.rouse.getAgentHealth(agentId)).state;

/** An agent that runs its tests again and again, one request per step. */
async function loops(daemon: Daemon, agentId: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await tell(daemon, agentId, testAgain());
}

const post = (target: Pick<Daemon, "url" | "token">, agentId: string, body: string, type = "application/json") =>
  sendRequest(target, { path: `/api/v1/agents/${agentId}/steps`, body, headers: { "content-type": type } });

describe("an agent that tells its steps", () => {
  it("is STUCK when it does the same again and again, and its look-alike, which changes something in between, is not", async () => {
    const daemon = shared();
    await loops(daemon, "looper", 5);
    for (let i = 0; i < 8; i++) await tell(daemon, "fixer", fixMore(i));
    expect(await daemon.rouse.getAgentHealth("looper")).toMatchObject({
      state: "STUCK",
      findings: expect.arrayContaining([
        expect.objectContaining({
          kind: "identical-step",
          level: "stuck",
          evidence: { times: 5, events: "1 3 5 7 9" },
        }),
      ]),
    });
    expect(await stateOf(daemon, "fixer")).toBe("HEALTHY");
    const { stdout } = await daemon.cli("why", "looper");
    expect(stdout).toContain("  *  9      Bash  A     A       yes");
    expect((await daemon.cli("why", "fixer")).stdout).not.toContain("EVENT");
    // All at once is judged as one by one.
    await tell(daemon, "batch", [1, 2, 3, 4, 5].flatMap(testAgain));
    expect(await stateOf(daemon, "batch")).toBe("STUCK");
    // A loop that is over at the end of the batch was one all the same.
    await tell(daemon, "past", [...[1, 2, 3, 4, 5].flatMap(testAgain), ...step("Edit", "another way", "done")]);
    const changes = await daemon.rouse.events({ after: 0, agentId: "past", types: ["HEALTH_STATE_CHANGED"] });
    expect(changes.map(({ payload }) => (payload as { to: string }).to)).toContain("STUCK");
    await tell(daemon, "batch", step("Edit", "another way", "done"));
    await tell(daemon, "batch", step("Bash", "npm test", "all passed"));
    expect(await stateOf(daemon, "batch")).toBe("HEALTHY");
  });

  it("is answered which of its events could not be read, and the others count", async () => {
    const daemon = shared();
    const good = JSON.stringify(testAgain()[0]);
    const lines = `${good}\n{"kind":"tool_call"\n\n{"kind":"nonsense"}\n[]\n${good}\n`;
    const { status, json } = await post(daemon, "lines", lines, "application/x-ndjson");
    const { accepted, rejected } = json as StepsAck;
    expect({ status, accepted, indices: rejected.map(({ index }) => index) }).toEqual({
      status: 200,
      accepted: 2,
      indices: [1, 2, 3],
    });
    expect(await post(daemon, "one", good)).toMatchObject({ status: 200, json: { accepted: 1, rejected: [] } });
    expect(await post(daemon, "bad", '{"kind":"nonsense"}')).toMatchObject({
      status: 400,
      json: { accepted: 0, rejected: [{ index: 0, problem: expect.stringContaining("kind: ") }] },
    });
    await expect(daemon.rouse.getAgentHealth("bad")).rejects.toMatchObject({ code: "agent-unknown" });
    expect((await post(daemon, "broken", "{")).status).toBe(400);
    expect((await post(daemon, "rouse.canary", good)).status).toBe(403);
    expect((await post(daemon, "a%20b", good)).status).toBe(400);
    expect((await post(daemon, "many", `[${Array(10_001).fill(good).join(",")}]`)).status).toBe(413);
    const tooLarge = JSON.stringify({ kind: "message", text: "x".repeat(5 * 1024 * 1024) });
    // The refusal comes before the body is through; now and then the connection is gone before it can be read.
    const large = await until("the refusal is read", () => post(daemon, "large", tooLarge).catch(() => null));
    expect(large).toMatchObject({ status: 413, text: expect.stringContaining("4 MiB") });
    const allowed = JSON.stringify({ kind: "message", text: "x".repeat(3 * 1024 * 1024) });
    expect((await post(daemon, "large", allowed)).status).toBe(200);
    expect((await sendRequest(daemon, { path: "/api/v1/agents/lines/steps?limit=0" })).status).toBe(400);
    expect((await sendRequest(daemon, { path: "/api/v1/agents/lines/steps?after=x" })).status).toBe(400);
  });

  it("may do so with a token of its own, for itself and in its own life only", async () => {
    const daemon = shared();
    const as = (agentId: string, incarnation: number) => ({
      url: daemon.url,
      token: mintAgentToken(daemon.token, { agentId, taskId: null, incarnation }),
    });
    const body = JSON.stringify(testAgain());
    expect((await post(as("own", 2), "own", body)).status).toBe(200);
    expect(await daemon.rouse.getAgentHealth("own")).toMatchObject({ incarnation: 2 });
    expect((await sendRequest(as("own", 2), { path: "/api/v1/agents/own/steps" })).status).toBe(200);
    const other = await post(as("liar", 1), "own", body);
    expect(other).toMatchObject({ status: 403, json: { code: "forbidden" } });
    expect((await sendRequest(as("liar", 1), { path: "/api/v1/agents/own/steps" })).status).toBe(403);
    expect((await post(as("own", 1), "own", body)).status).toBe(403);
    expect((await post(as("own", 3), "own", body)).status).toBe(200);
    expect(await daemon.rouse.getAgentHealth("own")).toMatchObject({ incarnation: 3 });
    const { steps } = await daemon.rouse.steps("own");
    expect(steps.map(({ trace }) => trace)).toEqual(["own/2", "own/2", "own/3", "own/3"]);
  });

  it("is known as before when the daemon was killed in between", async () => {
    const first = await startDaemon();
    await loops(first, "survivor", 4);
    const before = await first.rouse.steps("survivor");
    await first.end("SIGKILL");
    const second = await startDaemon({ home: first.home });
    const after = await second.rouse.steps("survivor");
    expect(after.steps.map(({ at: _, receivedAt: __, ...event }) => event)).toEqual(
      before.steps.map(({ at: _, receivedAt: __, ...event }) => event),
    );
    expect((await second.rouse.why("survivor")).steps).toHaveLength(4);
    await loops(second, "survivor", 1);
    expect(await second.rouse.getAgentHealth("survivor")).toMatchObject({ state: "STUCK" });
  });

  it("leaves none of its texts in the data folder, unless it is configured to", async () => {
    const config = "health_monitoring:\n  loops: { keep_text: true }\n";
    for (const keeps of [false, true]) {
      const daemon = await startDaemon(keeps ? { config } : {});
      await tell(daemon, "quiet", [
        ...step("Bash", "curl -H swordfish-1", "swordfish-2"),
        { kind: "message", role: "agent", text: `swordfish-3 ${"x".repeat(400)} swordfish-4` },
      ]);
      const { steps } = await daemon.rouse.steps("quiet");
      expect(steps.map(({ kind }) => kind)).toEqual(["tool_call", "tool_result", "message"]);
      const found = wordsIn(daemon.home, /swordfish-\d/g);
      expect(found).toEqual(keeps ? ["swordfish-1", "swordfish-2", "swordfish-3"] : []);
      const recorded = (await daemon.cli("record", "quiet", "--text")).stdout;
      expect(recorded.includes("swordfish")).toBe(keeps);
      expect((await daemon.cli("record", "quiet")).stdout).not.toContain("swordfish");
    }
  });
});

/** What is written anywhere in a folder, of whatever file. */
function wordsIn(folder: string, words: RegExp): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const texts = files.map((file) => readFileSync(join(file.parentPath, file.name), "latin1"));
  return [...new Set(texts.flatMap((text) => text.match(words) ?? []))].sort();
}

describe("rouse record", () => {
  const policy = requireConfig(readConfig({ file: null, environment: {} })).policyFor({
    agentId: "",
    agentType: null,
    taskId: null,
  });
  const readRecording = (text: string) =>
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as StepEvent & { trace: string });

  it("writes what a replay judges as the daemon did", async () => {
    const daemon = shared();
    const file = join(makeFolder(), "run.jsonl");
    await loops(daemon, "stuck", 5);
    for (let i = 0; i < 6; i++) await tell(daemon, "well", fixMore(i));
    for (const [agentId, verdict, state] of [
      ["stuck", "stuck", "STUCK"],
      ["well", "healthy", "HEALTHY"],
    ] as const) {
      expect((await daemon.cli("record", agentId, "--out", file, "--force")).code).toBe(0);
      const events = readRecording(readFileSync(file, "utf8"));
      expect(events.map(({ trace }) => trace)).toEqual(events.map(() => `${agentId}/1`));
      expect(events[0]).toMatchObject({ at: 0 });
      const { stdout } = await daemon.cli("replay", file, "--json");
      expect(JSON.parse(stdout)).toMatchObject({ trace: `${agentId}/1`, verdict });
      const live = (await daemon.rouse.why(agentId)).agent;
      const replayed = replayRun({ trace: agentId, events }, policy);
      expect([live.state, replayed.verdict]).toEqual([state, verdict]);
      const verdictOf = (findings: readonly { kind: string; level: string; evidence: object }[]) =>
        findings.filter(({ level }) => level === "stuck").map(({ kind, evidence }) => [kind, evidence]);
      expect(verdictOf(replayed.because)).toEqual(verdictOf(live.findings));
    }
  });

  it("never overwrites a file by itself, and says when there is nothing to write", async () => {
    const daemon = shared();
    await loops(daemon, "careful", 1);
    const file = join(makeFolder(), "kept.jsonl");
    writeFileSync(file, "precious");
    const refused = await daemon.cli("record", "careful", "--out", file);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--force") });
    expect(readFileSync(file, "utf8")).toBe("precious");
    expect((await daemon.cli("record", "nobody")).code).toBe(5);
    await daemon.rouse.recordHeartbeat({ agentId: "silent" });
    expect((await daemon.cli("record", "silent")).stderr).toContain("has told of no steps");
  });

  it("follows what comes until Ctrl-C, through a restart of the daemon, each event once", async () => {
    const first = await startDaemon();
    const { port } = new URL(first.url);
    await tell(first, "live", step("Read", "a", "1"));
    const recorder = startRouse(["record", "live", "--follow"], { home: first.home });
    const lines = () => recorder.stdout().split("\n").length - 1;
    await until("the past is written", () => lines() === 2);
    await tell(first, "live", step("Read", "b", "2"));
    await until("it goes on", () => lines() === 4);
    await first.end("SIGKILL");
    await until("it has noticed", () => recorder.stderr().includes("was lost"));
    const second = await startDaemon({ home: first.home, args: ["--port", port] });
    await tell(second, "live", step("Read", "c", "3"));
    await until("it goes on again", () => lines() === 6);
    recorder.child.kill("SIGINT");
    expect((await recorder.ended).code).toBe(130);
    const events = readRecording(recorder.stdout());
    expect(new Set(events.map(({ args_digest: args }) => args ?? "")).size).toBe(4);
    expect(events.map(({ at }) => at)).toEqual(events.map(({ at }) => at).toSorted((a, b) => Number(a) - Number(b)));
  });

  it("reads long runs in pages, and nothing twice", async () => {
    const daemon = shared();
    const calls = Array.from({ length: 7000 }, (_, i) => i);
    for (const part of [calls.slice(0, 4000), calls.slice(4000)]) {
      await tell(
        daemon,
        "long",
        part.flatMap((i) => step("Read", `${i}`, `${i}`)),
      );
    }
    expect(readRecording((await daemon.cli("record", "long")).stdout)).toHaveLength(14_000);
    const page = (search: string) =>
      sendRequest(daemon, { path: `/api/v1/agents/long/steps?${search}` }).then(({ json }) => json as StepPage);
    const newest = await page("limit=3");
    expect(newest.steps.map(({ kind }) => kind)).toEqual(["tool_result", "tool_call", "tool_result"]);
    const older = await page(`limit=2&cursor=${newest.next}`);
    expect((await page(`limit=3&cursor=${older.next}`)).steps).toHaveLength(3);
    expect((await page(`after=${older.last}`)).steps).toHaveLength(3);
    expect((await page("limit=10000")).next).not.toBeNull();
  });
});

describe("a held agent with a stream of JSON", () => {
  it("is STUCK by what its stream shows, without any library, and can be recorded", async () => {
    const daemon = await startDaemon();
    const program = join(makeFolder(), "claude");
    const line = (message: object) => `echo '${JSON.stringify(message)}'`;
    const call = (i: number) => [
      line({
        type: "assistant",
        message: {
          id: `m${i}`,
          content: [{ type: "tool_use", id: `t${i}`, name: "Bash", input: { command: "npm test" } }],
        },
      }),
      line({
        type: "user",
        message: {
          content: [{ type: "tool_result", tool_use_id: `t${i}`, is_error: true, content: `failed in ${i} s` }],
        },
      }),
    ];
    const script = [1, 2, 3, 4, 5, 6].flatMap(call);
    writeFileSync(program, ["#!/bin/sh", ...script, "exec sleep 600"].join("\n"));
    chmodSync(program, 0o755);
    await spawnAgent(daemon.home, "streamer", [program, "-p", "fix it", "--output-format", "stream-json"]);
    await until("it is STUCK", async () => (await stateOf(daemon, "streamer")) === "STUCK");
    const { steps } = await daemon.rouse.why("streamer");
    expect(steps.map(({ args, result, failed }) => [args, result, failed])).toEqual([
      ["A", "A", true],
      ...Array(5).fill(["A", "A~", true]),
    ]);
    const recorded = (await daemon.cli("record", "streamer")).stdout;
    expect(recorded).not.toContain("npm test");
    const kinds = recorded.match(/"kind":"tool_\w+"/g);
    expect(kinds).toHaveLength(12);
  });
});
