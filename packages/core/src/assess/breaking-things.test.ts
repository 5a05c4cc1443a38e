import { describe, expect, it } from "vitest";
import { kindsOfEvidence } from "../decide/evidence.ts";
import { refuseRemoval } from "../recover/how-over.ts";
import { type Said, story } from "../story.test-support.ts";

/** Reports totals; each step adds calls and errors. */
function counting() {
  const agent = story();
  let calls = 0;
  let errors = 0;
  agent.beats({ toolCallCount: 0, errorCount: 0 });
  return Object.assign(agent, {
    didCalls(more: number, failed: number, said: Said = {}) {
      agent.silentFor("5s");
      calls += more;
      errors += failed;
      agent.beats({ toolCallCount: calls, errorCount: errors, ...said });
    },
  });
}

describe("error rate", () => {
  it("over a quarter of the recent calls is DEGRADED, a quarter is not", () => {
    const agent = counting();
    agent.didCalls(8, 2);
    expect(agent.state).toBe("HEALTHY");
    agent.didCalls(1, 1);
    expect(agent.state).toBe("DEGRADED");
    expect(agent.finding("error-rate")).toMatchObject({
      class: "explicit-error",
      evidence: { calls: 9, errors: 3, rate: 0.333 },
    });
  });

  it("says nothing about fewer than eight calls", () => {
    const agent = counting();
    agent.didCalls(7, 7);
    expect(agent.finding("error-rate")).toBeUndefined();
    agent.didCalls(1, 0);
    expect(agent.finding("error-rate")?.evidence).toMatchObject({ rate: 0.875 });
  });

  it("ages out after ten minutes without a new call", () => {
    const agent = counting();
    agent.didCalls(10, 10);
    agent.beatsEvery("5s", "11m");
    expect(agent.verdicts.filter((line) => line.includes("error-rate")).length).toBeGreaterThan(0);
    expect(agent.finding("error-rate")).toBeUndefined();
    expect(agent.verdicts.find((line) => !line.includes("error-rate") && line.startsWith("605s"))).toBeDefined();
  });

  it("ages out by itself, at its very second, when nothing is heard meanwhile", () => {
    const agent = counting();
    agent.didCalls(10, 10, { status: "WAITING", waitingFor: "input" });
    expect(agent.state).toBe("DEGRADED");
    agent.silentFor("11m");
    expect(agent.past).toEqual(["5s DEGRADED", "605s HEALTHY"]);
  });

  it("judges the last ten minutes only: an hour of good work does not hide a bad spell", () => {
    const agent = counting();
    for (let i = 0; i < 720; i++) agent.didCalls(10, 0);
    for (let i = 0; i < 120; i++) agent.didCalls(10, 4);
    expect(agent.finding("error-rate")?.evidence["rate"]).toBeCloseTo(0.4, 1);
    expect(agent.record.seen.facts.outcomes.length).toBeLessThanOrEqual(11);
  });

  it("more errors than calls are one in one, not more", () => {
    const agent = counting();
    agent.didCalls(8, 80);
    expect(agent.finding("error-rate")?.evidence["rate"]).toBe(1);
  });

  it("as the agent itself reports it counts as well", () => {
    const agent = story();
    agent.beats({ healthMetrics: { errorRate: 0.26 } });
    expect(agent.finding("error-rate")).toMatchObject({ level: "degraded", confidence: 0.5 });
    agent.beats({ healthMetrics: { error_rate: 0.25 } });
    expect(agent.state).toBe("HEALTHY");
  });
});

describe("consecutive failures", () => {
  it("more than three, as reported, are FAILING", () => {
    const agent = story();
    agent.beats({ healthMetrics: { consecutiveFailures: 3 } });
    expect(agent.state).toBe("HEALTHY");
    agent.beats({ healthMetrics: { consecutive_failures: 4 } });
    expect(agent.state).toBe("FAILING");
    expect(agent.finding("consecutive-failures")).toMatchObject({
      confidence: 0.9,
      evidence: { failures: 4, allowed: 3 },
    });
    agent.beats({ healthMetrics: { consecutiveFailures: 0 } });
    expect(agent.state).toBe("HEALTHY");
  });

  it("are inferred from four beats in a row with new errors and nothing achieved", () => {
    const agent = counting();
    for (let i = 0; i < 3; i++) agent.didCalls(0, 1);
    expect(agent.state).toBe("HEALTHY");
    agent.didCalls(0, 1);
    expect(agent.state).toBe("FAILING");
    expect(agent.finding("consecutive-failures")?.confidence).toBe(0.6);
  });

  it.each<[string, number, Said]>([
    ["a call that succeeded", 2, {}],
    ["a new checkpoint", 0, { lastCheckpoint: "c2" }],
    ["progress", 0, { progressIndicator: "further" }],
    ["a new phase", 0, { phase: "next" }],
  ])("%s in between begins the count anew", (_, calls, said) => {
    const agent = counting();
    agent.beats({ lastCheckpoint: "c1", progressIndicator: "start", phase: "first" });
    for (let i = 0; i < 3; i++) agent.didCalls(0, 1);
    agent.didCalls(calls, 1, said);
    for (let i = 0; i < 3; i++) agent.didCalls(0, 1);
    expect(agent.state).toBe("HEALTHY");
  });

  const failing = () => {
    const agent = counting();
    for (let i = 0; i < 20; i++) agent.didCalls(1, 1);
    expect(agent.state).toBe("FAILING");
    return agent;
  };

  it("are not over with a beat that came twice and carries no number, nor with one call that was lucky", () => {
    const agent = failing();
    agent.silentFor("1s");
    agent.beats({ toolCallCount: 20, errorCount: 20, sequenceNumber: undefined }, { agentTime: agent.now - 1000 });
    expect(agent.record.beats.accepted).toBe(22);
    expect(agent.state).toBe("FAILING");
    agent.didCalls(1, 1);
    agent.didCalls(1, 0);
    agent.didCalls(1, 1);
    expect(agent.past).toEqual(["20s FAILING"]);
  });

  it("are over after as many calls that went well, in one beat or in several, or when it got further", () => {
    const slowly = failing();
    for (let i = 0; i < 3; i++) slowly.didCalls(1, 0);
    expect(slowly.state).toBe("FAILING");
    slowly.didCalls(1, 0);
    expect(slowly.state).toBe("DEGRADED");
    const quickly = failing();
    quickly.didCalls(4, 0);
    expect(quickly.state).toBe("DEGRADED");
    const further = failing();
    further.beats({ phase: "first" });
    further.didCalls(1, 1, { phase: "next" });
    expect(further.state).toBe("DEGRADED");
  });

  it("speak for no stop from the first call that went well", () => {
    const agent = failing();
    const kinds = () => [...kindsOfEvidence(agent.record, agent.context)];
    expect(kinds()).toContain("explicit-error");
    agent.didCalls(1, 0);
    expect(agent.state).toBe("FAILING");
    expect(kinds()).not.toContain("explicit-error");
    agent.didCalls(1, 1);
    expect(kinds()).toContain("explicit-error");
  });

  it("errors while waiting for a provider are the provider's", () => {
    const agent = counting();
    for (let i = 0; i < 50; i++) agent.didCalls(0, 1, { status: "WAITING", waitingFor: "provider" });
    expect(agent.finding("consecutive-failures")).toBeUndefined();
    agent.beats({ status: "WAITING", waitingFor: "provider", healthMetrics: { consecutiveFailures: 50 } });
    agent.beats({ healthMetrics: {} }); // let go again: none of them is held against it
    expect(agent.past).toEqual([]);
  });
});

describe("a token spike", () => {
  const spends = (agent: ReturnType<typeof story>, perBeat: readonly number[]) => {
    let total = 1;
    agent.beats({ tokenCount: total });
    for (const spent of perBeat) {
      agent.silentFor("5s");
      total += spent;
      agent.beats({ tokenCount: total });
    }
  };

  it("is more than five times the usual rate", () => {
    const agent = story();
    spends(agent, [1200, 1200, 1200, 1200, 1200, 6000]);
    expect(agent.state).toBe("HEALTHY");
    const other = story();
    spends(other, [1200, 1200, 1200, 1200, 1200, 6001]);
    expect(other.state).toBe("DEGRADED");
    expect(other.finding("token-spike")).toMatchObject({
      class: "resource",
      evidence: { timesUsual: 5, threshold: 5 },
    });
  });

  it("needs a usual rate first, and a sum worth a word", () => {
    const early = story();
    spends(early, [10, 10, 10, 10, 60_000]);
    expect(early.past).toEqual([]);
    const small = story();
    spends(small, [10, 10, 10, 10, 10, 4999]);
    expect(small.past).toEqual([]);
  });

  it("is over with the next ordinary reading, and one burst does not hide the next", () => {
    const agent = story();
    spends(agent, [1200, 1200, 1200, 1200, 1200, 90_000, 1200, 90_000]);
    expect(agent.past).toEqual(["30s DEGRADED", "35s HEALTHY", "40s DEGRADED"]);
  });
});

describe("what an agent says of itself", () => {
  it("memory over nine tenths of its limit is a note, not an illness", () => {
    const agent = story();
    agent.beats({ healthMetrics: { memory: 0.91 } });
    expect(agent.finding("memory-pressure")).toMatchObject({ level: "note", evidence: { memory: 0.91 } });
    expect(agent.state).toBe("HEALTHY");
    agent.beats({ healthMetrics: { memory_usage: 0.9 } });
    expect(agent.finding("memory-pressure")).toBeUndefined();
  });

  it.each(["DEGRADED", "UNRESPONSIVE", "QUARANTINED"] as const)(
    "calling itself %s is believed as far as DEGRADED",
    (status) => {
      const agent = story();
      agent.beats({ status });
      expect(agent.state).toBe("DEGRADED");
      expect(agent.finding("self-reported")).toMatchObject({ class: "self-report", evidence: { status } });
      expect(agent.record.work.activity.kind).toBe("RUNNING");
      agent.beats({ status: "RUNNING" });
      expect(agent.state).toBe("HEALTHY");
    },
  );

  it("a run that it calls FAILED is told once, and made good by one that is not", () => {
    const agent = story();
    const told = () => agent.events.map(({ type }) => type).filter((type) => type.startsWith("ALERT"));
    agent.beats({ status: "IDLE" });
    for (let i = 0; i < 3; i++) {
      agent.silentFor("5s");
      agent.beats({ status: "FAILED" });
    }
    expect(agent).toMatchObject({ state: "DEGRADED", reason: "run-failed" });
    expect(agent.record.work.activity.kind).toBe("IDLE");
    expect(agent.did("raise-alert")).toMatchObject([
      { severity: "warning", summary: expect.stringContaining("its last run failed, as it says itself") },
    ]);
    // The next run has begun, and its outcome is unknown.
    agent.beats({ status: "STARTING" });
    expect(agent.state).toBe("DEGRADED");
    expect(told()).toEqual(["ALERT_RAISED"]);
    agent.beats({ status: "IDLE" });
    expect(agent.state).toBe("HEALTHY");
    expect(told()).toEqual(["ALERT_RAISED", "ALERT_RESOLVED"]);
  });

  it("after a run that failed nobody waits for beats, but does once the next has begun", () => {
    const agent = story();
    agent.beats({ status: "FAILED" });
    agent.silentFor("50m");
    expect(agent.state).toBe("DEGRADED");
    expect(refuseRemoval(agent.record, agent.policy)).toBeNull();
    agent.beats({ status: "STARTING" });
    agent.silentFor("5m");
    expect(agent.state).toBe("UNRESPONSIVE");
  });

  it("calling itself TERMINATED is having finished", () => {
    const agent = story();
    agent.beats({ status: "TERMINATED" });
    expect(agent.record.work.activity.kind).toBe("FINISHED");
    expect(agent.state).toBe("HEALTHY");
  });
});

describe("a context that is nearly full", () => {
  it("is a warning, and gone once it was compacted", () => {
    const agent = story();
    agent.beats({ healthMetrics: { context: 0.94 } });
    expect(agent.finding("context-exhausted")).toBeUndefined();
    agent.beats({ healthMetrics: { context_usage: 0.97 } });
    expect(agent.finding("context-exhausted")).toMatchObject({ level: "degraded", evidence: { context: 0.97 } });
    agent.beats({ healthMetrics: { context: 0.3 } });
    expect(agent.finding("context-exhausted")).toBeUndefined();
  });
});
