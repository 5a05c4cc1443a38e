import { describe, expect, it } from "vitest";
import { kindsOfEvidence } from "../decide/evidence.ts";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";
import { endings, goesQuiet, hangs, isAsked, refusals } from "../ladder-story.test-support.ts";
import { fateOfWork } from "../recover/fate-of-work.ts";
import { story } from "../story.test-support.ts";

const first = "worker-1.1";

describe("allow_more_time", () => {
  it("waits as long as was allowed, and asks again", () => {
    const { agent, passes } = isAsked();
    agent.decides("allow_more_time", { more: "20m" });
    expect(agent.told("ESCALATION_DECIDED")).toMatchObject([{ escalation: first, decision: "allow_more_time" }]);
    passes("20m");
    expect(agent.when("ESCALATION_TRIGGERED")).toEqual(["900s ESCALATION_TRIGGERED", "2100s ESCALATION_TRIGGERED"]);
    expect(agent.told("ESCALATION_TRIGGERED")[1]).toMatchObject({
      escalation: "worker-1.2",
      reason: "more-time-used-up",
    });
    passes("15m");
    expect(agent.did("stop-agent")).toHaveLength(1);
  });

  it("is the time to answer once more when no time was named", () => {
    const { agent } = isAsked();
    agent.decides("allow_more_time");
    expect(agent.record.ladder.incident?.stage).toEqual({ kind: "more-time", until: agent.now + 900_000 });
  });

  it("for one that is down leaves it down for so long, and then tries again what the budget allows", () => {
    const held = goesQuiet({ hold: { input: "none" } });
    for (let n = 0; n < 4; n++) {
      held.exits({ code: 1 });
      held.startsAgain();
      held.passes("2m");
    }
    held.exits({ code: 1 });
    expect(held.agent.told("ESCALATION_TRIGGERED").at(-1)).toMatchObject({ reason: "restarts-exhausted" });
    const asked = held.agent.told("ESCALATION_TRIGGERED").length;
    const started = held.agent.did("restart-agent").length;
    held.agent.decides("allow_more_time", { more: "10m" });
    held.passes("599s");
    expect(held.agent.told("ESCALATION_TRIGGERED")).toHaveLength(asked);
    held.passes("1s");
    expect(held.agent.told("ESCALATION_TRIGGERED")).toHaveLength(asked + 1);
    held.agent.decides("allow_more_time", { more: "2h" });
    held.passes("2h");
    expect(held.agent.did("restart-agent")).toHaveLength(started + 1);
  });
});

describe("terminate_and_recover", () => {
  it("is one kind of evidence: with one more of ours the agent is stopped at once and brought back", () => {
    const { agent, shows, passes } = heldStory({ taskId: "t1", processes: "unknown", obedient: true });
    shows({ kind: "turn-ended", outcome: "success", reason: "end" });
    passes("10m");
    expect([...kindsOfEvidence(agent.record, agent.context)]).toEqual(["absence"]);
    agent.decides("terminate_and_recover");
    expect(agent.told("TERMINATION_ORDERED")).toMatchObject([
      { actor: "orchestrator", because: "decided", evidence: expect.arrayContaining(["order"]) },
    ]);
    expect(agent.told("AGENT_RESTARTED")).toMatchObject([{ because: "recovery" }]);
  });

  it("still needs everything else of the gate", () => {
    const held = isAsked();
    held.personAttaches(1);
    held.agent.decides("terminate_and_recover");
    expect(refusals(held)).toEqual(["attached"]);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("of an agent that is well is refused, with the reason", () => {
    const held = isAsked();
    held.prints(3);
    held.agent.isEscalatedBy("anna");
    held.agent.decides("terminate_and_recover");
    expect(refusals(held)).toEqual(["well-again"]);
    expect(held.agent.did("save-work")).toEqual([]);
    expect(endings(held)).toEqual(["recovered: well-again", "recovered: well-again"]);
  });

  it("of an agent that Rouse does not hold is a person's matter, unless it is well", () => {
    const ill = story();
    ill.beats({ healthMetrics: { consecutiveFailures: 9 } });
    ill.decides("terminate_and_recover");
    expect(endings({ agent: ill })).toEqual(["handed-to-a-person: not-supervised"]);
    const well = story();
    well.beats({ answer: { kind: "blocker" } });
    well.decides("terminate_and_recover");
    expect(endings({ agent: well })).toEqual(["recovered: well-again"]);
    expect(well.record.health.alert).toBeNull();
  });

  it("of a warning that stood for an hour stops it: the order and the warning are two", () => {
    const held = goesQuiet({ processes: "unknown" });
    held.agent.beatsEvery("5m", "65m", { healthMetrics: { errorRate: 0.5 } });
    expect(held.agent.state).toBe("DEGRADED");
    expect(held.agent.told("ESCALATION_TRIGGERED").at(-1)).toMatchObject({ reason: "unchanged-finding" });
    held.agent.decides("terminate_and_recover");
    expect(refusals(held)).toEqual([]);
    expect(held.agent.did("stop-agent")).toHaveLength(1);
  });

  it("of one that is down starts it although the budget is used up, once", () => {
    const held = goesQuiet({ hold: { input: "none" } });
    held.agent.take({ kind: "wake" });
    for (let n = 0; n < 3; n++) {
      held.exits({ code: 1 });
      held.startsAgain();
      held.passes("2m");
    }
    held.exits({ code: 1 });
    const before = held.agent.did("restart-agent").length;
    held.agent.decides("terminate_and_recover");
    expect(held.agent.did("restart-agent")).toHaveLength(before + 1);
    held.handsAnswer(held.agent.did("restart-agent").at(-1)?.key ?? "", { kind: "not-restarted", problem: "p" });
    expect(held.agent.did("restart-agent")).toHaveLength(before + 1);
    expect(held.agent.told("ESCALATION_TRIGGERED").at(-1)).toMatchObject({ reason: "restarts-exhausted" });
  });
});

describe("force_handoff", () => {
  it("tells the agent, stops it and does not bring it back", () => {
    const held = goesQuiet({ obedient: true, settings: { intervention: { nudge: { enabled: false } } } });
    held.agent.decides("force_handoff");
    expect(held.agent.told("NUDGE_QUEUED")).toMatchObject([{ template: "hand-off", actor: "orchestrator" }]);
    expect(held.agent.did("stop-agent")).toHaveLength(1);
    held.passes("3h");
    expect(held.agent.did("restart-agent")).toEqual([]);
    expect(endings(held)).toEqual(["recovered: handed-off"]);
    expect(held.agent.record.health.alert).toBeNull();
  });

  it("stops it also when the word reached it: who is told to stop is not asked to do better", () => {
    const held = hangs({ hold: { input: "stdin" }, settings: { intervention: { nudge: { enabled: false } } } });
    held.agent.decides("force_handoff");
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    expect(held.agent.did("stop-agent")).toHaveLength(1);
  });

  it.each([
    ["took the hint and ended by itself", { code: 1 }],
    ["a person ended meanwhile", { code: 130, cause: "person" }],
  ] as const)("does not bring back either one that %s", (_, exit) => {
    const held = goesQuiet({ work: null, settings: { intervention: { nudge: { enabled: false } } } });
    held.agent.decides("force_handoff");
    held.exits(exit);
    held.passes("3h");
    expect(held.agent.did("restart-agent")).toEqual([]);
    expect(held.agent.told("INCIDENT_OPENED")).toHaveLength(1);
    expect(endings(held)).toEqual(["recovered: handed-off"]);
  });

  it("of a held agent that is well tells it so and lets go of its task: when it then ends, nothing is taken for done", () => {
    const held = heldStory({ taskId: "t1", hold: { input: "stdin" } });
    held.prints();
    held.agent.beats({ answer: { kind: "handoff" } });
    const asked = held.agent.record;
    held.agent.decides("force_handoff");
    expect(held.agent.record.ladder.nudge).toMatchObject({ template: "hand-off", state: "sent" });
    expect(endings(held)).toEqual(["recovered: handed-off"]);
    expect(fateOfWork(asked, held.agent.record)).toEqual({ kind: "released", because: "handed-off" });
    held.passes("10m");
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("of an agent that Rouse does not hold tells it so, and asks nobody again while it stays as it is", () => {
    const agent = story();
    agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    agent.decides("force_handoff");
    expect(agent.beats().commands).toMatchObject([{ because: "hand-off" }]);
    agent.beatsEvery("5s", "1h");
    expect(agent.told("ESCALATION_TRIGGERED")).toHaveLength(1);
    expect(endings({ agent })).toEqual(["recovered: handed-off"]);
  });

  it("says nothing to the agent while everything is frozen", () => {
    const held = goesQuiet({ settings: { intervention: { nudge: { enabled: false } } } });
    held.agent.monitorDoubts({ frozen: true });
    held.agent.decides("force_handoff");
    expect(held.agent.told("NUDGE_QUEUED")).toEqual([]);
    expect(refusals(held)).toEqual(["frozen"]);
  });
});

describe("a decision changes nothing", () => {
  const unchangedBy = ({ agent }: HeldStory, decide: () => void): void => {
    const before = agent.record;
    const events = agent.events.length;
    decide();
    expect(agent.record.ladder.incident).toEqual(before.ladder.incident);
    expect(agent.events.slice(events)).toEqual([]);
  };

  it("when it is for another question", () => {
    const held = isAsked();
    unchangedBy(held, () => held.agent.decides("terminate_and_recover", { escalation: "worker-1.7" }));
  });

  it("when it is the second one: the first counts", () => {
    const held = isAsked();
    held.agent.decides("allow_more_time");
    unchangedBy(held, () => held.agent.decides("terminate_and_recover", { escalation: first }));
    expect(held.agent.told("ESCALATION_DECIDED")).toHaveLength(1);
  });

  it("when it comes too late: the ladder has gone on", () => {
    const held = isAsked();
    held.passes("16m");
    unchangedBy(held, () => held.agent.decides("allow_more_time", { escalation: first }));
  });

  it("when the incident is over", () => {
    const held = isAsked();
    held.prints(3);
    unchangedBy(held, () => held.agent.decides("terminate_and_recover", { escalation: first }));
  });
});
