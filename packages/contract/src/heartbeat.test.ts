import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentRegistration } from "./agent.ts";
import { AgentId, agentStatuses, Heartbeat, Id, renameSnakeCase, understandNames } from "./heartbeat.ts";

describe("an id", () => {
  it.each(["a", "worker-1", "team.build:7@host+x_y", "0", "x".repeat(128)])("may be %j", (id) => {
    expect(Id.safeParse(id).success).toBe(true);
  });

  it("is plain: nothing that means something to a shell, a terminal, a path or a URL", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        if (Id.safeParse(text).success) expect(text).toMatch(/^[A-Za-z0-9][A-Za-z0-9._:@+-]*$/);
      }),
    );
    for (const id of ["", ".hidden", "-rf", "../x", "a/b", "a b", "a\n", "a%20", "ä", "x".repeat(129)]) {
      expect(Id.safeParse(id).success).toBe(false);
    }
  });

  it("of an agent is never one of the monitor's own", () => {
    expect(AgentId.safeParse("rouse.canary").success).toBe(false);
    expect(AgentId.safeParse("rouse-worker").success).toBe(true);
  });
});

describe("a heartbeat", () => {
  it("needs nothing but an agent's id, and drops what nobody knows", () => {
    expect(Heartbeat.parse({ agentId: "a", mood: "fine" })).toEqual({ agentId: "a" });
  });

  it.each([
    { sequenceNumber: -1 },
    { sequenceNumber: 1.5 },
    { sequenceNumber: 2 ** 53 },
    { incarnation: 0 },
    { tokenCount: "5" },
    { errorCount: Number.NaN },
    { timestamp: "soon" },
    { timestamp: 1_700_000_000 },
    { status: "running" },
    { waitingFor: "godot" },
    { open: { kind: "tool", timeoutSeconds: -1 } },
    { open: { kind: "tool", timeoutSeconds: 604_801 } },
    { phase: "x".repeat(201) },
    { healthMetrics: { huge: "x".repeat(9000) } },
    { healthMetrics: Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`m${i}`, i])) },
  ])("with %j is refused", (wrong) => {
    expect(Heartbeat.safeParse({ agentId: "a", ...wrong }).success).toBe(false);
  });

  it.each(agentStatuses)("may say %s of its agent", (status) => {
    expect(Heartbeat.safeParse({ agentId: "a", status }).success).toBe(true);
  });

  it("may say null where nothing is known", () => {
    const said = {
      taskId: null,
      phase: null,
      progressIndicator: null,
      lastToolCall: null,
      lastCheckpoint: null,
      open: null,
    };
    expect(Heartbeat.parse({ agentId: "a", ...said })).toEqual({ agentId: "a", ...said });
  });
});

describe("snake case", () => {
  it("is understood for every field, and other names are left alone", () => {
    expect(
      renameSnakeCase({
        agent_id: "a",
        sequence_number: 1,
        current_phase: "p",
        last_tool_call_timestamp: "t",
        timestamp: "x",
        odd_one: 1,
      }),
    ).toEqual({
      agentId: "a",
      sequenceNumber: 1,
      phase: "p",
      lastToolCall: "t",
      timestamp: "x",
      odd_one: 1,
    });
  });

  it("names of every field lead to a field there is", () => {
    const camel = Object.keys(Heartbeat.shape);
    const snake = camel.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
    const renamed = renameSnakeCase(Object.fromEntries(snake.map((name) => [name, name])));
    expect(Object.keys(renamed).toSorted()).toEqual(camel.toSorted());
  });

  it("lets no key reach a prototype", () => {
    const renamed = renameSnakeCase(JSON.parse('{"agent_id":"a","__proto__":{"agentId":"root"}}'));
    expect(Object.getPrototypeOf(renamed)).toBe(Object.prototype);
    expect(renamed).toEqual({ agentId: "a" });
  });
});

describe("a heartbeat with agentName, currentTask and status", () => {
  const read = (message: Record<string, unknown>) => Heartbeat.parse(understandNames(message));

  it("is understood, in snake case, too", () => {
    const understood = { agentId: "sam", taskId: "AGT-7", status: "RUNNING" };
    expect(read({ agentName: "sam", currentTask: "AGT-7", status: "working" })).toEqual(understood);
    expect(read({ agent_name: "sam", current_task: "AGT-7", status: "busy" })).toEqual(understood);
    expect(read({ agentName: "sam" })).toEqual({ agentId: "sam" });
  });

  it.each([
    ["working", "RUNNING"],
    ["Busy", "RUNNING"],
    ["idle", "IDLE"],
    ["offline", "IDLE"],
    ["completed", "FINISHED"],
    ["DEGRADED", "DEGRADED"],
    ["vibing", undefined],
    ["constructor", undefined],
  ])("says %j of its agent, which is read as %s", (status, understood) => {
    expect(read({ agentName: "sam", status }).status).toBe(understood);
  });

  it("may name its task in free words: that is what it does, and no task", () => {
    const said = read({ agentName: "sam", currentTask: "fix the login page", status: "working" });
    expect(said).toEqual({ agentId: "sam", phase: "fix the login page", status: "RUNNING" });
    expect(read({ agentName: "sam", currentTask: "x ".repeat(200) }).phase).toHaveLength(200);
    expect(read({ agentName: "sam", currentTask: "", status: "" })).toEqual({ agentId: "sam" });
    expect(read({ agentName: "sam", currentTask: null })).toEqual({ agentId: "sam", taskId: null });
  });

  it("is of the agent that agentId names, or agent_id, where there is one, in whatever order", () => {
    const mixed = { agentName: "other", currentTask: "o", agentId: "own", taskId: "t" };
    expect(read(mixed)).toEqual({ agentId: "own", taskId: "t" });
    expect(read({ agent_id: "own", agentName: "other" })).toEqual({ agentId: "own" });
    expect(read({ agentName: "other", agent_id: "own" })).toEqual({ agentId: "own" });
    expect(read({ agentName: "sam", currentTask: "o", task_id: "t" })).toEqual({ agentId: "sam", taskId: "t" });
  });

  it.each([
    { agentName: "Sam Smith" },
    { agentName: 7 },
    { agentName: "sam", currentTask: 7 },
    { agentName: "sam", status: 7 },
  ])("is refused where it is %j", (wrong) => {
    expect(Heartbeat.safeParse(understandNames(wrong)).success).toBe(false);
  });

  it("with an agentId leaves its status to the rules: a word that nobody knows is refused", () => {
    const message = { agentId: "own", agentName: "other", status: "working" };
    expect(understandNames(message)).toBe(message);
    expect(Heartbeat.safeParse(message).success).toBe(false);
  });
});

describe("a registration", () => {
  it("names an agent, and is refused with a misspelt field", () => {
    expect(AgentRegistration.safeParse({ agentId: "a", taskId: null }).success).toBe(true);
    expect(AgentRegistration.safeParse({ agentId: "a", task: "t" }).success).toBe(false);
    expect(AgentRegistration.safeParse({ agentId: "rouse.canary" }).success).toBe(false);
  });
});
