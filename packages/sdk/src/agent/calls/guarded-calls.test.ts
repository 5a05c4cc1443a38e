import { getEventListeners } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { listen } from "../../fake-api.test-support.ts";
import { BreakerOpenError } from "../../guard/breaker.ts";
import type { Agent } from "../agent-api.ts";
import { problem, scriptedRouse } from "../scripted-rouse.test-support.ts";

const down = (): Promise<never> => Promise.reject(new Error("down"));
const fails = (call: Promise<unknown>): Promise<unknown> => call.catch((error: unknown) => error);

describe("a call of a tool", () => {
  it("is told with what came of it, in digests only, and returns or throws what the tool did", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    const thrown = new Error("the password is hunter2");
    expect(await agent.tool("grep", { q: "hunter2" }, () => ["hunter2"])).toEqual(["hunter2"]);
    expect(await fails(agent.tool("grep", { q: "hunter2" }, () => Promise.reject(thrown)))).toBe(thrown);
    const digest = expect.stringMatching(/^[0-9a-f]{16}$/);
    await rouse.until(() => rouse.steps().length === 4);
    expect(rouse.steps()).toEqual([
      { kind: "tool_call", id: "1", tool: "grep", args_digest: digest },
      { kind: "tool_result", id: "1", tool: "grep", failed: false, text_digest: digest, text_class: digest },
      { kind: "tool_call", id: "2", tool: "grep", args_digest: rouse.steps()[0]?.args_digest },
      { kind: "tool_result", id: "2", tool: "grep", failed: true, text_digest: digest, text_class: digest },
    ]);
    await rouse.until(() => rouse.beats().at(-1)?.toolCallCount === 2);
    expect(rouse.beats().at(-1)).toMatchObject({ errorCount: 1 });
    expect(JSON.stringify(rouse.asked)).not.toContain("hunter2");
  });

  it("is told as open once it takes longer than a second, with its time-out", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ beatEveryMs: 3_600_000 });
    await rouse.until(() => rouse.beats().length === 1);
    let end: () => void = () => undefined;
    const called = agent.tool("pytest", [], () => new Promise<void>((resolve) => (end = resolve)), {
      timeoutMs: 900_000,
    });
    const beat = await rouse.until(() => rouse.beats()[1]);
    expect(beat).toMatchObject({ status: "RUNNING", open: { kind: "tool", name: "pytest", timeoutSeconds: 900 } });
    end();
    await called;
    expect((await rouse.until(() => rouse.beats()[2])).open).toBeUndefined();
  });

  it("keeps its batch and its key while no answer comes, and those after it in order", async () => {
    const rouse = scriptedRouse();
    let left = 2;
    rouse.script.instead = ({ path }) =>
      path.endsWith("/steps") && left-- > 0 ? problem(503, "store-unavailable") : undefined;
    const { agent } = rouse.agent();
    await agent.tool("a", 1, () => 1);
    await rouse.until(() => left < 2);
    await agent.tool("b", 1, () => 1);
    await rouse.until(() => rouse.steps().some(({ tool }) => tool === "b"));
    const sent = rouse.to(/\/steps$/).map(({ body, headers }) => [headers["idempotency-key"], body[0].tool] as const);
    const keys = sent.map(([key]) => key);
    expect(sent.map(([, tool]) => tool)).toEqual(["a", "a", "a", "b"]);
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect([keys[1], keys[2]]).toEqual([keys[0], keys[0]]);
    expect(keys[3]).not.toBe(keys[0]);
  });

  it("takes any arguments and any result", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    const itself: Record<string, unknown> = { big: 12n, call: () => 1 };
    itself["again"] = itself;
    const spiteful = {
      get trap() {
        throw new Error("no");
      },
    };
    for (const odd of [
      itself,
      spiteful,
      Symbol("s"),
      new WeakMap(),
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("no");
          },
        },
      ),
    ])
      expect(await agent.tool("odd", odd, () => odd)).toBe(odd);
    await rouse.until(() => rouse.steps().length === 10);
  });
});

describe("a judge of the author's that throws", () => {
  const judge = (): boolean => {
    throw new Error("the judge fell asleep");
  };

  it("keeps nobody from what the call returned, nor from what it threw", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    const thrown = new Error("down");
    const isFailure = judge;
    expect(await agent.tool("a", 1, () => "written", { isFailure })).toBe("written");
    expect(await agent.request("llm", () => "said", { isFailure })).toBe("said");
    expect(await fails(agent.tool("a", 1, () => Promise.reject(thrown), { isFailure }))).toBe(thrown);
    expect(agent.breaker("external_api/llm").save()).toMatchObject({ failures: [] });
    expect(agent.breaker("tool_execution/a").save()).toMatchObject({ failures: { length: 1 } });
    const results = () => rouse.steps().filter(({ kind }) => kind === "tool_result");
    await rouse.until(() => results().length === 2);
    expect(results().map(({ failed }) => failed)).toEqual([false, true]);
  });
});

describe("breakers of tools", () => {
  it("open after five failures of one tool, are told with the next beat, and stay closed for others", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({
      beatEveryMs: 3_600_000,
      breakers: { tool_execution: { failureThreshold: 5 }, "tool_execution/grep": { failureThreshold: 5 } },
    });
    await rouse.until(() => rouse.beats().length === 1);
    expect(await agent.tool("ls", 1, () => "fine")).toBe("fine");
    for (let i = 0; i < 5; i++) await fails(agent.tool("grep", i, down));
    expect(await fails(agent.tool("grep", 6, down))).toBeInstanceOf(BreakerOpenError);
    expect(await agent.tool("grep", 6, down, { fallback: () => "older" as never })).toBe("older");
    expect(await agent.tool("ls", 1, () => "fine")).toBe("fine");
    const beat = await rouse.until(() => rouse.beats().find(({ breakers }) => breakers !== undefined));
    expect(beat.breakers).toMatchObject([
      { operation: "tool_execution/grep", state: "OPEN", retryInSeconds: expect.closeTo(30, 0) },
    ]);
    const [result] = rouse.steps().filter(({ cancelled }) => cancelled);
    expect(result).toMatchObject({ kind: "tool_result", cancelled: true });
  });

  it("an isFailure that throws keeps nobody from what came of the call", async () => {
    const { agent } = scriptedRouse().agent();
    const isFailure = (): boolean => {
      throw new Error("a mistake in isFailure");
    };
    expect(await agent.tool("a", 0, () => "value", { isFailure })).toBe("value");
    expect(await fails(agent.tool("a", 0, down, { isFailure }))).toMatchObject({ message: "down" });
    expect(agent.breaker("tool_execution/a").save()).toMatchObject({ failures: { length: 1 } });
  });

  it("are never more than Rouse keeps: where all have something to remember, new ones share one", async () => {
    const { agent } = scriptedRouse().agent({ breakers: { tool_execution: { failureThreshold: 1000 } } });
    for (let i = 0; i < 300; i++) await fails(agent.tool(`made-up-${i}`, 0, down));
    expect(agent.breaker("tool_execution/made-up-0").name).toBe("tool_execution/made-up-0");
    expect(agent.breaker("tool_execution/made-up-299").name).toBe("tool_execution/_");
    expect(agent.breaker("tool_execution/_").save()).toMatchObject({ failures: { length: expect.any(Number) } });
    expect(await agent.tool("one-more", 0, () => "fine")).toBe("fine");
    expect(agent.breaker("external_api").name).toBe("external_api");
  });

  it("of the only tool opens that of all as well, which holds back no other, and closes when another goes well", async () => {
    const { agent } = scriptedRouse().agent();
    for (let i = 0; i < 5; i++) await fails(agent.tool("grep", i, down));
    const all = agent.breaker("tool_execution");
    expect([all.state(), agent.breaker("tool_execution/grep").state()]).toEqual(["OPEN", "OPEN"]);
    const ends: (() => void)[] = [];
    const slow = ["read", "ls"].map((name) => agent.tool(name, 0, () => new Promise<void>((end) => ends.push(end))));
    expect(await agent.tool("find", 0, () => "fine")).toBe("fine");
    expect(all.state()).toBe("CLOSED");
    for (const end of ends) end();
    await Promise.all(slow);
    expect(agent.breaker("tool_execution/grep").state()).toBe("OPEN");
  });

  it("of the only tool holds back all once another has failed as well", async () => {
    const { agent } = scriptedRouse().agent();
    for (let i = 0; i < 5; i++) await fails(agent.tool("grep", i, down));
    await expect(agent.tool("read", 0, down)).rejects.toThrow("down");
    expect(await fails(agent.tool("ls", 0, () => 1))).toMatchObject({ breaker: "tool_execution" });
  });

  it("of all lets a trial of one tool that fails keep no other from its own, one at a time", async () => {
    const trial = (threshold: number) => ({ failureThreshold: threshold, recoveryTimeout: 100 });
    const { agent } = scriptedRouse().agent({
      breakers: { tool_execution: trial(2), "tool_execution/a": trial(9), "tool_execution/b": trial(9) },
    });
    const all = agent.breaker("tool_execution");
    await fails(agent.tool("a", 0, down));
    await fails(agent.tool("b", 0, down));
    expect(all.state()).toBe("OPEN");
    expect(await fails(agent.tool("b", 0, () => 1))).toMatchObject({ breaker: "tool_execution" });
    const trips = () => all.save().period;
    const before = trips();
    while (trips() === before) {
      const refused = await fails(agent.tool("a", 0, down));
      if (refused instanceof BreakerOpenError)
        await new Promise((resolve) => setTimeout(resolve, refused.retryAfterMs));
    }
    expect(all.state()).toBe("OPEN");
    let end: (value: string) => void = () => undefined;
    const one = agent.tool("b", 0, () => new Promise<string>((resolve) => (end = resolve)));
    const beside = await fails(agent.tool("b", 0, () => "beside"));
    expect(beside).toMatchObject({ breaker: "tool_execution" });
    end("works");
    expect(await one).toBe("works");
    expect(all.state()).toBe("CLOSED");
  });

  it("a call that the general one refuses takes no trial from the tool's own", async () => {
    const { agent } = scriptedRouse().agent({
      breakers: {
        tool_execution: { recoveryTimeout: 3_600_000 },
        "tool_execution/grep": { failureThreshold: 1, recoveryTimeout: 1 },
      },
    });
    await fails(agent.tool("grep", 0, down));
    for (let i = 0; i < 4; i++) await fails(agent.tool(`t${i}`, 0, down));
    expect(agent.breaker("tool_execution").state()).toBe("OPEN");
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (let i = 0; i < 3; i++)
      expect(await fails(agent.tool("grep", 0, () => 1))).toMatchObject({ breaker: "tool_execution" });
    expect(agent.breaker("tool_execution/grep").state()).toBe("HALF_OPEN");
    agent.breaker("tool_execution").reset();
    expect(await agent.tool("grep", 0, () => 1)).toBe(1);
    expect(agent.breaker("tool_execution/grep").state()).toBe("CLOSED");
  });

  it("count neither what the caller broke off nor a breaker inside the call, and one failure once", async () => {
    const { agent } = scriptedRouse().agent({
      breakers: { tool_execution: { failureThreshold: 2 }, x: { failureThreshold: 1 } },
    });
    const abort = new AbortController();
    const broken = agent.tool(
      "a",
      0,
      (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
      { signal: abort.signal },
    );
    abort.abort(new Error("enough"));
    await expect(broken).rejects.toThrow("enough");
    await fails(agent.breaker("x").run(down));
    for (let i = 0; i < 5; i++)
      expect(await fails(agent.tool("a", 0, () => agent.breaker("x").run(() => 1)))).toBeInstanceOf(BreakerOpenError);
    expect(agent.breaker("tool_execution").save()).toMatchObject({ state: "closed", failures: [] });
    await fails(agent.tool("a", 0, down));
    expect(agent.breaker("tool_execution").save()).toMatchObject({ failures: { length: 1 } });
    expect(agent.breaker("tool_execution/a").save()).toMatchObject({ failures: { length: 1 } });
  });

  it("count a call whose time ran out, which is told as a failure and not as broken off", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ breakers: { tool_execution: { failureThreshold: 1 } } });
    const ranOut = new AbortController();
    const timeOut = () => ranOut.abort(new DOMException("it took too long", "TimeoutError"));
    const call = agent.tool(
      "a",
      0,
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          timeOut();
        }),
      { signal: ranOut.signal },
    );
    await expect(call).rejects.toThrow("it took too long");
    expect(agent.breaker("tool_execution").state()).toBe("OPEN");
    const [result] = await rouse.until(() => {
      const told = rouse.steps().filter(({ kind }) => kind === "tool_result");
      return told.length > 0 && told;
    });
    expect(result).toMatchObject({ failed: true });
    expect(result).not.toHaveProperty("cancelled");
  });

  it("give what came of a call, whatever its judge throws", async () => {
    const { agent } = scriptedRouse().agent();
    const isFailure = () => {
      throw new Error("the judge");
    };
    expect(await agent.tool("a", 0, () => "well", { isFailure })).toBe("well");
    expect(await agent.request("a", () => "well", { isFailure })).toBe("well");
    await expect(agent.tool("a", 0, down, { isFailure })).rejects.toThrow("down");
    expect(agent.breaker("tool_execution").save()).toMatchObject({ failures: { length: 1 } });
  });

  it("are reset by Rouse, which hears of that", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ breakers: { tool_execution: { failureThreshold: 1 } } });
    await fails(agent.tool("a", 0, down));
    const command = { id: "reset/1", kind: "reset-breaker", because: "a person reset it", breaker: "tool_execution" };
    rouse.script.commands = () => [command];
    await rouse.until(() => rouse.beats().some(({ seen }) => seen?.includes("reset/1")));
    expect(agent.breaker("tool_execution").state()).toBe("CLOSED");
    await rouse.until(() => rouse.beats().some(({ breakers }) => breakers?.some(({ state }) => state === "CLOSED")));
  });
});

describe("errors that Rouse is told of", () => {
  const errors = async (work: (agent: Agent) => Promise<unknown>): Promise<number | null | undefined> => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ beatEveryMs: 3_600_000, breakers: { external_api: { failureThreshold: 2 } } });
    await work(agent);
    await agent.finish();
    return rouse.beats().at(-1)?.errorCount;
  };

  it("are those of calls that were made, not of those that a breaker held back", async () => {
    expect(
      await errors(async (agent) => {
        for (let i = 0; i < 9; i++) await fails(agent.request("llm", down));
      }),
    ).toBe(2);
    expect(
      await errors(async (agent) => {
        for (let i = 0; i < 9; i++) await fails(agent.fetch("http://127.0.0.1:1"));
      }),
    ).toBe(2);
  });

  it("are what its author calls a failure, thrown or returned", async () => {
    const isFailure = (outcome: object) => "value" in outcome;
    expect(await errors((agent) => fails(agent.tool("look", 1, down, { isFailure })))).toBe(0);
    expect(await errors((agent) => agent.tool("look", 1, () => "none", { isFailure }))).toBe(1);
  });

  it("are told of no call that threw what its author calls no failure", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    await fails(agent.tool("look", 1, down, { isFailure: () => false }));
    const result = await rouse.until(() => rouse.steps()[1]);
    expect(result).toMatchObject({ kind: "tool_result", failed: false });
    expect(result.cancelled).toBeUndefined();
  });
});

it("a call without a function is said in words, and fails no tool", async () => {
  const { agent } = scriptedRouse().agent();
  await expect(agent.tool("look", (() => 1) as never, undefined as never)).rejects.toThrow(
    "the call of a tool or request is a function",
  );
  await expect(agent.request("llm", undefined as never)).rejects.toThrow("is a function");
  expect(agent.breaker("tool_execution/look").save()).toMatchObject({ failures: [] });
});

it("what a fallback gave is told as no answer of the tool", async () => {
  const rouse = scriptedRouse();
  const { agent } = rouse.agent({ breakers: { tool_execution: { failureThreshold: 1 } } });
  await fails(agent.tool("look", 1, down));
  expect(await agent.tool("look", 1, down, { fallback: () => "older" as never })).toBe("older");
  expect(await rouse.until(() => rouse.steps()[3])).toMatchObject({ kind: "tool_result", cancelled: true });
});

it("a value is returned even when its author's isFailure throws", async () => {
  const { agent } = scriptedRouse().agent();
  const isFailure = (): boolean => {
    throw new Error("of isFailure");
  };
  expect(await agent.tool("look", 1, () => "fine", { isFailure })).toBe("fine");
});

describe("a request", () => {
  it("is behind a breaker of its own, and open like a model's", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ beatEveryMs: 100 });
    for (let i = 0; i < 3; i++) await fails(agent.request("llm", down));
    expect(await fails(agent.request("llm", () => 1))).toMatchObject({ breaker: "external_api/llm" });
    expect(await agent.request("other", () => 1)).toBe(1);
    let end: () => void = () => undefined;
    const called = agent.request("slow", () => new Promise<void>((resolve) => (end = resolve)));
    await rouse.until(() => rouse.beats().some(({ open }) => open?.kind === "model" && open.name === "slow"));
    end();
    await called;
  });
});

describe("options of a breaker", () => {
  const notFound = new Error("not found");
  const lost = (): Promise<never> => Promise.reject(notFound);
  const isFailure = (outcome: object) => "error" in outcome && outcome.error !== notFound;

  it("hold for calls of the agent behind it, whichever came first, and those of a call go before them", async () => {
    const { agent } = scriptedRouse().agent();
    await agent.tool("grep", 0, () => 1);
    const breaker = agent.breaker("tool_execution/grep", { isFailure, fallback: () => "older" });
    agent.breaker("external_api/llm", { isFailure, fallback: () => "older" });
    for (let i = 0; i < 9; i++) await fails(agent.tool("grep", 0, lost));
    for (let i = 0; i < 9; i++) await fails(agent.request("llm", lost));
    for (let i = 0; i < 9; i++) await fails(breaker.run(lost));
    expect([breaker.state(), agent.breaker("external_api/llm").state()]).toEqual(["CLOSED", "CLOSED"]);
    for (let i = 0; i < 5; i++) await fails(agent.tool("grep", 0, lost, { isFailure: () => true }));
    for (let i = 0; i < 3; i++) await fails(agent.request("llm", down));
    expect(await agent.tool<unknown>("grep", 0, () => 1)).toBe("older");
    expect(await agent.tool<unknown>("grep", 0, () => 1, { fallback: () => "newer" })).toBe("newer");
    expect(await agent.request<unknown>("llm", () => 1)).toBe("older");
    expect(await breaker.run(() => "newest")).toBe("older");
  });

  it("hold for all tools, and for fetch", async () => {
    const { url } = await listen((_, response) => response.writeHead(404).end());
    const { agent } = scriptedRouse().agent();
    agent.breaker("tool_execution", { isFailure });
    for (let i = 0; i < 9; i++) await fails(agent.tool("grep", 0, lost));
    expect(await agent.tool("grep", 0, () => 1)).toBe(1);
    agent.breaker<Response>(`external_api/${new URL(url).host}`, {
      isFailure: (outcome) => "error" in outcome || outcome.value.status === 404,
      fallback: () => new Response("older"),
    });
    for (let i = 0; i < 3; i++) expect((await agent.fetch(url)).status).toBe(404);
    expect(await (await agent.fetch(url)).text()).toBe("older");
  });

  it("that are given twice are the first, and a warning says so once, and rules that come late hold from then on", async () => {
    const { agent, warnings } = scriptedRouse().agent();
    const options = { isFailure, failureThreshold: 1 };
    const breaker = agent.breaker("db", options);
    expect([agent.breaker("db"), agent.breaker("db", options)]).toEqual([breaker, breaker]);
    expect(warnings).toEqual([]);
    for (let i = 0; i < 3; i++) agent.breaker("db", { isFailure: () => true });
    await fails(breaker.run(lost));
    expect(breaker.state()).toBe("CLOSED");
    await agent.request("llm", () => 1);
    agent.breaker("external_api/llm", { failureThreshold: 1 });
    expect(warnings).toEqual([expect.stringContaining("options for the breaker db were given twice: the first hold")]);
    await fails(agent.request("llm", () => Promise.reject(new Error("down"))));
    expect(agent.breaker("external_api/llm").state()).toBe("OPEN");
    expect(() => agent.breaker("db", { failureThreshold: 0 })).toThrow(RangeError);
  });
});

describe("fetch", () => {
  const rouse = { current: scriptedRouse() };
  afterEach(() => {
    rouse.current = scriptedRouse();
  });

  it("waits where a server says so, Rouse knows of it, and no breaker counts it", async () => {
    let left = 2;
    const { url } = await listen((_, response) => {
      if (left-- > 0)
        response.writeHead(429, { "retry-after": left === 1 ? "1" : new Date(Date.now() + 1500).toUTCString() });
      response.end("hello");
    });
    const { agent } = rouse.current.agent();
    const response = await agent.fetch(url);
    expect([response.status, await response.text()]).toEqual([200, "hello"]);
    const waits = rouse.current.beats().filter(({ status }) => status === "WAITING");
    expect(waits[0]).toMatchObject({ waitingFor: "provider", waitingUntil: expect.any(String) });
    expect(agent.breaker(`external_api/${new URL(url).host}`).save()).toMatchObject({ failures: [] });
    await rouse.current.until(() => rouse.current.beats().at(-1)?.status === "RUNNING");
  });

  it("waits for no server any more when the agent is to stop, and goes out once more for whoever has a last word", async () => {
    let asked = 0;
    const { url } = await listen((_, response) => {
      if (asked++ === 0) response.writeHead(429, { "retry-after": "3600" });
      response.end("hello");
    });
    const { agent } = rouse.current.agent();
    const waits = agent.fetch(url);
    await rouse.current.until(() => rouse.current.beats().some(({ status }) => status === "WAITING"));
    const taken = { id: "n1", kind: "nudge", because: "task-taken", message: "it is another's" };
    rouse.current.script.commands = () => [taken];
    agent.progress("at work");
    await expect(waits).rejects.toThrow("the agent is to stop");
    expect(await (await agent.fetch(url)).text()).toBe("hello");
    expect(agent.breaker(`external_api/${new URL(url).host}`).save()).toMatchObject({ failures: [] });
  });

  it("gives up a server that answers 500 or not at all, for a while", async () => {
    const { url } = await listen((_, response) => response.writeHead(500).end());
    const { agent } = rouse.current.agent();
    for (let i = 0; i < 3; i++) expect((await agent.fetch(url)).status).toBe(500);
    await expect(agent.fetch(url)).rejects.toBeInstanceOf(BreakerOpenError);
    for (let i = 0; i < 3; i++) await expect(agent.fetch("http://127.0.0.1:1")).rejects.toThrow("fetch failed");
    await expect(agent.fetch("http://127.0.0.1:1")).rejects.toBeInstanceOf(BreakerOpenError);
  });
});

it("one beat tells of a hundred breakers at most: the rest goes with the next", async () => {
  const rouse = scriptedRouse();
  const { agent } = rouse.agent({
    beatEveryMs: 100,
    breakers: { x: { failureThreshold: 1, recoveryTimeout: 10_000_000_000 } },
  });
  for (let n = 0; n < 150; n++) await fails(agent.breaker(`x/${n}`).run(down));
  const told = () => rouse.beats().flatMap(({ breakers = [] }) => breakers);
  await rouse.until(() => new Set(told().map(({ operation }) => operation)).size === 150);
  for (const { breakers = [] } of rouse.beats()) expect(breakers.length).toBeLessThanOrEqual(100);
  expect(told()[0]).toMatchObject({ state: "OPEN", retryInSeconds: 2_592_000 });
});

it("what a breaker did while a beat was on its way is told with the next", async () => {
  const rouse = scriptedRouse();
  const { agent } = rouse.agent({ beatEveryMs: 100, breakers: { x: { failureThreshold: 1 } } });
  await rouse.until(() => rouse.beats().length === 1);
  let once = true;
  rouse.script.instead = ({ path, body }) => {
    if (path === "/api/v1/heartbeats" && body.breakers !== undefined && once) {
      once = false;
      agent.breaker("x").reset();
    }
    return undefined;
  };
  await fails(agent.breaker("x").run(down));
  const states = () => rouse.beats().flatMap(({ breakers = [] }) => breakers.map(({ state }) => state));
  await rouse.until(() => states().length === 2);
  expect(states()).toEqual(["OPEN", "CLOSED"]);
});

it("tools whose names are made up without end fill no memory, and push out no breaker that is open", async () => {
  const { agent } = scriptedRouse().agent({
    breakers: { tool_execution: { failureThreshold: 1000 }, "tool_execution/bad": { failureThreshold: 1 } },
  });
  await fails(agent.tool("bad", 0, down));
  const first = agent.breaker("tool_execution/t0");
  for (let n = 0; n < 400; n++) await agent.tool(`t${n}`, n, () => n);
  expect(agent.breaker("tool_execution/bad").state()).toBe("OPEN");
  expect(agent.breaker("tool_execution/t0")).not.toBe(first);
  expect(agent.breaker("tool_execution/t399")).toBe(agent.breaker("tool_execution/t399"));
  await agent.tool("odd name/with\u0000things", 1, () => 1);
  await agent.tool("n".repeat(500), 1, () => 1);
});

it("steps that Rouse does not take are counted as given up, told once, and those after them are sent", async () => {
  const rouse = scriptedRouse();
  let left = 2;
  rouse.script.instead = ({ path }) =>
    path.endsWith("/steps") && left-- > 0 ? problem(400, "bad-request", "no such steps") : undefined;
  const { agent, warnings } = rouse.agent();
  for (const tool of ["a", "b", "c"]) {
    const sent = rouse.to(/\/steps$/).length;
    await agent.tool(tool, 1, () => 1);
    await rouse.until(() => rouse.to(/\/steps$/).length > sent);
  }
  await rouse.until(() => agent.connection().waiting === 0);
  expect(agent.connection().dropped).toBe(4);
  expect(warnings).toEqual([expect.stringContaining("does not take this agent's steps: no such steps")]);
});
it("steps travel two hundred together at most", async () => {
  const rouse = scriptedRouse();
  const { agent } = rouse.agent();
  await Promise.all(Array.from({ length: 250 }, (_, n) => agent.tool("a", n, () => n)));
  await rouse.until(() => rouse.steps().length === 500);
  expect(
    rouse
      .to(/\/steps$/)
      .map(({ body }) => body.length)
      .every((many: number) => many <= 200),
  ).toBe(true);
});

it("calls leave nothing behind at the agent's signal, nor at one of its author's", async () => {
  const { agent } = scriptedRouse().agent();
  const { signal } = new AbortController();
  const before = getEventListeners(agent.signal, "abort").length;
  for (let n = 0; n < 3; n++) await agent.tool("a", n, () => n, { signal });
  await fails(agent.tool("a", 1, down, { signal }));
  await agent.request("llm", () => 1, { signal });
  expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(getEventListeners(agent.signal, "abort")).toHaveLength(before);
});

it("a call is broken off when its agent is to stop, also where it has a signal of its own", async () => {
  const rouse = scriptedRouse();
  const { agent } = rouse.agent();
  const called = agent.tool(
    "a",
    0,
    (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    { signal: new AbortController().signal },
  );
  rouse.script.commands = () => [{ id: "t", kind: "nudge", because: "task-taken", message: "it was taken" }];
  await expect(called).rejects.toThrow("the agent is to stop: it was taken");
  await expect(agent.tool("b", 0, () => 1, { signal: AbortSignal.abort(new Error("mine")) })).rejects.toThrow("mine");
});
