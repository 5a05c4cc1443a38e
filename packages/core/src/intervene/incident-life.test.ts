import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { endings, goesQuiet, startsFailing } from "../ladder-story.test-support.ts";
import { story } from "../story.test-support.ts";

const failing = { healthMetrics: { consecutiveFailures: 9 } };

describe("an incident", () => {
  it("is opened once when an agent falls ill, with what it is ill with", () => {
    const held = goesQuiet();
    held.passes("30m");
    expect(held.agent.told("INCIDENT_OPENED")).toEqual([
      { agentId: "worker-1", incident: "worker-1/1", illness: "STUCK", cause: "no-output", severity: "SEV-3" },
    ]);
  });

  it("closes with how long it lasted when the agent is well, and the next one has a number of its own", () => {
    const agent = story();
    agent.beats();
    for (let i = 0; i < 2; i++) {
      agent.silentFor("47s");
      agent.beats();
    }
    expect(agent.told("INCIDENT_CLOSED")).toMatchObject([
      { incident: "worker-1/1", ending: "recovered", because: "well-again", lastedSeconds: 30 },
      { incident: "worker-1/2", ending: "recovered", because: "well-again", lastedSeconds: 30 },
    ]);
  });

  it("that becomes graver goes to the first rung of the graver ladder, and stays the same incident", () => {
    const held = goesQuiet();
    held.passes("2m");
    held.agent.beats(failing);
    expect(held.agent.told("INCIDENT_OPENED")).toHaveLength(1);
    expect(held.agent.record.ladder.incident).toMatchObject({ id: "worker-1/1", illness: "FAILING" });
    expect(held.agent.did("stop-agent")).toHaveLength(1);
  });

  it("closes when the agent has finished, whatever was under way", () => {
    const asked = goesQuiet({ hold: { input: "none" } });
    asked.agent.beats({ status: "FINISHED" });
    const saving = startsFailing({ work: null });
    saving.agent.beats({ status: "FINISHED" });
    const exited = goesQuiet();
    exited.exits({ code: 0 });
    for (const held of [asked, saving, exited]) {
      // An agent whose process lives is believed when it stays quiet.
      held.passes("1m");
      expect(endings(held)).toEqual(["recovered: finished"]);
      held.passes("1h");
      expect(held.agent.did("stop-agent")).toEqual([]);
      expect(held.agent.did("restart-agent")).toEqual([]);
    }
  });

  it("does not close because the agent says that it has finished and writes on", () => {
    const held = startsFailing({ work: null });
    for (let i = 0; i < 6; i++) {
      held.agent.beats({ status: "FINISHED" });
      held.prints(0, 1);
      held.passes("20s");
    }
    expect(endings(held)).toEqual([]);
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
  });

  it("closes with a life that nobody asked for", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("1m");
    agent.registers();
    expect(endings({ agent })).toEqual(["recovered: new-life"]);
  });

  it("leaves nothing of an order behind that was never given: the next one saves the work anew", () => {
    const held = startsFailing({ work: null });
    held.agent.beats({ status: "FINISHED" });
    held.passes("1m");
    held.handsAnswer("worker-1/1/stop/consecutive-failures/1/work", {
      kind: "work",
      work: { kind: "nothing-to-save" },
    });
    held.agent.beats(failing);
    expect(held.agent.did("save-work")).toHaveLength(2);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("leaves a person's order standing whose work is still being saved when the agent is well again", () => {
    const held = goesQuiet({ work: null, hold: { input: "none" } });
    held.isOrdered("stop");
    held.prints();
    expect(endings(held)).toEqual(["recovered: well-again"]);
    held.handsAnswer("order-1/work", { kind: "work", work: { kind: "nothing-to-save" } });
    expect(held.agent.did("stop-agent")).toMatchObject([{ key: "order-1" }]);
  });
});

describe("a warning that stands", () => {
  const warned = { healthMetrics: { errorRate: 0.5 } };

  it("for an hour without any change is escalated, and a person's matter when nobody answers", () => {
    const agent = story();
    agent.beatsEvery("5s", "59m", warned);
    expect(agent.told("INCIDENT_OPENED")).toEqual([]);
    agent.beatsEvery("5s", "2m", warned);
    expect(agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "unchanged-finding" }]);
    expect(agent.when("INCIDENT_OPENED")).toEqual(["3600s INCIDENT_OPENED"]);
    agent.beatsEvery("5s", "16m", warned);
    expect(endings({ agent })).toEqual(["handed-to-a-person: nobody-answered"]);
    agent.beats({ healthMetrics: { errorRate: 0 } });
    expect(agent.state).toBe("HEALTHY");
    expect(agent.record.ladder.handedOver).toBeNull();
  });

  it("counts from when it became a warning, not from when it was worth a note", () => {
    const agent = story({ settings: { heartbeat: { interval_seconds: 7200 } } });
    agent.beats();
    agent.silentFor("301m");
    expect(agent.past).toEqual(["14402s DEGRADED"]);
    expect(agent.when("INCIDENT_OPENED")).toEqual(["18002s INCIDENT_OPENED"]);
  });

  it("that is hardly sure calls nobody, nor one that our own doubt explains", () => {
    const soon = { intervention: { escalation: { unchanged_after_seconds: 1200 } } };
    const unsure = heldStory({ processes: "busy", settings: soon });
    unsure.prints();
    unsure.passes("55m");
    expect(unsure.agent.finding("no-output")).toMatchObject({ level: "degraded", confidence: 0.4 });
    const doubted = story({ doubt: { hold: { because: "mass-silence", since: 0, provenAt: null } } });
    doubted.beats();
    doubted.silentFor("6h");
    expect(doubted.finding("missed-beats")).toMatchObject({ level: "degraded", restrainedBy: "mass-silence" });
    for (const agent of [unsure.agent, doubted]) expect(agent.told("INCIDENT_OPENED")).toEqual([]);
  });

  it("of an agent whose processes nobody could look at is asked about, and leads to no more", () => {
    const unseen = heldStory({ processes: "unknown" });
    unseen.prints();
    unseen.passes("6h");
    expect(unseen.agent.finding("no-output")).toMatchObject({ level: "degraded", evidence: { busy: "unknown" } });
    expect(unseen.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "unchanged-finding" }]);
    expect(endings(unseen)).toEqual(["handed-to-a-person: nobody-answered"]);
    expect(unseen.agent.told("TERMINATION_ORDERED")).toEqual([]);
  });
});

describe("what went to a person", () => {
  it("is left to them: no new incident, whatever else is found, until the agent is well", () => {
    const held = startsFailing({ settings: { protected: true } });
    for (let i = 0; i < 12; i++) {
      held.passes("4m");
      held.agent.beats(failing);
    }
    expect(endings(held)).toEqual(["handed-to-a-person: protected"]);
    expect(held.agent.told("INCIDENT_OPENED")).toHaveLength(1);
    held.exits({ code: 1 });
    expect(held.agent.did("restart-agent")).toEqual([]);
    expect(held.agent.record.health.alert?.severity).toBe("critical");
  });

  it("is theirs no more when the agent is well again: the next illness is ours", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("1h");
    expect(agent.record.ladder.handedOver).toMatchObject({ incident: "worker-1/1", because: "not-supervised" });
    agent.beats();
    expect(agent.record.ladder.handedOver).toBeNull();
    agent.silentFor("1m");
    expect(agent.told("INCIDENT_OPENED")).toHaveLength(2);
  });

  it("nor when it lives anew", () => {
    const held = heldStory({ settings: { mode: "assist" } });
    held.exits({ code: 1 });
    expect(endings(held)).toEqual(["handed-to-a-person: mode"]);
    held.startsAgain();
    expect(held.agent.record.ladder.handedOver).toBeNull();
    expect(held.agent.record.health.alert).toBeNull();
  });

  it("stays an alert although the agent was stopped: that is not the end of it", () => {
    const held = startsFailing({ obedient: true });
    held.agent.beats({ sequenceNumber: 1, ...failing });
    expect(endings(held)).toEqual(["handed-to-a-person: relapse"]);
    const survived = startsFailing();
    survived.exits({ signal: "SIGTERM", cause: "stopped" });
    survived.handsStopped("worker-1/1/stop/consecutive-failures/1", {
      kind: "termination_incomplete",
      survivors: [{ pid: 77, name: "build" }],
    });
    expect(survived.agent.state).toBe("TERMINATED");
    expect(endings(survived)).toEqual(["handed-to-a-person: survivors"]);
    survived.passes("1h");
    expect(survived.agent.record.health.alert?.severity).toBe("critical");
  });
});
