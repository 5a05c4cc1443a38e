import { type FindingLevel, findingLevels, healthStates } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import type { AgentRecord, Finding } from "../record.ts";
import { story } from "../story.test-support.ts";
import { allowedTransitions, gravest, nextHealth } from "./health-machine.ts";

const finding = (level: FindingLevel, confidence = 0.5, kind: Finding["kind"] = "no-progress"): Finding => ({
  kind,
  level,
  confidence,
  class: "absence",
  text: "",
  evidence: {},
  since: 0,
});

const isIn = (state: AgentRecord["health"]["state"]): AgentRecord["health"] => ({
  ...unjudged,
  state,
  since: 7,
  reason: "registered",
});

const unjudged = { findings: [], alert: null, alertsRaised: 0, lastAlert: null };

describe("health", () => {
  it("is the gravest finding: not there, then breaking things, then getting nowhere, then a warning", () => {
    const levels = ["degraded", "unresponsive", "note", "failing", "stuck"] as const;
    expect(gravest(levels.map((level) => finding(level)))?.level).toBe("unresponsive");
    expect(gravest([finding("stuck"), finding("failing"), finding("note")])?.level).toBe("failing");
    expect(gravest([finding("degraded"), finding("stuck")])?.level).toBe("stuck");
    expect(gravest([])).toBeNull();
  });

  it("names the surer of two findings that are equally grave, and the first of two equally sure", () => {
    expect(gravest([finding("stuck", 0.8, "zero-tokens"), finding("stuck", 0.9, "stale-checkpoint")])?.kind).toBe(
      "stale-checkpoint",
    );
    expect(gravest([finding("stuck", 0.8, "zero-tokens"), finding("stuck", 0.8, "no-tool-call")])?.kind).toBe(
      "zero-tokens",
    );
  });

  it("only takes steps that are allowed, from wherever to wherever findings lead", () => {
    const states = fc.constantFrom(...healthStates);
    const findings = fc.array(fc.tuple(fc.constantFrom(...findingLevels), fc.double({ min: 0, max: 1, noNaN: true })));
    const calm = fc.constantFrom("findings-cleared" as const, "new-incarnation" as const, "finished" as const);
    fc.assert(
      fc.property(states, findings, calm, (state, levels, reason) => {
        const settled = state === "QUARANTINED" || state === "TERMINATED";
        const reborn = reason === "new-incarnation";
        const found = levels.map(([level, confidence]) => finding(level, confidence));
        const next = nextHealth(isIn(state), found, reason, 99);
        if (reborn) expect(["HEALTHY", ...allowedTransitions.HEALTHY]).toContain(next.state);
        else if (next.state === state) expect(next).toEqual(isIn(state));
        else expect(allowedTransitions[state]).toContain(next.state);
        if (settled && !reborn) expect(next.state).toBe(state);
      }),
    );
  });

  it("does not count a note", () => {
    expect(nextHealth(isIn("HEALTHY"), [finding("note")], "findings-cleared", 9).state).toBe("HEALTHY");
    expect(nextHealth(isIn("STUCK"), [finding("note")], "findings-cleared", 9)).toEqual({
      ...unjudged,
      state: "HEALTHY",
      since: 9,
      reason: "findings-cleared",
    });
  });

  it("keeps since and reason while the state stays the same", () => {
    const before = { ...isIn("STUCK"), reason: "no-tool-call" } as const;
    expect(nextHealth(before, [finding("stuck", 1, "zero-tokens")], "findings-cleared", 9)).toBe(before);
  });

  it("is in a new life what it is since that began, also where it was the same before", () => {
    expect(nextHealth(isIn("HEALTHY"), [], "new-incarnation", 9)).toEqual({
      ...unjudged,
      state: "HEALTHY",
      since: 9,
      reason: "new-incarnation",
    });
    expect(nextHealth(isIn("STUCK"), [finding("stuck")], "new-incarnation", 9)).toEqual({
      ...unjudged,
      state: "STUCK",
      since: 9,
      reason: "no-progress",
    });
  });

  it("every state has a way out, and only a new life leads out of TERMINATED", () => {
    for (const state of healthStates) expect(allowedTransitions[state].length).toBeGreaterThan(0);
    expect(allowedTransitions.TERMINATED).toEqual(["HEALTHY"]);
    expect(nextHealth(isIn("TERMINATED"), [], "findings-cleared", 9).state).toBe("TERMINATED");
    expect(nextHealth(isIn("TERMINATED"), [], "new-incarnation", 9)).toMatchObject({
      state: "HEALTHY",
      reason: "new-incarnation",
    });
  });
});

describe("an agent that was terminated or quarantined", () => {
  const after = (state: "TERMINATED" | "QUARANTINED") => {
    const first = story();
    first.beats();
    const record = {
      ...first.record,
      health: { ...first.record.health, ...{ state, since: first.now, reason: "registered" as const } },
    };
    return story({ record, now: first.now });
  };

  it.each(["TERMINATED", "QUARANTINED"] as const)("stays %s whatever it says and however silent it is", (state) => {
    const agent = after(state);
    agent.beats({ sequenceNumber: 2 });
    agent.beats({ sequenceNumber: 3, healthMetrics: { consecutiveFailures: 9 } });
    agent.silentFor("1h");
    expect(agent.past).toEqual([]);
    expect(agent.record.health.state).toBe(state);
  });

  it("comes back with a new incarnation", () => {
    const agent = after("TERMINATED");
    agent.beats({ incarnation: 2, sequenceNumber: 1 });
    expect(agent.past).toEqual(["0s HEALTHY"]);
  });

  it("may come back unwell: its first beat counts like any other", () => {
    const agent = after("TERMINATED");
    agent.beats({ incarnation: 2, sequenceNumber: 1, healthMetrics: { consecutiveFailures: 9 } });
    expect(agent.past).toEqual(["0s FAILING"]);
  });
});

describe("a new life under a name that was well before", () => {
  it.each(["RUNNING", "FINISHED"] as const)("is HEALTHY since it began, after %s, and that is no change", (status) => {
    const agent = story();
    agent.beats({ status });
    agent.silentFor("5s");
    agent.registers();
    expect(agent.record).toMatchObject({
      health: { state: "HEALTHY", since: agent.now, reason: "new-incarnation" },
      life: { incarnation: 2 },
    });
    expect(agent.eventTypes()).not.toContain("HEALTH_STATE_CHANGED");
  });

  it("is HEALTHY since a holder started it", () => {
    const held = heldStory();
    held.prints();
    held.exits({ code: 0 });
    held.passes("1m");
    held.startsAgain();
    const { agent } = held;
    expect(agent.record).toMatchObject({
      health: { state: "HEALTHY", since: agent.record.life.bornAt, reason: "new-incarnation" },
      life: { incarnation: 2 },
    });
    expect(agent.eventTypes()).not.toContain("HEALTH_STATE_CHANGED");
  });
});

describe("a change of health", () => {
  it("is an event with its reason and the findings behind it", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("12s");
    expect(agent.events.filter(({ type }) => type === "HEALTH_STATE_CHANGED")).toEqual([
      {
        type: "HEALTH_STATE_CHANGED",
        payload: {
          agentId: "worker-1",
          from: "HEALTHY",
          to: "DEGRADED",
          reason: "missed-beats",
          findings: [
            {
              kind: "missed-beats",
              level: "degraded",
              confidence: 0.6,
              class: "absence",
              text: "2 expected beats missed",
              evidence: { missed: 2, silentSeconds: 12, ttlSeconds: 15 },
            },
          ],
        },
      },
    ]);
  });

  it("finishing is being well, for that reason", () => {
    const agent = story();
    agent.beats({ status: "DEGRADED" });
    agent.beats({ status: "FINISHED" });
    expect(agent.record.health).toMatchObject({ state: "HEALTHY", reason: "finished" });
  });
});
