import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { isStartingAgain } from "../record.ts";
import { story } from "../story.test-support.ts";

describe("a beat with a wrong checksum", () => {
  it("is refused and changes nothing but the counter of refused beats", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("13s");
    expect(agent.state).toBe("DEGRADED");
    const before = agent.record;
    const answer = agent.beats(
      { status: "FINISHED", lastCheckpoint: "forged", sequenceNumber: 2 },
      { checksum: "wrong" },
    );
    expect(answer).toEqual({ status: "rejected", because: "wrong-checksum", sequenceNumber: 2, commands: [] });
    expect(agent.record).toEqual({ ...before, beats: { ...before.beats, refused: 1 } });
  });

  it("does not keep a silent agent alive", () => {
    const agent = story();
    agent.beats();
    for (let i = 0; i < 17; i++) {
      agent.silentFor("1s");
      agent.beats({}, { checksum: "wrong" });
    }
    expect(agent.past).toEqual(["12s DEGRADED", "17s UNRESPONSIVE"]);
  });

  it("is told of once, twice, then ever more rarely: nobody can flood the events", () => {
    const agent = story();
    for (let i = 0; i < 1000; i++) agent.beats({}, { checksum: "wrong" });
    expect(agent.record.beats.refused).toBe(1000);
    expect(agent.eventTypes()).toEqual(Array(10).fill("HEARTBEAT_REFUSED"));
  });
});

describe("incarnations", () => {
  it("a beat of an old one is refused and is no sign of life of the new one", () => {
    const agent = story();
    agent.beats({ incarnation: 3 });
    const before = agent.record;
    expect(agent.record.life.incarnation).toBe(3);
    agent.silentFor("1s");
    const answer = agent.beats({ incarnation: 2, lastCheckpoint: "of-a-ghost" });
    expect(answer).toMatchObject({ status: "rejected", because: "old-incarnation" });
    expect(agent.record).toEqual({ ...before, beats: { ...before.beats, refused: 1 } });
  });

  it("a beat of a later one starts a new life with fresh clocks, facts and counters", () => {
    const agent = story();
    agent.beatsEvery("5s", "1m", { tokenCount: 5, lastCheckpoint: "c" });
    expect(agent.beats({ incarnation: 2, sequenceNumber: 1 }).status).toBe("accepted");
    expect(agent.record).toMatchObject({
      life: { incarnation: 2, bornAt: agent.now, heardAt: agent.now },
      identity: { lineage: "worker-1" },
    });
    expect(agent.record.beats).toMatchObject({ accepted: 1, lastSequence: 1, lost: 0 });
    expect(agent.record.seen.facts.lastCheckpoint).toBeNull();
    expect(agent.events.at(-1)?.payload).toEqual({
      agentId: "worker-1",
      from: 1,
      to: 2,
      because: "announced-in-heartbeat",
    });
  });

  it("registering again starts the next one once the current one was heard", () => {
    const agent = story();
    agent.registers();
    expect(agent.record.life.incarnation).toBe(1); // the same announcement, repeated
    agent.beats();
    agent.registers();
    expect(agent.record).toMatchObject({
      life: { incarnation: 2, heard: false },
      work: { activity: { kind: "STARTING" } },
    });
    expect(agent.events.at(-1)?.payload).toMatchObject({ because: "registered-again", to: 2 });
  });

  it("registering an old one is refused and changes nothing", () => {
    const agent = story();
    agent.beats({ incarnation: 5 });
    const before = agent.record;
    expect(agent.registers({ incarnation: 4, taskId: "t9" })).toMatchObject({
      status: "rejected",
      because: "old-incarnation",
    });
    expect(agent.record).toEqual(before);
  });

  it("of a held agent are ours alone to number: nobody's beat or registration begins one", () => {
    const held = heldStory();
    held.prints();
    held.agent.silentFor("1s");
    const before = held.agent.record;
    expect(held.agent.beats({ incarnation: 99 })).toMatchObject({ status: "rejected", because: "held" });
    expect(held.agent.record).toEqual({ ...before, beats: { ...before.beats, refused: 1 } });
    expect(held.agent.registers({ incarnation: 2 })).toMatchObject({ status: "rejected", because: "held" });
    expect(held.agent.record).toEqual({ ...before, beats: { ...before.beats, refused: 1 } });
    held.prints();
    expect(held.agent.record.seen.terminal?.novel).toBe(2);
  });

  it("of an agent that is being started again go up by one, also when it is heard before its holder", () => {
    const held = heldStory();
    held.isOrdered("restart");
    held.handsStopped("order-1");
    held.exits({ code: null, signal: "SIGTERM", cause: "stopped" });
    expect(isStartingAgain(held.agent.record)).toBe(true);
    expect(held.agent.beats({ incarnation: 3 })).toMatchObject({ status: "rejected", because: "held" });
    expect(held.agent.beats({ incarnation: 2 }).status).toBe("accepted");
  });

  it("a new one ends UNRESPONSIVE, resolves its alert and is a recovery", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("1m");
    agent.registers();
    expect(agent.state).toBe("HEALTHY");
    expect(agent.reason).toBe("new-incarnation");
    expect(agent.record.health.alert).toBeNull();
    expect(agent.eventTypes().slice(-5)).toEqual([
      "AGENT_INCARNATION_STARTED",
      "HEALTH_STATE_CHANGED",
      "ALERT_RESOLVED",
      "INCIDENT_CLOSED",
      "AGENT_RECOVERED",
    ]);
  });
});

describe("a task", () => {
  it("counts as assigned from when it was first named, not from every beat that names it", () => {
    const agent = story();
    agent.beats({ taskId: "t1" });
    const assignedAt = agent.record.task.assignedAt;
    agent.silentFor("5s");
    agent.beats({ taskId: "t1" });
    agent.silentFor("5s");
    agent.beats(); // says nothing about tasks
    expect(agent.record).toMatchObject({ task: { id: "t1", assignedAt } });
    agent.beats({ taskId: "t2" });
    expect(agent.record).toMatchObject({ task: { id: "t2", assignedAt: agent.now } });
    agent.beats({ taskId: null });
    expect(agent.record).toMatchObject({ task: { id: null, assignedAt: null } });
  });
});

describe("an agent known to beat through its tools", () => {
  const inATool = () => {
    const agent = story();
    for (let n = 1; n <= 6; n++) {
      agent.beats({ sequenceNumber: n, open: { kind: "tool", name: "pytest" } });
      agent.silentFor("5s");
    }
    expect(agent.record.seen.facts.beatsThroughWork).toBe(3);
    return agent;
  };

  it("stays known when its numbers show that it did beat and we did not hear it", () => {
    const agent = inATool();
    agent.silentFor("60s");
    agent.beats({ sequenceNumber: 19, open: { kind: "tool", name: "pytest" } });
    expect(agent.record.seen.facts.beatsThroughWork).toBe(3);
    agent.silentFor("17s");
    expect(agent.state).toBe("UNRESPONSIVE");
  });

  it("is so no longer when it was silent in the middle of one without skipping a number", () => {
    const agent = inATool();
    agent.silentFor("60s");
    agent.beats({ sequenceNumber: 7, open: { kind: "tool", name: "pytest" } });
    expect(agent.record.seen.facts.beatsThroughWork).toBe(0);
  });

  it("is none whose beats come a good while later than a timer would send them", () => {
    const agent = story();
    for (let n = 1; n <= 6; n++) {
      agent.beats({ sequenceNumber: n, open: { kind: "tool", name: "pytest" } });
      agent.silentFor("8s");
    }
    expect(agent.record.seen.facts.beatsThroughWork).toBe(0);
  });
});
