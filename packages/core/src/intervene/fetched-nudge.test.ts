import { describe, expect, it } from "vitest";
import { goesQuiet } from "../ladder-story.test-support.ts";
import { type Story, story } from "../story.test-support.ts";

const id = "worker-1/1/nudge/1";

const checksIn = (agent: Story) => agent.take({ kind: "checked-in" }).reply?.commands ?? [];

describe("an agent that checks in", () => {
  it("is given the nudge that was typed to it once more, and has seen it by that", () => {
    const { agent } = goesQuiet();
    expect(agent.when("NUDGE_SENT")).toHaveLength(1);
    expect(checksIn(agent)).toMatchObject([{ id, kind: "nudge", because: "reminder" }]);
    expect(agent.told("NUDGE_SEEN")).toEqual([{ agentId: "worker-1", nudge: id, evidence: "fetched by checking in" }]);
    expect(agent.record.ladder.nudge).toMatchObject({ state: "seen", receipt: true });
    expect(checksIn(agent)).toEqual([]);
    expect(agent.told("NUDGE_SENT")).toHaveLength(1);
  });

  it("is given what could not be typed to it: that is an attempt after all", () => {
    const { agent } = goesQuiet({ nudges: { kind: "not-sent", because: "full-screen" } });
    expect(agent.record.ladder.incident).toMatchObject({ nudges: 0, undelivered: 1 });
    expect(checksIn(agent)).toHaveLength(1);
    expect(agent.when("NUDGE_NOT_SENT", "NUDGE_SENT", "NUDGE_SEEN").map((one) => one.split(" ")[1])).toEqual([
      "NUDGE_NOT_SENT",
      "NUDGE_SENT",
      "NUDGE_SEEN",
    ]);
    expect(agent.record.ladder.incident).toMatchObject({ nudges: 1 });
  });

  it("is not told what its holder is just about to tell it, nor anything in a freeze, nor what is over", () => {
    expect(checksIn(goesQuiet({ nudges: null }).agent)).toEqual([]);
    const frozen = goesQuiet();
    frozen.agent.monitorDoubts({ frozen: true });
    expect(checksIn(frozen.agent)).toEqual([]);
    const settings = { intervention: { nudge: { max_attempts: 1 } } };
    const late = goesQuiet({ settings, nudges: { kind: "not-sent", because: "attached" } });
    late.passes("11m");
    expect(late.agent.record.ladder.nudge).toMatchObject({ id, state: "not-sent" });
    expect(checksIn(late.agent)).toEqual([]);
  });

  it("is heard by that, and owes no beats for it", () => {
    const { agent } = goesQuiet();
    checksIn(agent);
    expect(agent.record.life.heardAt).toBe(agent.now);
    expect(agent.record.beats.accepted).toBe(0);
    agent.silentFor("2h");
    expect(agent.finding("missed-beats")).toBeUndefined();
  });

  it("has made no progress by it", () => {
    const agent = story();
    agent.beats({ progressIndicator: "1" });
    agent.beats({ progressIndicator: "2" });
    const before = agent.record.seen.facts.progress;
    agent.silentFor("5s");
    checksIn(agent);
    expect(agent.record.seen.facts.progress).toBe(before);
  });
});
