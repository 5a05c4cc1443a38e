import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { agentOnce } from "./agent-once.ts";
import { afterwards, cleanUp, makeFolder } from "./clean-up.ts";
import { outputOf, spawnAgent } from "./held-agents.ts";
import { eventOnce, fastPolicy } from "./ladder-agents.ts";
import { type Running, repository, startProgram } from "./run-rouse.ts";
import { type Daemon, startDaemon } from "./start-daemon.ts";
import { until } from "./until.ts";

afterEach(cleanUp);

const there = spawnSync("python3", ["--version"]).status === 0;
if (!there) console.error("e2e: python3 IS NOT ON THIS MACHINE: examples/rouse_client.py is SKIPPED.");

const examples = join(repository, "examples");
const files = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map((name) => join(repository, name));

const prelude = `
import json, os, sys, threading, time, urllib.request
sys.path.insert(0, ${JSON.stringify(examples)})
from rouse_client import Agent, Breaker, BreakerOpen, retry, retry_after
def gate(name):
    return urllib.request.urlopen(os.environ["GATE"] + "/" + name, timeout=60).read().decode()
`;

/** A Python program with the client, which waits where it calls \`gate(NAME)\` until that is opened. */
function python(text: string, home: string, environment: Readonly<Record<string, string>> = {}): Running {
  return startProgram("python3", ["-c", prelude + text], {
    home,
    environment: { PYTHONDONTWRITEBYTECODE: "1", PYTHONUNBUFFERED: "1", ...environment },
  });
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

async function serve(answer: Answer): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await new Promise((listening) => server.once("listening", listening));
  afterwards(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Where programs wait: `reached` resolves once one does, `open` lets it go on. */
async function openGates() {
  const waiting = new Map<string, ServerResponse>();
  const GATE = await serve((request, response) => waiting.set(request.url?.slice(1) ?? "", response));
  return {
    GATE,
    reached: (name: string) => until(`a program waits at ${name}`, () => waiting.has(name)),
    open(name: string) {
      waiting.get(name)?.end("open");
      waiting.delete(name);
    },
  };
}

async function endsWell(running: Running): Promise<string> {
  const { code, stdout, stderr } = await running.ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

const tries = it.skipIf(!there);

describe("examples/worker_sdk.py", () => {
  const start = (daemon: Daemon, task: string) =>
    startProgram("python3", [join(examples, "worker_sdk.py"), ...files], {
      home: daemon.home,
      environment: {
        PYTHONDONTWRITEBYTECODE: "1",
        ROUSE_TOKEN: daemon.token,
        ROUSE_AGENT_ID: "counter",
        ROUSE_TASK_ID: task,
      },
    });

  tries(
    "says in passing what it does: beats, steps, checkpoints, and that it has finished; again in a new life",
    async () => {
      const daemon = await startDaemon();
      for (const life of [1, 2]) {
        expect(await endsWell(start(daemon, `count-${life}`))).toMatch(
          /^step 1: .*\nstep 2: .*\nstep 3: .*\n\d+ words\n$/,
        );
        expect(await daemon.rouse.getAgentHealth("counter")).toMatchObject({
          state: "HEALTHY",
          incarnation: life,
          activity: { kind: "FINISHED" },
          metrics: { toolCallCount: 3, errorCount: null },
        });
        const { beats } = await daemon.rouse.why("counter");
        expect(beats).toMatchObject({ lost: 0, stale: 0, refused: 0 });
        const saved = await daemon.rouse.checkpoints(`count-${life}`, { limit: 3 });
        expect(saved.map(({ step }) => step)).toEqual([3, 2, 1]);
        expect(saved[0]?.stepName).toMatch(/^counted .*CONTRIBUTING\.md$/);
      }
      const { steps } = await daemon.rouse.steps("counter");
      expect(steps.map(({ kind }) => kind)).toEqual(Array(6).fill(["tool_call", "tool_result"]).flat());
      expect((await daemon.cli("checkpoints", "verify", "count-2")).code).toBe(0);
    },
  );
});

describe("a Python agent that Rouse started", () => {
  tries("and that is killed goes on after its last completed step, with the state it saved", async () => {
    const daemon = await startDaemon({ config: fastPolicy });
    const program = `${prelude}
with Agent(every=0.2) as agent:
    done, state = agent.resume([])
    print("begins after", done, state, flush=True)
    for step in range(done + 1, 5):
        state.append(step)
        print("saved" if agent.checkpoint(step, state) == "saved" else "LOST", step, flush=True)
        if step == 2 and not agent.recovered:
            os.kill(os.getpid(), 9)
`;
    const file = join(makeFolder(), "agent.py");
    writeFileSync(file, program);
    await spawnAgent(daemon.home, "snake", ["python3", file], ["--task", "crawl"]);
    await agentOnce(daemon, "snake", "finishes", ({ over }) => over?.how === "finished" || over?.how === "exited");
    const { payload } = await eventOnce(daemon, "snake", "RECOVERY_COMPLETED");
    expect(payload).toMatchObject({ step: 2, lost: { checkpoints: 0, startsOver: false } });
    const { text } = outputOf(daemon.home, "snake");
    expect(text.match(/begins after .*|saved \d|LOST \d/g)).toEqual([
      "begins after 0 []",
      "saved 1",
      "saved 2",
      "begins after 2 [1, 2]",
      "saved 3",
      "saved 4",
    ]);
  });
});

describe("the Python client", () => {
  tries("shows a nudge to its agent, answers it, and closes a breaker that a person reset", async () => {
    const daemon = await startDaemon();
    const gates = await openGates();
    const running = python(
      `
def heard(nudge):
    print("nudge:", nudge["message"])
    return "half way"
with Agent("w", every=0.1, on_nudge=heard) as agent:
    def fails():
        raise ValueError("no")
    for _ in range(5):
        try:
            with agent.tool("grep", {"q": 1}):
                fails()
        except (ValueError, BreakerOpen) as error:
            print(type(error).__name__)
    try:
        with agent.tool("grep", {"q": 1}):
            print("NOT REACHED")
    except BreakerOpen as error:
        print("open:", error.name)
    gate("tripped")
    while agent.breaker("tool_execution/grep").state == "OPEN":
        time.sleep(0.01)
    agent.breaker("tool_execution").reset()
    with agent.tool("grep", {"q": 1}):
        print("it is called again")
    gate("reset")
`,
      daemon.home,
      { GATE: gates.GATE },
    );
    await gates.reached("tripped");
    const breaker = await until("the breaker is told", async () =>
      (await daemon.rouse.getAllCircuitBreakers()).find(
        (one) => one.name === "w/tool_execution/grep" && one.source === "agent",
      ),
    );
    expect(breaker).toMatchObject({ state: "OPEN" });
    await daemon.rouse.sendNudge("w", "look at the failing call");
    const { payload } = await eventOnce(daemon, "w", "AGENT_ANSWERED");
    expect(payload.answer).toMatchObject({ kind: "update", text: "half way" });
    await daemon.rouse.resetCircuitBreaker("w/tool_execution/grep", { reason: "it works again" });
    gates.open("tripped");
    await gates.reached("reset");
    await until("Rouse knows that the agent heard it", async () =>
      (await daemon.rouse.getAllCircuitBreakers()).every(
        ({ resetPending, state }) => !resetPending && state === "CLOSED",
      ),
    );
    gates.open("reset");
    const printed = await endsWell(running);
    expect(printed.match(/ValueError/g)).toHaveLength(5);
    expect(printed).toMatch(/open: tool_execution\/?\w*\n/);
    expect(printed).toContain("nudge: look at the failing call");
    expect(printed).toMatch(/it is called again\n$/);
  });

  tries("does not beat for its agent in a child that was forked, and the child's end is not the agent's", async () => {
    const daemon = await startDaemon();
    const gates = await openGates();
    const running = python(
      `
with Agent("parent", every=0.05) as agent:
    gate("before")
    child = os.fork()
    with agent.tool("work"):
        pass
    if child == 0:
        agent.checkpoint(1, {}, wait=0)
        sys.exit(7)
    print("child ended with", os.waitpid(child, 0)[1] >> 8, flush=True)
    gate("after")
`,
      daemon.home,
      { GATE: gates.GATE },
    );
    await gates.reached("before");
    await agentOnce(daemon, "parent", "beats", ({ state }) => state === "HEALTHY");
    gates.open("before");
    await gates.reached("after");
    const beats = async () => (await daemon.rouse.why("parent")).beats;
    const { accepted } = await beats();
    await until("more beats came", async () => (await beats()).accepted > accepted + 3);
    expect(await beats()).toMatchObject({ duplicates: 0, stale: 0, refused: 0 });
    expect((await daemon.rouse.getAgentHealth("parent")).activity.kind).toBe("RUNNING");
    expect((await daemon.rouse.getAgentHealth("parent")).metrics.toolCallCount).toBe(1);
    gates.open("after");
    expect(await endsWell(running)).toBe("child ended with 7\n");
  });

  tries("sends no beats from a process that its agent started, whose steps and checkpoints count", async () => {
    const daemon = await startDaemon();
    const running = python(
      `
import subprocess
if os.environ.get("PART") == "child":
    with Agent(every=0.05) as agent:
        with agent.tool("part"):
            pass
        print(agent.checkpoint(2, "child", wait=30))
else:
    with Agent("boss", task="parts", every=0.05) as agent:
        print(agent.checkpoint(1, "boss", wait=30), flush=True)
        own = {**os.environ, "PART": "child", "ROUSE_AGENT_ID": "boss", "ROUSE_TASK_ID": "parts"}
        child = subprocess.run([sys.executable, "-c", open("/proc/self/cmdline").read().split("\\0")[2]], env=own, stderr=subprocess.PIPE)
        print("speaks for boss already" in child.stderr.decode(), child.returncode)
`,
      daemon.home,
    );
    expect(await endsWell(running)).toBe("saved\nsaved\nTrue 0\n");
    expect(await daemon.rouse.getAgentHealth("boss")).toMatchObject({ incarnation: 1, activity: { kind: "FINISHED" } });
    expect((await daemon.rouse.why("boss")).beats).toMatchObject({ duplicates: 0, stale: 0, refused: 0 });
    expect((await daemon.rouse.steps("boss")).steps).toHaveLength(2);
  });

  tries("leaves an agent alone that has no Rouse: one warning, and its work is done", async () => {
    const running = python(
      `
with Agent("alone", task="t", every=0.01) as agent:
    for step in range(1, 20):
        with agent.tool("work", step):
            agent.tokens(5)
        assert agent.checkpoint(step, {"step": step}, wait=0.01) == "queued"
    while agent.failures < 3:
        time.sleep(0.01)
    try:
        agent.checkpoint(1, {"x": object()})
    except TypeError as error:
        print(error)
    agent.close(within=0)
print("done")
`,
      join(makeFolder(), "home"),
    );
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Object of type object is not JSON serializable\ndone\n" });
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(/Rouse does not hear of alone: .*work goes on/);
  });

  tries("keeps what was said while Rouse was away, and tells it in order when it is back", async () => {
    const daemon = await startDaemon();
    const gates = await openGates();
    const running = python(
      `
with Agent("patient", task="long", every=0.05) as agent:
    print(agent.checkpoint(1, "one"))
    gate("away")
    for step in (2, 3, 4):
        with agent.tool("work", step):
            pass
        print(agent.checkpoint(step, step, wait=0))
    gate("back")
    while agent.saves:
        time.sleep(0.01)
    print(agent.checkpoint(5, "five", wait=30))
`,
      daemon.home,
      { GATE: gates.GATE },
    );
    await gates.reached("away");
    await daemon.end("SIGKILL");
    gates.open("away");
    await gates.reached("back");
    const { port } = new URL(daemon.url);
    const again = await startDaemon({ home: daemon.home, args: ["--port", port] });
    gates.open("back");
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "saved\nqueued\nqueued\nqueued\nsaved\n" });
    expect(stderr.trim().split("\n").length).toBeLessThan(3);
    const saved = await again.rouse.checkpoints("long");
    expect(saved.map(({ step }) => step)).toEqual([5, 4, 3, 2, 1]);
    expect(await again.rouse.verifyCheckpoints("long")).toMatchObject({ sound: true });
    const { steps } = await again.rouse.steps("patient");
    expect(steps).toHaveLength(6);
    expect((await again.rouse.why("patient")).beats).toMatchObject({ lost: 0, refused: 0 });
  });

  tries("beats on while Rouse takes no checkpoints, which wait in order", async () => {
    let isFull = true;
    const beats: string[] = [];
    const saved: number[] = [];
    const url = await serve((request, response) => {
      const answer = (status: number, body: object): void => void response.writeHead(status).end(JSON.stringify(body));
      const told: Buffer[] = [];
      request.on("data", (part: Buffer) => told.push(part));
      request.on("end", () => {
        const body = JSON.parse(Buffer.concat(told).toString() || "{}");
        if (request.url?.endsWith("/agents")) return answer(200, { incarnation: 1 });
        if (request.url?.endsWith("/heartbeats")) {
          beats.push(body.status);
          return answer(200, { status: "accepted", commands: [] });
        }
        if (isFull) return answer(503, { detail: "the disk is full" });
        saved.push(body.step);
        answer(201, { id: `c${body.step}` });
      });
    });
    const gates = await openGates();
    const running = python(
      `
with Agent("w", task="t", every=0.05) as agent:
    print(agent.checkpoint(1, {}), agent.checkpoint(2, {}), flush=True)
    gate("waits")
    while agent.saves:
        time.sleep(0.01)
`,
      makeFolder(),
      { GATE: gates.GATE, ROUSE_URL: url, ROUSE_TOKEN: "t" },
    );
    await gates.reached("waits");
    expect(running.stdout()).toBe("queued queued\n");
    const before = beats.length;
    await until("more beats came", () => beats.length > before + 3);
    expect(saved).toEqual([]);
    isFull = false;
    gates.open("waits");
    expect((await running.ended).stderr).toMatch(/^Rouse takes no checkpoints or steps of w: .*the disk is full/);
    expect(saved).toEqual([1, 2]);
    expect(beats.at(-1)).toBe("FINISHED");
  });

  tries("runs its breakers by the owner's settings, and by what its author wrote before those", async () => {
    const overrides =
      "{ tool_execution: { failure_threshold: 2 }, external_api: { failure_threshold: 2, half_open_requests: 2 } }";
    const daemon = await startDaemon({
      config: `health_monitoring: { circuit_breaker: { overrides: ${overrides} } }\n`,
    });
    const program = `
def broken():
    raise ValueError("no")
def trips(breaker):
    for calls in range(1, 20):
        try:
            with breaker.guard():
                broken()
        except ValueError:
            pass
        if breaker.state == "OPEN":
            return calls
with Agent("w", every=0.05, breakers={"external_api/own": {"failures": 4}}) as agent:
    early = agent.breaker("tool_execution")
    while not agent.owner:
        time.sleep(0.01)
    own = agent.breaker("external_api/own")
    print(trips(early), trips(agent.breaker("external_api/x")), trips(own), trips(agent.breaker("other")), early.seconds)
    own.reset()
    own.set_rules(1, 0, 2)
    trips(own)
    with own.guard():
        pass
    own.set_rules(1, 60, 1)
    with own.guard():
        print("let try")
    print(own.state)
`;
    expect(await endsWell(python(program, daemon.home))).toBe("2 2 4 3 30\nlet try\nCLOSED\n");
  });

  tries("takes no rule that is out of range, and needs nobody who knows of rules", async () => {
    const rule = { failure_threshold: 0, recovery_timeout_seconds: -1, half_open_requests: 1.5 };
    for (const [status, body] of [
      [200, { default: rule, overrides: { tool_execution: rule } }],
      [200, [1]],
      [404, { detail: "there is no such path" }],
    ] as const) {
      let asked = 0;
      const url = await serve((request, response) => {
        const answer = (code: number, told: object): void => void response.writeHead(code).end(JSON.stringify(told));
        request.resume().on("end", () => {
          if (request.url?.endsWith("/breaker-rules")) {
            asked += 1;
            return answer(status, body);
          }
          answer(200, { incarnation: 1, status: "accepted", commands: [] });
        });
      });
      const program = `
with Agent("w", every=0.02) as agent:
    while agent.number < 6:
        time.sleep(0.01)
    breaker = agent.breaker("tool_execution")
    print(breaker.threshold, breaker.seconds, breaker.allowed, agent.problem)
`;
      const environment = { ROUSE_URL: url, ROUSE_TOKEN: "t" };
      expect(await endsWell(python(program, makeFolder(), environment))).toBe("5 30 1 None\n");
      expect(asked).toBe(1);
    }
  });

  tries(
    "keeps so many checkpoints in memory and no more, says so, and takes them again when some are saved",
    async () => {
      let isAway = true;
      const saved: number[] = [];
      const url = await serve((request, response) => {
        const told: Buffer[] = [];
        request.on("data", (part: Buffer) => told.push(part));
        request.on("end", () => {
          const body = JSON.parse(Buffer.concat(told).toString() || "{}");
          if (isAway) return void response.writeHead(503).end("{}");
          if (request.url?.endsWith("/checkpoints")) saved.push(body.step);
          response.end(JSON.stringify({ incarnation: 1, status: "accepted", commands: [], id: `c${body.step}` }));
        });
      });
      const gates = await openGates();
      const running = python(
        `
import collections
agent = Agent("w", task="t", every=0.05).start()
print(collections.Counter(agent.checkpoint(step, {}, wait=0) for step in range(1, 1006)))
gate("full")
while agent.saves:
    time.sleep(0.01)
print(agent.checkpoint(2000, {}, wait=30), agent.saves_bytes)
big = Agent("big", task="t", every=0.05)
print([big.checkpoint(step, "x" * (15 << 20), wait=0) for step in range(1, 7)])
agent.close()
`,
        makeFolder(),
        { GATE: gates.GATE, ROUSE_URL: url, ROUSE_TOKEN: "t" },
      );
      await gates.reached("full");
      isAway = false;
      gates.open("full");
      const { code, stdout, stderr } = await running.ended;
      expect({ code, stdout }).toEqual({
        code: 0,
        stdout: `Counter({'queued': 1000, 'full': 5})\nsaved 0\n${JSON.stringify([
          ...Array(4).fill("queued"),
          "full",
          "full",
        ])
          .replaceAll('"', "'")
          .replaceAll(",", ", ")}\n`,
      });
      expect(stderr).toContain("1000 checkpoints of w wait for Rouse: no more are kept until it takes some");
      expect(saved).toEqual([...Array.from({ length: 1000 }, (_, i) => i + 1), 2000]);
    },
  );

  tries("guards and tells tools of any kind: coroutines, and what no JSON can show", async () => {
    const stdout = await endsWell(
      python(
        `
import asyncio, logging
logging.disable(logging.CRITICAL)
class Odd:
    def __repr__(self):
        raise RuntimeError("not for you")
loop = {}
loop["loop"] = loop
agent = Agent("w", breakers={"tool_execution": {"failures": 2}, "external_api": {"failures": 7}})
for args in ({1: "a", "b": 2}, loop, {"odd": Odd()}):
    with agent.tool("any", args) as call:
        call.result = Odd()
@agent.tool("later")
async def later():
    raise ValueError("no")
async def main():
    for _ in range(3):
        try:
            await later()
        except (ValueError, BreakerOpen) as error:
            print(type(error).__name__)
asyncio.run(main())
print([step["failed"] for step in agent.steps if step["kind"] == "tool_result"])
print(agent.breaker("external_api/model").threshold)
`,
        makeFolder(),
        { ROUSE_URL: "http://127.0.0.1:9", ROUSE_TOKEN: "t" },
      ),
    );
    expect(stdout).toBe("ValueError\nValueError\nBreakerOpen\n[False, False, False, True, True]\n7\n");
  });

  tries("says nothing more when a second process has become its agent", async () => {
    const daemon = await startDaemon();
    const gates = await openGates();
    const program = (gate: string) => `
with Agent("twin", every=0.05) as agent:
    gate("${gate}")
    while "${gate}" == "older" and not agent.silent:
        time.sleep(0.01)
    print(agent.problem)
`;
    const older = python(program("older"), daemon.home, { GATE: gates.GATE });
    await gates.reached("older");
    await agentOnce(daemon, "twin", "beats", ({ incarnation }) => incarnation === 1);
    const newer = python(program("newer"), daemon.home, { GATE: gates.GATE });
    await gates.reached("newer");
    await agentOnce(daemon, "twin", "beats anew", ({ incarnation }) => incarnation === 2);
    gates.open("older");
    const { code, stdout, stderr } = await older.ended;
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "a later life of twin has begun; this one says nothing more\n",
    });
    expect(stderr).toContain("a later life of twin has begun");
    expect((await daemon.rouse.getAgentHealth("twin")).activity.kind).toBe("RUNNING");
    gates.open("newer");
    expect(await endsWell(newer)).toBe("None\n");
  });

  tries("waits as long as a server asks, and Rouse knows what for; a breaker fails fast and tries once", async () => {
    const daemon = await startDaemon();
    let asked = 0;
    const api = await serve((_, response) => {
      asked += 1;
      if (asked === 1) response.writeHead(429, { "retry-after": "2" }).end();
      else if (asked === 2) response.writeHead(503, { "retry-after": new Date(Date.now() + 1000).toUTCString() }).end();
      else response.end("fine");
    });
    const down = await serve((_, response) => response.writeHead(500).end());
    const running = python(
      `
with Agent("caller", every=0.05, breakers={"external_api/down": {"seconds": 0.2}}) as agent:
    print(agent.request("api", lambda: urllib.request.urlopen("${api}").read().decode()))
    calls = []
    def broken():
        calls.append(1)
        return urllib.request.urlopen("${down}").read()
    try:
        agent.request("down", broken, first=0.001)
    except BreakerOpen as error:
        print("open after", len(calls))
    breaker = agent.breaker("external_api/down")
    while breaker.reopen_at > time.monotonic():
        time.sleep(0.01)
    inside = threading.Event()
    entered = threading.Event()
    def trial():
        with breaker.guard():
            entered.set()
            inside.wait()
    one = threading.Thread(target=trial)
    one.start()
    entered.wait()
    try:
        with breaker.guard():
            print("TWO TRIALS")
    except BreakerOpen:
        print("one trial,", breaker.state)
    inside.set()
    one.join()
    print(breaker.state)
print(retry_after("7"), retry_after("Wed, 21 Oct 2015 07:28:10 GMT", 1445412480), retry_after("soon"), retry_after(None))
`,
      daemon.home,
    );
    await agentOnce(daemon, "caller", "waits for its provider", ({ activity }) => {
      return activity.kind === "WAITING" && activity.for === "provider" && activity.until !== null;
    });
    expect(await endsWell(running)).toBe("fine\nopen after 3\none trial, HALF_OPEN\nCLOSED\n7.0 10.0 None None\n");
    expect(asked).toBe(3);
  });
});
