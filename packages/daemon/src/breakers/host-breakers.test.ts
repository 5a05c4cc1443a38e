import { Heartbeat, type Sight } from "@rouse/contract";
import { newBreaker } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { type TaskWorld, taskWorld } from "../tasks/task-world.test-support.ts";

const fails = (...ids: number[]): Sight[] =>
  ids.flatMap((id): Sight[] => [
    { kind: "tool-started", id: `${id}`, name: "Bash", argsDigest: `${id}`, timeoutSeconds: null },
    { kind: "tool-ended", id: `${id}`, failed: true, resultDigest: `${id}` },
  ]);
const failures = ({ breakers }: TaskWorld): number => breakers.get("a/tool_execution").failures;
const stateOf = ({ mustWatch }: TaskWorld): string => mustWatch("a").record.health.state;
const open = { operation: "external_api", state: "OPEN" } as const;

async function streaming(): Promise<TaskWorld> {
  const world = await taskWorld();
  world.holds({ agentId: "a", structured: true });
  return world;
}

describe("calls seen in a held agent's stream", () => {
  it("count once, also when its holder tells of them again", async () => {
    const world = await streaming();
    world.reports("a", 1, { sights: fails(1, 2) });
    world.reports("a", 1, { sights: fails(1, 2) });
    expect(failures(world)).toBe(2);
    world.reports("a", 2, { sights: fails(3) });
    expect(failures(world)).toBe(3);
  });

  it("of one tool that fails open its own breaker, and not that of all while another is used", async () => {
    const world = await streaming();
    world.reports("a", 1, {
      sights: [
        { kind: "tool-started", id: "r", name: "Read", argsDigest: "r", timeoutSeconds: null },
        { kind: "tool-ended", id: "r", failed: false, resultDigest: "r" },
        ...fails(1, 2, 3, 4, 5),
      ],
    });
    expect(world.breakers.get("a/tool_execution/Bash").state).toBe("OPEN");
    expect(world.breakers.get("a/tool_execution")).toMatchObject({ state: "CLOSED", failures: 0 });
  });

  it("of a former life count no more", async () => {
    const world = await streaming();
    world.reports("a", 1, { sights: fails(1, 2, 3) });
    world.holds({ agentId: "a", structured: true, incarnation: 2, pid: 77 });
    expect(failures(world)).toBe(0);
  });

  it("open a breaker that the agent is judged by, in the same commit, and that ends by itself", async () => {
    const world = await streaming();
    world.reports("a", 1, { sights: fails(1, 2, 3, 4, 5) });
    expect([world.breakers.get("a/tool_execution").state, stateOf(world)]).toEqual(["OPEN", "DEGRADED"]);
    await world.saved();
    const told = world.events.flatMap(({ type, payload }) =>
      type === "CIRCUIT_BREAKER_STATE_CHANGED" ? [payload] : [],
    );
    expect(told).toEqual([
      { name: "a/tool_execution", from: "CLOSED", to: "OPEN" },
      { name: "a/tool_execution/Bash", from: "CLOSED", to: "OPEN" },
    ]);
    world.pass(31_000);
    expect(world.breakers.get("a/tool_execution").state).toBe("HALF_OPEN");
    world.pass(301_000);
    expect(world.breakers.get("a/tool_execution").state).toBe("CLOSED");
    expect(world.mustWatch("a").record.seen.breakers).toEqual([]);
  });
});

describe("what an agent reports of its breakers", () => {
  it("closes with its life, and with its removal is gone", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a", incarnation: 1 });
    world.breakers.hear({ agentId: "a", breakers: [open] }, world.readClock());
    expect([world.breakers.get("a/external_api").state, stateOf(world)]).toEqual(["OPEN", "DEGRADED"]);
    world.beats({ agentId: "a", incarnation: 2 });
    expect([world.breakers.get("a/external_api").state, stateOf(world)]).toEqual(["CLOSED", "HEALTHY"]);
    world.breakers.forgetAgent("a");
    expect(world.breakers.list()).toEqual([]);
  });

  it("makes nothing better that is seen of its calls, in this life and the next", async () => {
    const world = await streaming();
    const says = (state: "OPEN" | "HALF_OPEN" | "CLOSED") =>
      world.breakers.hear({ agentId: "a", breakers: [{ operation: "tool_execution", state }] }, world.readClock());
    const is = () => world.breakers.get("a/tool_execution");
    says("CLOSED");
    world.reports("a", 1, { sights: fails(1, 2) });
    expect(failures(world)).toBe(2);
    says("CLOSED");
    world.reports("a", 2, { sights: fails(3, 4, 5) });
    says("CLOSED");
    says("HALF_OPEN");
    expect(is()).toMatchObject({ state: "OPEN", source: "observed" });
    // It may say worse, and take that back; then its calls go on being counted.
    says("OPEN");
    world.reports("a", 3, { sights: fails(6) });
    expect(is()).toMatchObject({ state: "OPEN", source: "agent" });
    says("CLOSED");
    expect(is()).toMatchObject({ state: "CLOSED", failures: 0 });
    world.reports("a", 4, { sights: fails(7, 8, 9, 10, 11) });
    expect(is()).toMatchObject({ state: "OPEN", source: "observed" });
    world.holds({ agentId: "a", structured: true, incarnation: 2, pid: 77 });
    world.reports("a", 1, { sights: fails(1, 2, 3, 4, 5) });
    expect(world.breakers.get("a/tool_execution")).toMatchObject({ state: "OPEN", source: "observed" });
  });

  it("is nothing about how often Rouse brings it back", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a" });
    const news = ["recovery_attempt", "recovery_attempt/fast"].map((operation) => ({ ...open, operation }));
    world.breakers.hear({ agentId: "a", breakers: news }, world.readClock());
    expect([world.breakers.list(), stateOf(world)]).toEqual([[], "HEALTHY"]);
  });

  it("is known to its record after a start, also where an earlier version saved that", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a" });
    const breaker = { state: "open", period: 1, openedAt: 0, reopenAt: 60_000 } as const;
    const saved = JSON.stringify({ ...newBreaker("a/external_api", "agent", 0), breaker });
    world.breakers.restore([{ machine: "breaker", id: "a/external_api", record: saved, overAt: null }]);
    expect(world.mustWatch("a").record.seen.breakers).toMatchObject([{ operation: "external_api", state: "OPEN" }]);
  });
});

describe("a reset", () => {
  it("is told to an agent that keeps a breaker itself, also where its calls are seen", async () => {
    const by = { actor: "ann", as: "owner", reason: "mended" } as const;
    for (const says of [true, false]) {
      const world = await streaming();
      world.reports("a", 1, { sights: fails(1, 2, 3, 4, 5) });
      const half = { operation: "tool_execution", state: "HALF_OPEN" } as const;
      if (says) world.breakers.hear({ agentId: "a", breakers: [half] }, world.readClock());
      await world.breakers.reset("a/tool_execution", by);
      expect(world.breakers.commandsFor("a")).toHaveLength(says ? 1 : 0);
    }
  });

  it("has an id that a beat may name, however long the names of agent and operation are", async () => {
    const world = await taskWorld();
    const [agentId, operation] = ["a".repeat(128), "o".repeat(200)];
    world.beats({ agentId });
    world.breakers.hear({ agentId, breakers: [{ ...open, operation }] }, world.readClock());
    const by = { actor: "ann", as: "owner", reason: "mended" } as const;
    await world.breakers.reset(`${agentId}/${operation}`, by);
    const [command] = world.breakers.commandsFor(agentId);
    const beat = Heartbeat.parse({ agentId, seen: [command?.id] });
    world.breakers.hear(beat, world.readClock());
    expect(world.breakers.commandsFor(agentId)).toEqual([]);
  });
});

describe("a name that no breaker has", () => {
  it("is compared with names of its own agent only, however many those of others are", async () => {
    const world = await taskWorld();
    for (const agentId of ["a", "b"]) {
      world.beats({ agentId });
      const names = Array.from({ length: 200 }, (_, i) => `${agentId}${i}`.padEnd(200, "x"));
      const breakers = names.map((operation) => ({ ...open, operation }));
      world.breakers.hear({ agentId, breakers }, world.readClock());
    }
    const told = (name: string): string => {
      try {
        return world.breakers.get(name).name;
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(told("a/b0")).not.toContain("did you mean");
    world.beats({ agentId: "c" });
    world.breakers.hear({ agentId: "c", breakers: [open] }, world.readClock());
    expect(told("c/external_appi")).toContain("did you mean c/external_api?");
    expect(told("a/external_appi")).not.toContain("did you mean");
  });
});

describe("an agent that makes up names of breakers", () => {
  it("has two hundred at most, and those it has go on; others have theirs", async () => {
    const world = await taskWorld();
    for (const agentId of ["a", "b"]) world.beats({ agentId });
    const names = Array.from({ length: 250 }, (_, n) => ({ ...open, operation: `made-up/${n}` }));
    world.breakers.hear({ agentId: "a", breakers: names }, world.readClock());
    world.breakers.hear({ agentId: "a", breakers: [{ operation: "made-up/0", state: "CLOSED" }] }, world.readClock());
    world.breakers.hear({ agentId: "b", breakers: [open] }, world.readClock());
    expect([world.breakers.of("a").length, world.breakers.of("b").length]).toEqual([200, 1]);
    expect(world.breakers.get("a/made-up/0").state).toBe("CLOSED");
  });

  it("or of tools gets names that can be shown and asked for", async () => {
    const world = await streaming();
    const sights: Sight[] = [
      {
        kind: "tool-started",
        id: "1",
        name: `odd name/\u0007${"x".repeat(300)}`,
        argsDigest: "1",
        timeoutSeconds: null,
      },
      { kind: "tool-ended", id: "1", failed: true, resultDigest: "1" },
    ];
    world.reports("a", 1, { sights });
    expect(world.breakers.of("a").map(({ operation }) => operation)).toEqual([
      "tool_execution",
      `tool_execution/odd_name__${"x".repeat(140)}`,
    ]);
  });
});

describe("a reset by a person", () => {
  const by = { actor: "ann", reason: "it works again" } as never;

  it("is told to the agent until it has heard of it, over a restart of Rouse, too", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a" });
    world.breakers.hear({ agentId: "a", breakers: [open] }, world.readClock());
    expect(await world.breakers.reset("a/external_api", by)).toMatchObject({ state: "CLOSED", resetPending: true });
    const [command] = world.breakers.commandsFor("a");
    expect(command).toMatchObject({ kind: "reset-breaker", breaker: "external_api" });
    expect([...world.breakers.unheard]).toEqual(["a"]);
    world.breakers.hear({ agentId: "a", seen: ["another"] }, world.readClock());
    expect(world.breakers.commandsFor("a")).toHaveLength(1);
    world.breakers.hear({ agentId: "a", seen: [command?.id ?? ""] }, world.readClock());
    expect([world.breakers.commandsFor("a"), [...world.breakers.unheard]]).toEqual([[], []]);
    expect(world.breakers.commandsFor("nobody")).toEqual([]);
    const saved = JSON.stringify({ ...newBreaker("a/external_api", "agent", 0), reset: "reset/1" });
    world.breakers.restore([{ machine: "breaker", id: "a/external_api", record: saved, overAt: null }]);
    expect([world.breakers.commandsFor("a").map(({ id }) => id), [...world.breakers.unheard]]).toEqual([
      ["reset/1"],
      ["a"],
    ]);
    world.breakers.forgetAgent("a");
    expect([...world.breakers.unheard]).toEqual([]);
  });

  it("of what Rouse only sees is told to nobody, and of an unknown breaker is refused with the name that was meant", async () => {
    const world = await streaming();
    world.reports("a", 1, { sights: fails(1, 2, 3, 4, 5) });
    expect(await world.breakers.reset("a/tool_execution", by)).toMatchObject({ state: "CLOSED", resetPending: false });
    expect([world.breakers.commandsFor("a"), world.breakers.resets()]).toEqual([[], 1]);
    await expect(world.breakers.reset("a/tool_executio", by)).rejects.toThrow("did you mean a/tool_execution?");
    await expect(world.breakers.reset("a/recovery_attempt", by)).rejects.toThrow("no breaker has this name");
    expect(world.breakers.resets()).toBe(1);
  });
});

describe("an agent whose breakers change without end", () => {
  const changesOf = ({ events }: TaskWorld) =>
    events.flatMap(({ type, payload }) => (type === "CIRCUIT_BREAKER_STATE_CHANGED" ? [payload] : []));
  const flap = (world: TaskWorld, agentId: string, times: number): void => {
    for (let i = 0; i < times; i++)
      for (const state of ["CLOSED", "OPEN"] as const)
        world.breakers.hear({ agentId, breakers: [{ operation: "external_api", state }] }, world.readClock());
  };

  it("is told of 60 times a minute, and then how they stand", async () => {
    const world = await taskWorld();
    for (const agentId of ["a", "b"]) world.beats({ agentId });
    flap(world, "a", 1000);
    // Others are told of all the same.
    flap(world, "b", 1);
    await world.saved();
    const told = changesOf(world);
    expect(told.filter(({ name }) => name === "a/external_api")).toHaveLength(60);
    expect(told.filter(({ name }) => name === "b/external_api")).toHaveLength(1);
    expect(world.breakers.get("a/external_api")).toMatchObject({ state: "OPEN", trips: 1000 });
    world.pass(61_000);
    await world.saved();
    // The 60th was a close.
    const more = changesOf(world).slice(told.length);
    expect([told[59], more]).toMatchObject([
      { to: "CLOSED" },
      [{ name: "a/external_api", from: "CLOSED", to: "OPEN" }],
    ]);
    flap(world, "a", 1);
    await world.saved();
    expect(changesOf(world)).toHaveLength(told.length + 3);
  });

  it("and that stand at last as they were told says no more", async () => {
    const world = await taskWorld();
    world.beats({ agentId: "a" });
    flap(world, "a", 100);
    world.breakers.hear({ agentId: "a", breakers: [{ ...open, state: "CLOSED" }] }, world.readClock());
    world.pass(61_000);
    await world.saved();
    expect(changesOf(world)).toHaveLength(60);
  });
});
