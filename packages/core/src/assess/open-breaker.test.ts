import { describe, expect, it } from "vitest";
import { breakersOf } from "../breakers/breaker-story.test-support.ts";
import { kindsOfEvidence } from "../decide/evidence.ts";
import { type HeldGiven, heldStory } from "../held-story.test-support.ts";
import { endings, refusals } from "../ladder-story.test-support.ts";
import { runStory } from "../run-story.test-support.ts";
import { type Story, story } from "../story.test-support.ts";

const alerts = (agent: Story): string[] =>
  agent.actions.flatMap((action) =>
    action.kind === "raise-alert" ? [action.severity] : action.kind === "resolve-alert" ? ["resolved"] : [],
  );
const evidence = (agent: Story): string[] => [...kindsOfEvidence(agent.record, agent.context)].toSorted();

const failures = ["failed", "failed", "failed", "failed", "failed"] as const;

/** An agent at work that says nothing of its calls but by its breakers. */
function worker() {
  const agent = story({ preset: "default" });
  agent.beats({ progressIndicator: "1" });
  return { agent, ...breakersOf(agent) };
}

/** A held agent whose steps are told. */
function heldWorker(given: HeldGiven = {}) {
  const held = heldStory({ taskId: "t1", obedient: true, ...given });
  held.prints();
  return { held, ...breakersOf(held.agent) };
}

describe("an open breaker", () => {
  it("of all its tools makes an agent FAILING, half open DEGRADED, and closed well again", () => {
    const { agent, reports } = worker();
    reports("tool_execution", "OPEN", "30s");
    expect([agent.state, agent.reason]).toEqual(["FAILING", "breaker-open"]);
    expect(agent.finding("breaker-open")).toMatchObject({
      class: "explicit-error",
      text: "its circuit breaker for all its tools is open, as it reports",
    });
    reports("tool_execution", "HALF_OPEN");
    expect(agent.state).toBe("DEGRADED");
    reports("tool_execution", "CLOSED");
    expect([agent.state, agent.record.seen.breakers]).toEqual(["HEALTHY", []]);
  });

  it.each(["tool_execution/grep", "external_api", "external_api/api.example.com", "checkpoint_write", "database"])(
    "of %s is a warning",
    (operation) => {
      const { agent, reports } = worker();
      reports(operation, "OPEN", "30s");
      expect([agent.state, agent.reason]).toEqual(["DEGRADED", "breaker-open"]);
      expect(evidence(agent)).toEqual([]);
    },
  );

  it("is told with the name of what it guards, but never in its text", () => {
    const { agent, reports } = worker();
    reports("external_api/ignore-all-rules", "OPEN", "30s");
    const finding = agent.finding("breaker-open");
    expect(finding?.text).toBe("its circuit breaker for an external API is open, as it reports");
    expect(finding?.evidence).toMatchObject({ operation: "external_api/ignore-all-rules", state: "OPEN", open: 1 });
  });

  it("of a provider is its agent's own word, and held for less than one of something else", () => {
    const findingOf = (operation: string, state: "OPEN" | "HALF_OPEN") => {
      const { agent, reports } = worker();
      reports(operation, state, state === "OPEN" ? "30s" : null);
      agent.silentFor("5s");
      agent.beats();
      return agent.finding("breaker-open");
    };
    expect(findingOf("external_api", "OPEN")).toMatchObject({
      ...{ class: "self-report", confidence: 0.4, evidence: { openSeconds: 5 } },
    });
    expect(findingOf("database", "HALF_OPEN")).toMatchObject({
      ...{ class: "explicit-error", confidence: 0.6 },
      text: "its circuit breaker for something it calls is half open, as it reports",
    });
  });

  it("is told before one that is half open, whichever came first and whatever it guards", () => {
    const told = (...operations: ["OPEN" | "HALF_OPEN", string][]) => {
      const { agent, reports } = worker();
      for (const [state, operation] of operations) reports(operation, state);
      return agent.finding("breaker-open")?.evidence;
    };
    expect(told(["HALF_OPEN", "tool_execution"], ["OPEN", "database"])).toMatchObject({ operation: "database" });
    expect(told(["OPEN", "checkpoint_write"], ["HALF_OPEN", "database"])).toMatchObject({
      operation: "checkpoint_write",
    });
    expect(told(["OPEN", "checkpoint_write"], ["OPEN", "database"])).toMatchObject({ operation: "checkpoint_write" });
    expect(told(["HALF_OPEN", "checkpoint_write"], ["HALF_OPEN", "database"])).toMatchObject({
      operation: "checkpoint_write",
    });
  });

  it("of all its tools weighs more than any other, though that is open and it is told later", () => {
    const { agent, reports } = worker();
    reports("checkpoint_write", "OPEN");
    reports("tool_execution", "OPEN");
    expect(agent.state).toBe("FAILING");
    const seen = runStory();
    const { calls } = breakersOf(seen.agent);
    for (let i = 0; i < 5; i++) {
      seen.fails("Bash", `npm test ${i}`, `failed ${i}`);
      calls("Bash", "failed");
    }
    seen.does("Edit", "another way", "done");
    breakersOf(seen.agent).reports("database", "OPEN");
    expect(seen.agent.finding("breaker-open")).toMatchObject({
      level: "degraded",
      evidence: { operation: "database" },
    });
  });

  it("of all its tools is a warning while its agent waits for somebody, and calls nothing", () => {
    const { agent, reports } = worker();
    reports("tool_execution", "OPEN", "1h");
    agent.beats({ status: "WAITING", waitingFor: "input" });
    expect([agent.state, agent.finding("breaker-open")?.level]).toEqual(["DEGRADED", "degraded"]);
  });

  it("says nothing of an agent without work, and does again when it works", () => {
    const { agent, reports } = worker();
    reports("tool_execution", "OPEN", "1h");
    agent.beats({ status: "IDLE" });
    expect(agent.state).toBe("HEALTHY");
    agent.beats({ status: "RUNNING" });
    expect(agent.state).toBe("FAILING");
  });

  it("is forgotten with its agent's life", () => {
    const { agent, reports } = worker();
    reports("external_api", "OPEN", "1h");
    agent.registers({ incarnation: 2 });
    expect([agent.state, agent.record.seen.breakers]).toEqual(["HEALTHY", []]);
  });

  it("that Rouse runs ages out when nothing is called any more", () => {
    const { agent, calls, passes, state } = worker();
    calls("grep", "failed", "failed", "failed", "failed", "failed");
    expect(agent.state).toBe("DEGRADED");
    passes("30s");
    expect([state("tool_execution"), agent.state]).toEqual(["half-open", "DEGRADED"]);
    agent.beatsEvery("1m", "4m");
    expect(agent.state).toBe("DEGRADED");
    passes("2m");
    expect([state("tool_execution"), agent.state]).toEqual(["closed", "HEALTHY"]);
  });

  it("that Rouse runs over what it sees makes it FAILING when the call after the pause fails, too", () => {
    const { agent, fails, does } = runStory();
    const { calls, passes } = breakersOf(agent);
    for (let i = 0; i < 5; i++) {
      fails(`tool-${i}`, `looks ${i}`, `nothing ${i}`);
      calls(`tool-${i}`, "failed");
    }
    expect([agent.state, agent.finding("breaker-open")?.level]).toEqual(["DEGRADED", "degraded"]);
    passes("30s");
    fails("tool-6", "looks 6", "nothing 6");
    calls("tool-6", "failed");
    expect([agent.state, agent.reason]).toEqual(["FAILING", "breaker-open"]);
    // The same failures that are seen in a loop are no other kind of evidence.
    expect(evidence(agent)).toEqual(["repetition"]);
    passes("30s");
    does("tool-7", "looks 7", "found");
    calls("tool-7", "well");
    expect(agent.finding("breaker-open")).toBeUndefined();
  });

  it("of an agent that goes round in circles leaves that to the loop's own ladder, which begins with a nudge", () => {
    const { agent, fails } = runStory({ settings: { mode: "assist" } });
    const { calls, passes } = breakersOf(agent);
    for (let i = 0; i < 6; i++) {
      fails("Bash", "npm test", "failed");
      calls("Bash", "failed");
      if (i === 4) passes("30s");
    }
    expect(agent.record.seen.breakers[0]).toMatchObject({ operation: "tool_execution", state: "OPEN" });
    expect([agent.state, agent.finding("breaker-open")?.level]).toEqual(["STUCK", "degraded"]);
  });

  it("that its agent reports says nothing any more ten recovery times after the next try was due", () => {
    const { agent, reports, passes } = worker();
    reports("external_api", "OPEN", "5m");
    passes("14m");
    expect(agent.finding("breaker-open")).toBeDefined();
    passes("2m");
    expect(agent.finding("breaker-open")).toBeUndefined();
  });

  it("that its agent reports is over at the very moment it ages out, which no other signal marks", () => {
    const { agent, reports } = worker();
    reports("external_api", "OPEN", "30s");
    agent.beatsEvery("30s", "629s");
    expect(agent.finding("breaker-open")).toBeDefined();
    agent.silentFor("30s");
    expect(agent.finding("breaker-open")).toBeUndefined();
  });

  it("of a hundred invented operations fills no record, and those that matter are kept", () => {
    const { agent, reports } = worker();
    for (let i = 0; i < 100; i++) reports(`made-up-${i}`, "OPEN");
    reports("tool_execution", "OPEN", "30s");
    expect(agent.record.seen.breakers).toHaveLength(16);
    expect(agent.state).toBe("FAILING");
  });
});

describe("an agent whose breaker is open", () => {
  it("and that gets somewhere is not FAILING for it", () => {
    const { agent, reports } = worker();
    reports("tool_execution", "OPEN", "30s");
    agent.silentFor("5s");
    agent.beats({ progressIndicator: "2" });
    expect(agent.state).toBe("DEGRADED");
    expect(agent.finding("breaker-open")?.evidence).toMatchObject({ goesOn: "yes" });
    expect(evidence(agent)).toEqual([]);
  });

  it("or that saved a checkpoint", () => {
    const { agent, reports } = worker();
    reports("tool_execution", "OPEN", "30s");
    agent.silentFor("5s");
    agent.savesCheckpoint("c1");
    expect(agent.state).toBe("DEGRADED");
  });

  it("where its calls are told, too", () => {
    const { agent, fails } = runStory();
    const { calls } = breakersOf(agent);
    for (let i = 0; i < 5; i++) {
      fails("Bash", `npm test ${i}`, `failed ${i}`);
      calls("Bash", "failed");
    }
    expect(agent.finding("breaker-open")?.level).toBe("degraded");
    agent.silentFor("1s");
    agent.savesCheckpoint("c1");
    expect(agent.finding("breaker-open")?.level).toBe("note");
  });

  it("gets nowhere by what went well before its calls began to fail", () => {
    const { agent, does, fails } = runStory();
    const { calls } = breakersOf(agent);
    does("Edit", "a change", "changed");
    calls("Edit", "well");
    agent.silentFor("10s");
    for (let i = 0; i < 5; i++) {
      fails("Bash", `npm test ${i}`, `failed ${i}`);
      calls("Bash", "failed");
    }
    expect(agent.finding("breaker-open")?.level).toBe("degraded");
  });

  it("mends and tests again: a test that fails between changes that work is no warning", () => {
    const { agent, does, fails } = runStory();
    const { calls } = breakersOf(agent);
    for (let i = 0; i < 8; i++) {
      fails("Bash", `npm test ${i}`, `failed ${i}`);
      calls("Bash", "failed");
      does("Edit", `change ${i}`, `changed ${i}`);
      calls("Edit", "well");
    }
    expect(agent.finding("breaker-open")?.level).toBe("note");
    expect([agent.reason, alerts(agent)]).toEqual(["error-rate", []]);
  });

  it("and whose calls go well again is no warning any more, though the pause of a breaker that only watches is not over", () => {
    const { agent, does, fails } = runStory();
    const { calls, state } = breakersOf(agent);
    for (let i = 0; i < 5; i++) {
      fails("Bash", "npm test", "failed");
      calls("Bash", "failed");
    }
    expect(agent.finding("breaker-open")?.level).toBe("degraded");
    does("Edit", "another way", "done");
    calls("Edit", "well");
    expect([state("tool_execution"), agent.finding("breaker-open")?.level]).toEqual(["open", "note"]);
  });

  it("waits for its next try: that it is quiet until then is no evidence", () => {
    const { held, reports, passes } = heldWorker({ settings: { mode: "observe" } });
    held.passes("5m");
    reports("tool_execution", "OPEN", "20m");
    passes("19m", held.passes);
    expect(held.agent.state).toBe("FAILING");
    expect(evidence(held.agent)).not.toContain("explicit-error");
    // Its call after the pause fails as well, and it waits for the next.
    reports("tool_execution", "HALF_OPEN");
    reports("tool_execution", "OPEN", "2m");
    passes("1m", held.passes);
    expect(evidence(held.agent)).not.toContain("explicit-error");
    passes("2m", held.passes);
    expect(evidence(held.agent)).toContain("explicit-error");
  });

  it("and that thinks on without another try is not stopped for being quiet, whatever time it named", () => {
    for (const retryIn of ["30s", "0s", null]) {
      const { held, reports, passes } = heldWorker();
      held.passes("5m");
      reports("tool_execution", "OPEN", retryIn);
      // Told again, as after a gap: that is no try either.
      reports("tool_execution", "OPEN", retryIn);
      passes("30m", held.passes);
      expect(held.agent.past.some((line) => line.endsWith("FAILING"))).toBe(true);
      expect(held.agent.did("stop-agent")).toEqual([]);
    }
  });

  it.each(["model", "tool"] as const)(
    "and that waits for a %s within its time is not stopped for being quiet",
    (kind) => {
      for (const retryIn of ["30s", "0s", null]) {
        const { held, reports, passes } = heldWorker();
        const beats = () => held.agent.beats({ open: { kind, name: "slow", timeoutSeconds: 3600 } });
        beats();
        held.passes("5m");
        reports("tool_execution", "HALF_OPEN");
        passes("1s", held.passes);
        reports("tool_execution", "OPEN", retryIn);
        for (let i = 0; i < 30; i++) {
          beats();
          passes("1m", held.passes);
        }
        expect(held.agent.past.some((line) => line.endsWith("FAILING"))).toBe(true);
        expect(held.agent.did("stop-agent")).toEqual([]);
      }
    },
  );

  it("is never stopped for that alone, however long it stands and whoever reports it", () => {
    for (const seen of [true, false]) {
      const { held, reports, calls, passes } = heldWorker({ processes: "busy" });
      for (let i = 0; i < 120; i++) {
        if (seen) calls("grep", ...(i === 0 ? failures : failures.slice(0, 1)));
        else reports("tool_execution", i % 2 === 0 ? "OPEN" : "HALF_OPEN", "5s");
        held.prints();
        passes("1m", held.passes);
      }
      expect(held.agent.past.some((line) => line.endsWith("FAILING"))).toBe(true);
      expect(held.agent.did("stop-agent")).toEqual([]);
      expect(refusals(held)).toContain("one-kind-of-evidence");
    }
  });

  it("is not stopped while only its provider is down, though it is quiet for hours", () => {
    const { held, reports, passes } = heldWorker();
    reports("external_api", "OPEN", "30s");
    for (let i = 0; i < 240; i++) {
      reports("external_api/api.example.com", i % 2 === 0 ? "OPEN" : "HALF_OPEN", "30s");
      passes("1m", held.passes);
    }
    expect(held.agent.did("stop-agent")).toEqual([]);
    expect(held.agent.past.some((line) => line.endsWith("FAILING"))).toBe(false);
  });

  it("and that stands still besides is stopped and brought back, as any agent with two kinds of evidence", () => {
    const { held, reports, passes } = heldWorker();
    held.passes("5m");
    reports("tool_execution", "OPEN");
    passes("1s", held.passes);
    reports("tool_execution", "HALF_OPEN");
    reports("tool_execution", "OPEN");
    passes("30s", held.passes);
    expect(held.agent.did("stop-agent")).toHaveLength(1);
    expect(held.agent.told("TERMINATION_ORDERED")).toMatchObject([{ because: "breaker-open" }]);
    held.passes("20m");
    // FAILING first, then half open for a moment.
    expect(endings(held)).toEqual(["recovered: well-again", "recovered: stood-probation"]);
  });
});

describe("an agent that cannot save its checkpoints", () => {
  const failing = { healthMetrics: { consecutiveFailures: 9 } };

  it("is not stopped without a snapshot of its folder", () => {
    const stops = (given: HeldGiven, unsaved: boolean): number => {
      const { held, reports } = heldWorker(given);
      held.passes("5m");
      if (unsaved) reports("checkpoint_write", "OPEN", "2m");
      held.agent.beats(failing);
      held.passes("1m");
      return held.agent.did("stop-agent").length;
    };
    const saved = { work: { kind: "saved", commit: "c", changed: 1 } } as const;
    expect([stops({}, false), stops({}, true), stops(saved, true)]).toEqual([1, 0, 1]);
    const accepts = { settings: { intervention: { termination: { accept_failed_snapshot: true } } } };
    expect(stops(accepts, true)).toBe(1);
  });

  it("is brought back with a reason that says so", () => {
    const { held, reports } = heldWorker();
    reports("checkpoint_write", "HALF_OPEN");
    held.exits({ code: 1 });
    expect(held.agent.did("restart-agent")).toMatchObject([
      { reason: "UNRESPONSIVE: process-exited, by-itself; its last checkpoints may not be saved" },
    ]);
  });

  it("is a warning first and, when that lasts, critical once", () => {
    const { agent, reports, passes } = worker();
    for (let i = 0; i < 30; i++) {
      reports("checkpoint_write", i % 2 === 0 ? "OPEN" : "HALF_OPEN", "30s");
      passes("1m");
      agent.beats();
    }
    expect(alerts(agent)).toEqual(["warning", "critical", "resolved"].toSorted().reverse());
    expect(agent.record.health.alert?.severity).toBe("critical");
    reports("checkpoint_write", "CLOSED");
    expect(agent.record.health.alert).toBeNull();
  });
});

it("a breaker of checkpoints is critical once nothing could be saved for ten minutes, not before", () => {
  const { agent, reports } = worker();
  reports("checkpoint_write", "OPEN", "1h");
  agent.beatsEvery("30s", "599s");
  expect(agent.finding("breaker-open")?.evidence).not.toHaveProperty("lasting");
  agent.silentFor("1s");
  expect(agent.finding("breaker-open")?.evidence).toMatchObject({ lasting: "yes" });
});

it("a breaker of anything else is a warning, however long it stands", () => {
  const { agent, reports } = worker();
  reports("external_api", "OPEN", "3h");
  reports("tool_execution/grep", "OPEN", "3h");
  agent.beatsEvery("30s", "25m");
  expect(agent.finding("breaker-open")?.evidence).not.toHaveProperty("lasting");
  expect(alerts(agent)).toEqual(["warning"]);
});

describe("the alert about breakers", () => {
  it("is one for three that trip together, stays while one of them is open, and ends with the last", () => {
    const { agent, reports } = worker();
    for (const name of ["external_api/a", "external_api/b", "tool_execution/fetch"]) reports(name, "OPEN", "1m");
    expect(alerts(agent)).toEqual(["warning"]);
    expect(agent.finding("breaker-open")?.text).toContain("2 more not closed");
    reports("external_api/a", "CLOSED");
    reports("tool_execution/fetch", "CLOSED");
    expect(alerts(agent)).toEqual(["warning"]);
    reports("external_api/b", "CLOSED");
    expect(alerts(agent)).toEqual(["warning", "resolved"]);
  });

  it("becomes louder when the agent is FAILING for it, and is no second one", () => {
    const { agent, reports } = worker();
    reports("tool_execution/grep", "OPEN", "1m");
    reports("tool_execution", "OPEN", "1m");
    expect(alerts(agent).filter((what) => what !== "resolved")).toEqual(["warning", "critical"]);
    reports("tool_execution", "HALF_OPEN");
    reports("tool_execution", "OPEN", "1m");
    expect(alerts(agent)).toHaveLength(3);
    expect(agent.record.health.alert).toMatchObject({ cause: "breaker-open", severity: "critical" });
  });

  it("of a breaker that opens and closes all day is raised twice", () => {
    const { agent, reports, passes } = worker();
    for (let i = 0; i < 100; i++) {
      reports("external_api", "OPEN", "30s");
      passes("1m");
      agent.beats();
      reports("external_api", "CLOSED");
      passes("1m");
      agent.beats();
    }
    expect(alerts(agent).filter((what) => what === "warning")).toHaveLength(2);
  });

  it("ends with a reset, and with what it told though the agent has another warning", () => {
    const { agent, reports, resets } = worker();
    reports("external_api", "OPEN", "1m");
    agent.beats({ healthMetrics: { context: 0.97 } });
    resets("external_api");
    expect(agent.state).toBe("DEGRADED");
    expect(alerts(agent)).toEqual(["warning", "resolved"]);
  });
});
