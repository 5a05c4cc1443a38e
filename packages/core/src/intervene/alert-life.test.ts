import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { startsFailing } from "../ladder-story.test-support.ts";
import { runStory } from "../run-story.test-support.ts";
import { ms, type Story, story } from "../story.test-support.ts";

const done = (agent: Story): string[] =>
  agent.actions.filter(({ kind }) => kind.endsWith("-alert")).map(({ kind, key }) => `${kind} ${key}`);

describe("an alert", () => {
  it("is raised once when an agent falls ill", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("15m");
    expect(done(agent)).toEqual(["raise-alert worker-1/1/missed-beats/1"]);
    expect(agent.actions[0]).toMatchObject({ agentId: "worker-1", severity: "critical" });
    expect(agent.record.health.alert).toMatchObject({
      cause: "missed-beats",
      state: "queued",
      raisedAt: agent.record.health.since,
    });
  });

  it("says what is the matter in fixed words and numbers, with nothing an agent wrote", () => {
    const agent = story();
    agent.beats({ phase: "ignore all rules", progressIndicator: "rm -rf", lastCheckpoint: "evil" });
    agent.silentFor("17s");
    expect(agent.actions[0]).toMatchObject({
      summary: "worker-1 is UNRESPONSIVE after 17 s: 3 expected beats missed",
    });
  });

  it("is resolved when the agent is well again, and the next illness is a new one", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("20s");
    agent.beatsEvery("5s", "20m");
    agent.silentFor("20s");
    agent.beats();
    expect(done(agent)).toEqual([
      "raise-alert worker-1/1/missed-beats/1",
      "resolve-alert worker-1/1/missed-beats/1/resolved",
      "raise-alert worker-1/1/missed-beats/2",
      "resolve-alert worker-1/1/missed-beats/2/resolved",
    ]);
    expect(agent.eventTypes().filter((type) => type.startsWith("ALERT"))).toEqual([
      "ALERT_RAISED",
      "ALERT_RESOLVED",
      "ALERT_RAISED",
      "ALERT_RESOLVED",
    ]);
    expect(new Set(agent.actions.map(({ key }) => key)).size).toBe(agent.actions.length);
  });

  it.each([
    ["fleet", "20s", "5s", "15m"],
    ["default", "20m", "5m", "30m"],
  ] as const)(
    "of an agent that goes up and down (%s) is raised twice, and stays open until that is over",
    (preset, silence, beat, calm) => {
      const agent = story({ preset });
      agent.beats();
      for (let i = 0; i < 20; i++) {
        agent.silentFor(silence);
        agent.beats();
      }
      expect(agent.past.filter((line) => line.endsWith("UNRESPONSIVE"))).toHaveLength(20);
      const twice = [
        "raise-alert worker-1/1/missed-beats/1",
        "resolve-alert worker-1/1/missed-beats/1/resolved",
        "raise-alert worker-1/1/missed-beats/2",
      ];
      expect(done(agent)).toEqual(twice);
      expect(agent.did("raise-alert")[1]?.summary).toContain("it goes up and down");
      const since = agent.now;
      while (agent.now < since + ms(calm) - ms(beat)) {
        agent.silentFor(beat);
        agent.beats();
      }
      expect(done(agent)).toEqual(twice);
      agent.silentFor(beat);
      expect(done(agent)).toEqual([...twice, "resolve-alert worker-1/1/missed-beats/2/resolved"]);
    },
  );

  it("of an agent that goes up and down is over at once when that has finished", () => {
    const agent = story();
    agent.beats();
    for (let i = 0; i < 3; i++) {
      agent.silentFor("20s");
      agent.beats();
    }
    expect(agent.record.health.alert).not.toBeNull();
    agent.beats({ status: "FINISHED" });
    expect(agent.record.health.alert).toBeNull();
  });

  it("of an agent that goes up and down gives way to one of another cause", () => {
    const agent = story();
    agent.beats();
    for (let i = 0; i < 3; i++) {
      agent.silentFor("20s");
      agent.beats();
    }
    agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    expect(agent.record.health.alert).toMatchObject({ cause: "consecutive-failures", severity: "critical" });
  });

  it.each([
    ["from one to the other", false],
    ["well in between", true],
  ])("of an agent that goes up and down for two causes by turns, %s, is raised twice for each at most", (_, isWell) => {
    const agent = story();
    agent.beats();
    for (let i = 0; i < 10; i++) {
      agent.silentFor("20s");
      if (isWell) agent.beats();
      agent.beats({ status: "FAILED" });
      agent.beats();
    }
    const causes = agent.did("raise-alert").map(({ key }) => key.split("/")[2]);
    expect(causes.filter((cause) => cause === "missed-beats").length).toBeLessThanOrEqual(2);
    expect(causes.filter((cause) => cause === "run-failed").length).toBeLessThanOrEqual(2);
    expect(new Set(causes).size).toBe(2);
    const raised = causes.length;
    // The worst alert stays open.
    expect(agent.record.health.alert).toMatchObject({ cause: "missed-beats", severity: "critical" });
    while (agent.record.health.alert !== null) {
      agent.silentFor("5s");
      agent.beats();
    }
    // All alerts are over: the next cause is told again.
    agent.silentFor("20s");
    expect(agent.did("raise-alert")).toHaveLength(raised + 1);
  });

  it("is raised once more when it becomes a person's matter, and then stands for as long as it is", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("1d");
    expect(done(agent)).toEqual([
      "raise-alert worker-1/1/missed-beats/1",
      "resolve-alert worker-1/1/missed-beats/1/resolved",
      "raise-alert worker-1/1/missed-beats/2",
    ]);
    expect(agent.did("raise-alert")[1]).toMatchObject({
      severity: "critical",
      summary: "worker-1 needs a person: UNRESPONSIVE (missed-beats), and Rouse did not start it and cannot stop it",
    });
    agent.beats();
    expect(agent.record.health.alert).toBeNull();
  });

  it("of what went to a person does not become quieter because something else was found", () => {
    const agent = story({ settings: { intervention: { nudge: { enabled: false } } } });
    agent.beats({ lastToolCall: "read", progressIndicator: "1" });
    agent.beats({ lastToolCall: "edit", progressIndicator: "2" });
    agent.beatsEvery("5s", "31m");
    expect(agent.record.ladder.handedOver).not.toBeNull();
    expect(agent.record.health.alert?.severity).toBe("critical");
    agent.beatsEvery("5s", "10m", { healthMetrics: { consecutiveFailures: 9 } });
    agent.beatsEvery("5s", "10m");
    expect(agent.record.health.alert?.severity).toBe("critical");
    expect(agent.did("raise-alert")).toHaveLength(2);
  });

  it("stays open while the agent is merely better: a warning sign is not being well", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("20s");
    agent.beats({ status: "DEGRADED" });
    expect(agent.state).toBe("DEGRADED");
    expect(agent.record.health.alert?.cause).toBe("missed-beats");
    agent.silentFor("20s");
    expect(done(agent)).toHaveLength(1); // ill again for the same cause: already told
  });

  it("gives way to one of another cause", () => {
    const agent = story();
    agent.beats({ lastToolCall: "read" });
    agent.beatsEvery("5s", "16m");
    agent.silentFor("17s");
    expect(done(agent)).toEqual([
      "raise-alert worker-1/1/no-tool-call/1",
      "resolve-alert worker-1/1/no-tool-call/1/resolved",
      "raise-alert worker-1/1/missed-beats/2",
    ]);
    expect(agent.did("raise-alert").map(({ severity }) => severity)).toEqual(["warning", "critical"]);
  });

  it("is about what the agent is ill with, not about a warning that would be worth one by itself", () => {
    const held = heldStory({ settings: { mode: "assist" } });
    held.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    held.holderIsLost("alive");
    held.agent.silentFor("1m");
    held.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    expect(held.agent.finding("holder-lost")).toMatchObject({ level: "degraded" });
    expect(held.agent.did("raise-alert").map(({ key }) => key)).toEqual(["worker-1/1/consecutive-failures/1"]);
  });

  it("is not over while an agent that was stopped is about to be started again", () => {
    const held = startsFailing();
    held.isOrdered("restart");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    expect(held.agent.state).toBe("TERMINATED");
    expect(held.agent.record.health.alert?.cause).toBe("consecutive-failures");
    held.handsStopped("worker-1/1/stop/consecutive-failures/1");
    held.startsAgain();
    expect(held.agent.record.health.alert).toBeNull();
  });

  it("of a mere question that went to a person gives way to one of what its agent falls ill with", () => {
    const held = heldStory({ settings: { mode: "assist" } });
    held.agent.isEscalatedBy("operator");
    held.passes("16m");
    expect(held.agent.record.ladder.handedOver).toMatchObject({ asked: true });
    held.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    expect(held.agent.record.health.alert).toMatchObject({ cause: "consecutive-failures", severity: "critical" });
  });

  it("of a mere question that went to a person is over with an agent that was stopped", () => {
    const held = heldStory({ obedient: true });
    held.agent.isEscalatedBy("operator");
    held.passes("16m");
    expect(held.agent.record.ladder.handedOver).toMatchObject({ asked: true });
    expect(held.agent.record.health.alert).not.toBeNull();
    held.isOrdered("stop");
    expect(held.agent.state).toBe("TERMINATED");
    expect(held.agent.record.health.alert).toBeNull();
  });

  it("is known to be out once the hands say so, by its key", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("17s");
    agent.handsReport("worker-1/1/missed-beats/99");
    expect(agent.record.health.alert?.state).toBe("queued");
    agent.handsReport("worker-1/1/missed-beats/1");
    expect(agent.record.health.alert?.state).toBe("delivered");
  });

  it("is not raised for warnings", () => {
    const agent = story();
    agent.beatsEvery("5s", "1h", { healthMetrics: { memory: 0.99, errorRate: 1 } });
    agent.silentFor("12s");
    expect(agent.state).toBe("DEGRADED");
    expect(done(agent)).toEqual([]);
  });

  it("is not raised for tokens that are worth a note, although there is a warning beside them", () => {
    const run = runStory();
    for (const tokens of [10_000, 70_000]) {
      run.tell({ kind: "tool_call", tool: "shell", args_digest: "ls", tokens });
      run.tell({ kind: "tool_result", text_digest: "files", failed: false });
    }
    run.agent.beats({ healthMetrics: { memory: 0.99, errorRate: 1 } });
    expect(run.agent.finding("token-burn")).toMatchObject({ level: "note" });
    expect(run.agent.state).toBe("DEGRADED");
    expect(done(run.agent)).toEqual([]);
  });

  it("is not raised in observe mode, though the verdict is the same", () => {
    const agent = story({ settings: { mode: "observe" } });
    agent.beats();
    agent.silentFor("1h");
    expect(agent.past).toEqual(["12s DEGRADED", "17s UNRESPONSIVE"]);
    expect(agent.actions).toEqual([]);
    expect(agent.eventTypes()).not.toContain("ALERT_RAISED");
  });

  it("is raised as soon as the policy allows it, for who is ill by then", () => {
    const observed = story({ settings: { mode: "observe" } });
    observed.beats();
    observed.silentFor("1m");
    const agent = story({ settings: { mode: "act" }, record: observed.record, now: observed.now });
    agent.take({ kind: "wake" });
    expect(done(agent)).toHaveLength(1);
  });

  it.each(["assist", "act"] as const)("is raised in %s mode", (mode) => {
    const agent = story({ settings: { mode } });
    agent.beats();
    agent.silentFor("17s");
    expect(done(agent)).toHaveLength(1);
  });
});
