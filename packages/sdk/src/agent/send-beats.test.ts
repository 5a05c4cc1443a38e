import type { WaitKind } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { ackOf, checksumOf, problem, scriptedRouse, unreachable } from "./scripted-rouse.test-support.ts";
import { rouse as sdk } from "./start-agent.ts";

const second = <T>(list: readonly T[]): T | undefined => list[1];

describe("an agent that Rouse did not start", () => {
  it("announces its life first, and beats in it with numbers, times and checksums", async () => {
    const rouse = scriptedRouse();
    rouse.agent({ type: "writer", task: "book" });
    await rouse.until(() => rouse.beats().length >= 3);
    expect(rouse.asked[0]).toMatchObject({
      path: "/api/v1/agents",
      body: { agentId: "w", agentType: "writer", taskId: "book" },
    });
    const beats = rouse.beats();
    expect(beats.slice(0, 3).map(({ sequenceNumber }) => sequenceNumber)).toEqual([1, 2, 3]);
    expect(beats[0]).toMatchObject({ agentId: "w", incarnation: 3, taskId: "book", status: "RUNNING" });
    for (const beat of beats) expect(beat.checksum).toBe(checksumOf(beat));
    const times = beats.map(({ timestamp }) => Date.parse(timestamp ?? ""));
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it("tells what was said of the work", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    agent.phase("writing");
    agent.progress("page 3");
    agent.tokens(120);
    agent.tokens(30.4);
    agent.tokens(Number.NaN);
    agent.context(0.42);
    const beat = await rouse.until(() => rouse.beats().find(({ phase }) => phase !== undefined));
    expect(beat).toMatchObject({
      phase: "writing",
      progressIndicator: "page 3",
      tokenCount: 150,
      errorCount: 0,
      healthMetrics: { context: 0.42 },
    });
  });

  it("tells at once that it waits, until when, and that it goes on", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ beatEveryMs: 3_600_000 });
    await rouse.until(() => rouse.beats().length === 1);
    const until = Date.now() + 60_000;
    const end = agent.waiting("provider", until);
    const beat = await rouse.until(() => rouse.beats().find(({ status }) => status === "WAITING"));
    expect(beat.waitingFor).toBe("provider");
    expect(Math.abs(Date.parse(beat.waitingUntil ?? "") - until)).toBeLessThan(1000);
    end();
    await rouse.until(() => rouse.beats().at(-1)?.status === "RUNNING");
    agent.idle();
    await rouse.until(() => rouse.beats().at(-1)?.status === "IDLE");
    agent.phase("again");
    await rouse.until(() => rouse.beats().at(-1)?.status === "RUNNING");
  });

  it("understands the end of a wait as text, and warns once of what is no time", async () => {
    const rouse = scriptedRouse();
    const { agent, warnings } = rouse.agent({ beatEveryMs: 3_600_000 });
    const wait = async (kind: WaitKind, until: unknown) => {
      agent.waiting(kind, until as Date);
      return rouse.until(() => rouse.beats().find(({ waitingFor }) => waitingFor === kind));
    };
    const end = new Date(Date.now() + 60_000).toISOString();
    const { waitingUntil = "" } = await wait("provider", end);
    expect(Math.abs(Date.parse(waitingUntil) - Date.parse(end))).toBeLessThan(1000);
    expect(warnings).toEqual([]);
    expect(await wait("input", "tomorrow")).not.toHaveProperty("waitingUntil");
    expect(await wait("children", new Date("x"))).not.toHaveProperty("waitingUntil");
    expect(warnings).toEqual(["waiting(…, tomorrow): that is no time, so the wait is told without an end"]);
  });

  it("ignores a fill that is no share, with one warning", async () => {
    const rouse = scriptedRouse();
    const { agent, warnings } = rouse.agent({ beatEveryMs: 3_600_000 });
    agent.context(0.42);
    for (const fill of [40, Number.NaN, -1]) agent.context(fill);
    agent.waiting("input");
    const beat = await rouse.until(() => rouse.beats().find(({ status }) => status === "WAITING"));
    expect(beat.healthMetrics).toMatchObject({ context: 0.42 });
    expect(warnings).toEqual(["context(40) is ignored: the fill is a share from 0 to 1"]);
  });

  it("tells many changes with few beats", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent({ beatEveryMs: 3_600_000 });
    await rouse.until(() => rouse.beats().length === 1);
    for (let i = 0; i < 1000; i++) agent.waiting("children")();
    agent.waiting("input");
    await rouse.until(() => rouse.beats().at(-1)?.waitingFor === "input");
    expect(rouse.beats().length).toBeLessThanOrEqual(3);
  });

  it("says that it has finished, waits until that is known, and beats no more", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    await agent.finish();
    expect(rouse.beats().at(-1)?.status).toBe("FINISHED");
    expect(agent.connection()).toMatchObject({ state: "closed", waiting: 0 });
  });

  it("says that its run failed, and of the error no more than digests", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    await agent.fail(new Error("the secret is 1234"));
    expect(rouse.beats().at(-1)).toMatchObject({ status: "FAILED", errorCount: 1 });
    expect(rouse.steps()).toMatchObject([{ kind: "error", text_digest: expect.stringMatching(/^[0-9a-f]{16}$/) }]);
    expect(JSON.stringify(rouse.asked)).not.toContain("secret");
  });
});

describe("last words", () => {
  it("arrive when Rouse is back while they are waited for, however long it was away", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent();
    await rouse.until(() => rouse.beats().length === 1);
    let left = Number.POSITIVE_INFINITY;
    rouse.script.instead = ({ path }) => (path === "/api/v1/heartbeats" && left-- > 0 ? unreachable : undefined);
    await rouse.until(() => agent.connection().retries === 2);
    left = 3;
    await agent.finish();
    expect(left).toBeLessThan(0);
    expect(rouse.beats().at(-1)?.status).toBe("FINISHED");
    expect(agent.connection()).toMatchObject({ state: "closed", waiting: 0 });
  });
});

describe("a beat without an answer", () => {
  it("is sent again with the same number until it is acknowledged; that is counted", async () => {
    const rouse = scriptedRouse();
    let left = 2;
    rouse.script.instead = ({ path }) => (path === "/api/v1/heartbeats" && left-- > 0 ? unreachable : undefined);
    const { agent, warnings } = rouse.agent({ beatEveryMs: 3_600_000 });
    await rouse.until(() => rouse.beats().length === 3);
    expect(new Set(rouse.beats().map((beat) => JSON.stringify(beat))).size).toBe(1);
    await rouse.until(() => agent.connection().state === "connected");
    expect(agent.connection()).toMatchObject({ retries: 2, waiting: 0 });
    expect(warnings).toEqual([]);
  });

  it("waits as long as Retry-After says", async () => {
    const rouse = scriptedRouse();
    let left = 1;
    rouse.script.instead = ({ path }) =>
      path === "/api/v1/heartbeats" && left-- > 0
        ? { ...problem(503, "store-unavailable"), headers: { "retry-after": "2" } }
        : undefined;
    rouse.agent({ beatEveryMs: 3_600_000 });
    const [one, two] = await rouse.until(() => {
      const sent = rouse.to("/api/v1/heartbeats");
      return second(sent) !== undefined && sent;
    });
    expect((two?.at ?? 0) - (one?.at ?? 0)).toBeGreaterThanOrEqual(1990);
  });

  it("keeps those after it waiting: what changed meanwhile is told with the next", async () => {
    const rouse = scriptedRouse();
    let left = 1;
    rouse.script.instead = ({ path }) => (path === "/api/v1/heartbeats" && left-- > 0 ? unreachable : undefined);
    const { agent } = rouse.agent({ beatEveryMs: 3_600_000 });
    await rouse.until(() => rouse.beats().length === 1);
    agent.waiting("schedule");
    await rouse.until(() => rouse.beats().length === 3);
    expect(rouse.beats().map(({ sequenceNumber, status }) => [sequenceNumber, status])).toEqual([
      [1, "RUNNING"],
      [1, "RUNNING"],
      [2, "WAITING"],
    ]);
  });

  it("is damaged on the way: the same is sent again", async () => {
    const rouse = scriptedRouse();
    let left = 1;
    rouse.script.instead = ({ path, body }) =>
      path === "/api/v1/heartbeats" && left-- > 0
        ? { status: 422, body: { ...ackOf(body, [], "rejected"), because: "wrong-checksum" } }
        : undefined;
    rouse.agent({ beatEveryMs: 3_600_000 });
    await rouse.until(() => rouse.beats().length === 2);
    expect(rouse.beats()[0]).toEqual(rouse.beats()[1]);
  });
});

describe("a beat that is refused whatever is changed about it", () => {
  it.each(["wrong-checksum", "absurd-time"])("as %s is not sent again and again", async (because) => {
    const rouse = scriptedRouse();
    rouse.script.instead = ({ path, body }) =>
      path === "/api/v1/heartbeats" ? { status: 422, body: { ...ackOf(body, [], "rejected"), because } } : undefined;
    const { agent, warnings } = rouse.agent();
    await rouse.until(() => agent.connection().state === "refused");
    expect(rouse.beats()).toHaveLength(6);
    expect(warnings).toEqual([expect.stringContaining(`refused as ${because}`)]);
  });
});

it("the connection is refused while beats are, whatever else is answered, until a beat is taken", async () => {
  const rouse = scriptedRouse();
  let isRefused = false;
  rouse.script.instead = ({ path }) =>
    isRefused && path === "/api/v1/heartbeats" ? problem(403, "forbidden", "only for x") : undefined;
  const { agent, warnings } = rouse.agent({ task: "t" });
  await rouse.until(() => rouse.beats().length === 1);
  isRefused = true;
  await rouse.until(() => agent.connection().state === "refused");
  expect(await agent.checkpoint(1, {})).toEqual({ state: "saved", step: 1 });
  expect(await agent.checkpoint(2, {})).toEqual({ state: "saved", step: 2 });
  expect(agent.connection()).toMatchObject({ state: "refused", problem: "only for x" });
  expect(warnings).toHaveLength(1);
  isRefused = false;
  await agent.finish();
  expect(rouse.beats().at(-1)?.status).toBe("FINISHED");
  expect(agent.connection().problem).toBeNull();
});

it("a beat that arrives damaged again and again goes without a checksum", async () => {
  const rouse = scriptedRouse();
  rouse.script.instead = ({ path, body }) =>
    path === "/api/v1/heartbeats" && body.checksum !== undefined
      ? { status: 422, body: { ...ackOf(body, [], "rejected"), because: "wrong-checksum" } }
      : undefined;
  const { agent } = rouse.agent({ beatEveryMs: 3_600_000 });
  await rouse.until(() => rouse.beats().some(({ checksum }) => checksum === undefined));
  expect(rouse.beats().map(({ checksum }) => checksum !== undefined)).toEqual([true, true, true, false]);
  expect(new Set(rouse.beats().map(({ sequenceNumber }) => sequenceNumber))).toEqual(new Set([1]));
  await rouse.until(() => agent.connection().state === "connected");
});

describe("an agent whose clock is absurd", () => {
  it("goes on with Rouse's time", async () => {
    const rouse = scriptedRouse();
    let left = 1;
    rouse.script.instead = ({ path, body }) =>
      path === "/api/v1/heartbeats" && left-- > 0
        ? {
            status: 422,
            body: { ...ackOf(body, [], "rejected"), because: "absurd-time", receivedAt: "2031-01-01T00:00:00Z" },
          }
        : undefined;
    rouse.agent();
    await rouse.until(() => rouse.beats().length >= 3);
    const [first, again, next] = rouse.beats();
    expect([first?.sequenceNumber, again?.sequenceNumber, next?.sequenceNumber]).toEqual([1, 1, 2]);
    expect(again?.timestamp).toMatch(/^2031-01-01T00:00:0/);
    expect(next?.timestamp).toMatch(/^2031-01-01T00:00:0/);
  });
});

describe("a process of an agent that Rouse started", () => {
  const env = { ROUSE_URL: "http://rouse.test", ROUSE_AGENT_ID: "h", ROUSE_TOKEN: "t", ROUSE_INCARNATION: "4" };
  const own = { id: "other-name", env, url: undefined, token: undefined } as never;

  it("announces no life, and its numbers go on after those that were heard in this one", async () => {
    const rouse = scriptedRouse();
    rouse.script.kept = [
      { agentId: "h", incarnation: 4, sequenceNumber: 17, healthMetrics: { process: "of an earlier program" } },
      { agentId: "h", incarnation: 3, sequenceNumber: 99 },
    ];
    const { agent } = rouse.agent(own);
    expect(agent.id).toBe("h");
    await rouse.until(() => rouse.beats().length === 2);
    expect(rouse.beats()).toMatchObject([{ agentId: "h", incarnation: 4, sequenceNumber: 18 }, { sequenceNumber: 19 }]);
    expect(rouse.to("/api/v1/agents")).toEqual([]);
  });

  it("is replaced by another that speaks since: it is told once, stops, and beats no more", async () => {
    const rouse = scriptedRouse();
    const { agent, warnings } = rouse.agent(own);
    const stopped = new Promise((resolve) => agent.onStop(resolve));
    await rouse.until(() => rouse.beats().length === 1);
    rouse.script.kept = [{ agentId: "h", incarnation: 4, sequenceNumber: 2, healthMetrics: { process: "another" } }];
    rouse.script.instead = ({ path, body }) =>
      path === "/api/v1/heartbeats" ? { status: 200, body: ackOf(body, [], "duplicate") } : undefined;
    expect(await stopped).toMatchObject({ because: "replaced", message: expect.stringContaining("another process") });
    expect(agent.connection().state).toBe("replaced");
    expect(agent.signal.aborted).toBe(true);
    expect(warnings).toHaveLength(1);
    expect(rouse.beats()).toHaveLength(2);
  });

  it("goes on above beats that somebody sent without a number", async () => {
    const rouse = scriptedRouse();
    const { agent } = rouse.agent(own);
    await rouse.until(() => rouse.beats().length === 1);
    rouse.script.kept = [
      { agentId: "h", incarnation: 4, sequenceNumber: 1, healthMetrics: rouse.beats()[0]?.healthMetrics },
    ];
    let left = 1;
    rouse.script.instead = ({ path, body }) =>
      path === "/api/v1/heartbeats" && left-- > 0 ? { status: 200, body: ackOf(body, [], "duplicate") } : undefined;
    await rouse.until(() => rouse.beats().length === 3);
    expect(rouse.beats().map(({ sequenceNumber }) => sequenceNumber)).toEqual([1, 2, 4]);
    expect(agent.connection().state).toBe("connected");
  });
});

it("a later life has begun: the older process is told, and beats no more", async () => {
  const rouse = scriptedRouse();
  const { agent, warnings } = rouse.agent();
  const stopped = new Promise((resolve) => agent.onStop(resolve));
  rouse.script.instead = ({ path, body }) =>
    path === "/api/v1/heartbeats"
      ? { status: 409, body: { ...ackOf(body, [], "rejected"), because: "old-incarnation" } }
      : undefined;
  expect(await stopped).toMatchObject({ because: "replaced" });
  expect(warnings).toEqual([expect.stringContaining("a later life of it has begun")]);
  await agent.finish();
  expect(rouse.beats()).toHaveLength(1);
});

describe("what answers is not a Rouse that knows this agent", () => {
  it.each([
    ["refuses the token", problem(401, "unauthorized", "send the token"), "refuses the token (send the token)"],
    ["says that the token is of another agent", problem(403, "forbidden", "only for x"), "only for x"],
    ["is a web page", { status: 200, body: "<html>hello</html>" }, "is not a Rouse that this client understands"],
    ["is some other API", { status: 404, body: { error: "no" } }, "is not a Rouse that this client understands"],
  ])("it %s: one clear warning, then quiet", async (_, answer, words) => {
    const rouse = scriptedRouse();
    rouse.script.instead = () => answer;
    const { agent, warnings } = rouse.agent();
    await rouse.until(() => agent.connection().state === "refused");
    expect(warnings).toEqual([expect.stringContaining(words)]);
    expect(agent.connection().problem).toContain(words);
    agent.phase("goes on");
    expect(await agent.tool("t", {}, () => 7)).toBe(7);
    expect(warnings).toHaveLength(1);
  });

  it("nobody is there, or nothing is known of where it is: the same", async () => {
    const rouse = scriptedRouse();
    rouse.script.instead = () => unreachable;
    const { agent, warnings } = rouse.agent();
    await rouse.until(() => agent.connection().state === "retrying");
    expect(warnings).toEqual([expect.stringContaining("no Rouse is running at http://rouse.test")]);
    const alone: string[] = [];
    const other = scriptedRouse().agent({
      id: "alone",
      token: undefined,
      onWarning: (text: string) => alone.push(text),
    } as never);
    expect(await other.agent.tool("t", {}, () => 8)).toBe(8);
    await other.agent.close();
    expect(alone).toEqual([expect.stringContaining("there is no token for the Rouse at http://rouse.test")]);
  });
});

it("an author's mistakes are said at once", () => {
  const rouse = scriptedRouse();
  expect(() => rouse.agent({ id: undefined } as never)).toThrow("an agent needs an id");
  expect(() => rouse.agent({ id: "a b" })).toThrow("the id of an agent must be 1 to 128 letters");
  expect(() => rouse.agent({ task: "../x" })).toThrow("the task of an agent must be");
  expect(() => rouse.agent({ beatEveryMs: 0 })).toThrow("beatEveryMs is a number from 100");
  expect(() => rouse.agent({ breakers: { external_api: { failureThreshold: 0 } } })).toThrow(RangeError);
  expect(() => rouse.agent({ breakers: { external_api: { failures: 2 } as object } })).toThrow(
    'the rules of breaker external_api have no "failures": breakers are { OPERATION: { failureThreshold,',
  );
  for (const odd of [2, null])
    expect(() => rouse.agent({ breakers: { failures: odd } as never })).toThrow(`breaker failures have no "${odd}"`);
  for (const odd of [null, "w"]) expect(() => sdk.agent(odd as never)).toThrow("an agent is described by an object");
});
