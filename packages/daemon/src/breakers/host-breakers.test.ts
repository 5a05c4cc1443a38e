import type { Sight } from "@rouse/contract";
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
