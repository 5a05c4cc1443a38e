import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { type Said, type Story, story } from "../story.test-support.ts";

/** Beats by a timer, so that silence is never the reason. */
const livesFor = (agent: Story, duration: string, said: Said | ((n: number) => Said) = {}) =>
  agent.beatsEvery("5s", duration, said);

describe("a stale checkpoint", () => {
  it("is a warning after ten minutes and STUCK after thirty, if nothing else is new", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1" });
    livesFor(agent, "31m", { lastCheckpoint: "c1" });
    expect(agent.past).toEqual(["600s DEGRADED", "1800s STUCK"]);
    expect(agent.finding("stale-checkpoint")).toMatchObject({ level: "stuck", class: "absence" });
    expect(agent.reason).toBe("stale-checkpoint");
  });

  it("stays a warning for as long as other work goes on, and is STUCK ten minutes after that ended", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1" });
    livesFor(agent, "2h", (n) => ({ progressIndicator: `step ${n}` }));
    expect(agent.past).toEqual(["600s DEGRADED"]);
    expect(agent.finding("stale-checkpoint")).toMatchObject({ level: "degraded", confidence: 0.3 });
    expect(agent.finding("stale-checkpoint")?.text).toContain("other work goes on");
    livesFor(agent, "31m");
    expect(agent.past).toEqual(["600s DEGRADED", `${7200 + 600}s STUCK`]);
  });

  it("of one that says nothing and whose holder is lost is no more than it was when somebody still looked", () => {
    const held = heldStory();
    held.prints();
    held.agent.savesCheckpoint("c1");
    for (let i = 0; i < 35; i++) {
      held.passes("2m");
      held.prints(5);
    }
    expect(held.agent.finding("stale-checkpoint")).toMatchObject({ level: "degraded", evidence: { goesOn: "yes" } });
    held.passes("8m");
    held.holderIsLost("alive");
    held.agent.silentFor("2h");
    expect(held.agent.finding("stale-checkpoint")).toMatchObject({ level: "degraded", evidence: { goesOn: "yes" } });
    expect(held.agent.state).toBe("DEGRADED");
  });

  it("is over with the next checkpoint", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1" });
    livesFor(agent, "40m");
    agent.silentFor("1s");
    agent.beats({ lastCheckpoint: "c2" });
    expect(agent.past).toEqual(["600s DEGRADED", "1800s STUCK", "2401s HEALTHY"]);
    expect(agent.eventTypes()).toContain("AGENT_RECOVERED");
  });

  it("keeps the moment it was first found, however it changes", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1" });
    livesFor(agent, "10m");
    const since = agent.finding("stale-checkpoint")?.since;
    livesFor(agent, "25m");
    expect(agent.finding("stale-checkpoint")).toMatchObject({ level: "stuck", since });
  });

  it("may be allowed more time by policy", () => {
    const agent = story({ settings: { health_check: { checkpoint_stale_threshold_seconds: 5400 } } });
    agent.beats({ lastCheckpoint: "c1" });
    livesFor(agent, "91m");
    expect(agent.past).toEqual(["1800s DEGRADED", "5400s STUCK"]);
  });
});

describe("no progress", () => {
  it("an indicator that moved before and stands still for thirty minutes is STUCK", () => {
    const agent = story();
    livesFor(agent, "1m", (n) => ({ progressIndicator: `${n} files` }));
    livesFor(agent, "31m", { progressIndicator: "12 files" });
    expect(agent.past).toEqual(["660s DEGRADED", "1860s STUCK"]);
    expect(agent.reason).toBe("no-progress");
  });

  it("an indicator that never moved says little: a warning, never STUCK", () => {
    const agent = story();
    livesFor(agent, "10h", { progressIndicator: "working…" });
    expect(agent.past).toEqual(["600s DEGRADED"]);
  });

  it("the same words again are no news", () => {
    const agent = story();
    agent.beats({ progressIndicator: "a", lastCheckpoint: "c", phase: "p", toolCallCount: 3, tokenCount: 7 });
    const { progress, toolCall, checkpoint, tokens } = agent.record.seen.facts;
    agent.silentFor("5s");
    agent.beats({ progressIndicator: "a", lastCheckpoint: "c", phase: "p", toolCallCount: 3, tokenCount: 7 });
    expect(agent.record.seen.facts).toMatchObject({ progress, toolCall, checkpoint, tokens });
  });

  it.each<[string, Said, Said]>([
    ["a new phase", { phase: "plan" }, { phase: "build" }],
    ["another progress indicator", { progressIndicator: "1" }, { progressIndicator: "2" }],
    ["another tool", { lastToolCall: "read" }, { lastToolCall: "write" }],
    ["one more tool call", { toolCallCount: 1 }, { toolCallCount: 2 }],
    ["a new checkpoint", { lastCheckpoint: "c1" }, { lastCheckpoint: "c2" }],
    ["the next task", { taskId: "t1" }, { taskId: "t2" }],
  ])("%s is a new fact", (_, before, after) => {
    const agent = story();
    agent.beats({ progressIndicator: "x", ...before });
    livesFor(agent, "9m");
    agent.beats(after);
    expect(agent.record.seen.facts.progress?.at).toBe(agent.now);
  });

  it("opening a tool, asking and being answered are steps: a warning at most, while they go on", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1" });
    for (let i = 0; i < 30; i++) {
      livesFor(agent, "1m", { open: { kind: "tool", name: "read" } });
      livesFor(agent, "1m");
      livesFor(agent, "1m", { status: "WAITING", waitingFor: "input" });
      livesFor(agent, "1m");
    }
    expect(agent.past.filter((line) => line.includes("STUCK"))).toEqual([]);
  });

  it("a provider that puts an agent off again and again is its wait, not its standstill: a warning at most", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1" });
    for (let i = 0; i < 40; i++) {
      livesFor(agent, "55s");
      livesFor(agent, "5s", { status: "WAITING", waitingFor: "provider" });
    }
    expect(agent.past.length).toBeGreaterThan(0);
    expect(agent.past.filter((line) => line.includes("STUCK"))).toEqual([]);
  });

  it("a counter that starts over is a new beginning, not a step back", () => {
    const agent = story();
    agent.beats({ toolCallCount: 100, errorCount: 50, tokenCount: 9000 });
    agent.silentFor("5s");
    agent.beats({ toolCallCount: 0, errorCount: 0, tokenCount: 0 });
    agent.silentFor("5s");
    agent.beats({ toolCallCount: 1, errorCount: 0, tokenCount: 50 });
    expect(agent.record.seen.facts).toMatchObject({
      toolCallCount: 1,
      toolCall: { at: agent.now },
      outcomes: [{ calls: 1, errors: 0 }],
    });
  });

  it("idle guard: an agent that got nowhere and then has nothing left to do is not STUCK", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1", toolCallCount: 4, tokenCount: 100 });
    livesFor(agent, "31m");
    expect(agent.state).toBe("STUCK");
    agent.beatsEvery("10s", "1h", { status: "IDLE" });
    expect(agent.past.at(-1)).toBe("1860s HEALTHY");
    agent.beats(); // at work again: its checkpoint is still an old one, but it has only just begun
    expect(agent.state).toBe("DEGRADED");
  });

  it("work that nobody could see is not held against an agent that is heard again after a long silence", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1", lastToolCall: "read", tokenCount: 5 });
    agent.silentFor("5h");
    agent.beats();
    expect(agent.past.at(-1)).toBe("18000s HEALTHY");
    livesFor(agent, "5m");
    expect(agent.state).toBe("HEALTHY");
  });

  it("while the clock stands still nobody is judged by what it showed: a provider's limit is no stand-still of the agent", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1" });
    livesFor(agent, "31m");
    livesFor(agent, "20m", { status: "WAITING", waitingFor: "provider" });
    expect(agent.past.at(-1)).toBe("1860s HEALTHY");
    livesFor(agent, "9m");
    expect(agent.state).toBe("DEGRADED"); // let go again, it has time for the next step
    livesFor(agent, "17m");
    expect(agent.state).toBe("STUCK");
  });

  it("an agent that goes from task to task is getting somewhere, whatever else it does not report", () => {
    const agent = story();
    agent.beats({ lastCheckpoint: "c1" });
    for (let task = 0; task < 24; task++) livesFor(agent, "5m", { taskId: `t${task}` });
    expect(agent.past).toEqual(["600s DEGRADED"]); // no new checkpoint in any of them: a warning
  });
});

describe("no tool call", () => {
  it("for fifteen minutes of work is STUCK when nothing else is new", () => {
    const agent = story();
    agent.beats({ lastToolCall: "read" });
    livesFor(agent, "16m");
    expect(agent.past).toEqual(["600s DEGRADED", "900s STUCK"]);
    expect(agent.reason).toBe("no-tool-call");
  });

  it("is a warning while tokens are being spent: it may be thinking hard", () => {
    const agent = story();
    agent.beats({ lastToolCall: "read" });
    livesFor(agent, "29m", (n) => ({ tokenCount: 1000 + n }));
    expect(agent.past).toEqual(["600s DEGRADED"]);
    expect(agent.finding("no-tool-call")).toMatchObject({ level: "degraded", confidence: 0.4 });
    expect(agent.finding("no-tool-call")?.text).toContain("tokens are being spent");
  });

  it("is STUCK fifteen minutes after the last token, at its very second", () => {
    const agent = story({ settings: { health_check: { checkpoint_stale_threshold_seconds: 36_000 } } });
    agent.beats({ lastToolCall: "read" });
    livesFor(agent, "20m", (n) => ({ tokenCount: 1000 + n }));
    livesFor(agent, "20m");
    expect(agent.past).toEqual(["900s DEGRADED", "2100s STUCK"]);
  });

  it("is never a finding for an agent that never spoke of tools", () => {
    const agent = story();
    livesFor(agent, "5h", (n) => ({ progressIndicator: `${n}` }));
    expect(agent.verdicts).toEqual([]);
  });
});

describe("zero tokens", () => {
  it("for fifteen minutes is STUCK when progress was seen before and nothing is new", () => {
    const agent = story();
    livesFor(agent, "1m", (n) => ({ tokenCount: 100 + n, progressIndicator: `${n}` }));
    livesFor(agent, "16m", { tokenCount: 112 });
    expect(agent.past).toEqual(["660s DEGRADED", "960s STUCK"]);
    expect(agent.reason).toBe("zero-tokens");
  });

  it("is a warning while other work goes on, and for an agent that reports tokens only", () => {
    const busy = story();
    busy.beats({ tokenCount: 5, progressIndicator: "0" });
    livesFor(busy, "1h", (n) => ({ tokenCount: 5, progressIndicator: `${n}` }));
    expect(busy.past).toEqual(["900s DEGRADED"]);
    const terse = story();
    livesFor(terse, "5h", { tokenCount: 5 });
    expect(terse.past).toEqual(["900s DEGRADED"]);
  });

  it("a counter that has always been 0 is one that nobody feeds", () => {
    const agent = story();
    livesFor(agent, "5h", { tokenCount: 0, errorCount: 0 });
    expect(agent.verdicts).toEqual([]);
  });
});

describe("work on the hook that is not started", () => {
  it("is a warning after ten minutes and STUCK after thirty", () => {
    const agent = story({ taskId: "t1" });
    agent.beatsEvery("10s", "31m", { status: "IDLE" });
    expect(agent.past).toEqual(["600s DEGRADED", "1800s STUCK"]);
    expect(agent.reason).toBe("task-not-started");
  });

  it("counts from when it was assigned or the agent fell idle, whichever was later", () => {
    const agent = story();
    agent.beatsEvery("10s", "1h", { status: "IDLE" });
    agent.beatsEvery("10s", "10m", { status: "IDLE", taskId: "t1" });
    expect(agent.past).toEqual([`${3600 + 600}s DEGRADED`]);
    const late = story({ taskId: "t1" });
    late.beatsEvery("5s", "1h");
    late.beatsEvery("10s", "10m", { status: "IDLE" });
    expect(late.past).toEqual([`${3600 + 600}s DEGRADED`]);
  });

  it("is over when the agent starts, and when the task is taken away", () => {
    for (const change of [{ status: "RUNNING" }, { status: "IDLE", taskId: null }] as const) {
      const agent = story({ taskId: "t1" });
      agent.beatsEvery("10s", "20m", { status: "IDLE" });
      agent.beats(change);
      expect(agent.state).toBe("HEALTHY");
    }
  });
});

describe("unknown ≠ dead", () => {
  it("an agent that reports nothing of its work is never STUCK, for a week", () => {
    const agent = story({ preset: "default" });
    agent.beatsEvery("5m", "7d");
    expect(agent.verdicts).toEqual([]);
  });

  it("nor is one that only ever names its phase and its task", () => {
    const agent = story({ preset: "default" });
    agent.beatsEvery("5m", "7d", { phase: "build", taskId: "t1" });
    expect(agent.verdicts).toEqual([]);
  });

  it("nor is one that goes from task to task and from question to answer without a word of progress", () => {
    const agent = story({ preset: "default" });
    for (let task = 0; task < 20; task++) {
      agent.beatsEvery("5m", "2h", { taskId: `t${task}` });
      agent.beats({ status: "WAITING", waitingFor: "input" });
    }
    expect(agent.verdicts).toEqual([]);
  });

  it("null is not a value: an agent that says it has no checkpoint and no tool call says nothing", () => {
    const agent = story({ preset: "default" });
    agent.beatsEvery("5m", "1d", { lastCheckpoint: null, lastToolCall: null, progressIndicator: null, phase: null });
    expect(agent.verdicts).toEqual([]);
  });

  it("garbage among its metrics is no reading", () => {
    const agent = story();
    agent.beatsEvery("5s", "1h", {
      healthMetrics: {
        errorRate: "99 %",
        consecutiveFailures: true,
        memory: null,
        toString: "x",
        error_rate: Number.NaN,
        cpu: 1e300,
      },
    });
    expect(agent.verdicts).toEqual([]);
    expect(agent.record.seen.facts).toMatchObject({ reportedErrorRate: null, reportedFailures: null, memory: null });
  });
});
