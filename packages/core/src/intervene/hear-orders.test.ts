import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { endings, goesQuiet, isAsked } from "../ladder-story.test-support.ts";
import { type Story, story } from "../story.test-support.ts";

describe("what an agent says", () => {
  it("update: is heard, and no more", () => {
    const held = goesQuiet();
    held.agent.answers("update");
    expect(held.agent.told("AGENT_ANSWERED")).toEqual([{ agentId: "worker-1", answer: { kind: "update" } }]);
    expect(held.agent.told("ESCALATION_TRIGGERED")).toEqual([]);
    expect(held.agent.state).toBe("STUCK");
  });

  it("without end is told the first, second, fourth, eighth … time, and anew after the next nudge", () => {
    const agent = story();
    agent.beats({});
    for (let times = 1; times <= 40; times++) agent.answers("update");
    for (let times = 1; times <= 40; times++) agent.beats({ answer: { kind: "update" } });
    expect(agent.told("AGENT_ANSWERED")).toHaveLength(7);
    agent.isNudgedBy("anna", "and now?");
    agent.answers("update");
    expect(agent.told("AGENT_ANSWERED")).toHaveLength(8);
  });

  it("is told of each kind by itself, and always when somebody is asked because of it", () => {
    const agent = story();
    agent.beats({});
    for (let times = 1; times <= 3; times++) agent.answers("update");
    agent.answers("blocker");
    agent.decides("allow_more_time");
    for (let times = 2; times <= 3; times++) {
      agent.answers("blocker");
      agent.decides("allow_more_time");
    }
    expect(agent.told("ESCALATION_TRIGGERED")).toHaveLength(3);
    expect(agent.told("AGENT_ANSWERED").map(({ answer }) => answer.kind)).toEqual([
      ...["update", "update"],
      ...["blocker", "blocker", "blocker"],
    ]);
  });

  it.each([
    ["handoff", "handoff-requested"],
    ["blocker", "blocker-reported"],
  ] as const)("%s: is escalated at once, without a second nudge", (kind, reason) => {
    const held = goesQuiet();
    held.passes("1m");
    held.agent.answers(kind);
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason }]);
    held.passes("10m");
    expect(held.agent.told("NUDGE_QUEUED")).toHaveLength(1);
    held.passes("5m");
    expect(endings(held)).toEqual(["handed-to-a-person: nobody-answered"]);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("counts as much on a beat", () => {
    const agent = story();
    agent.beats({ answer: { kind: "blocker", text: "no access" } });
    expect(agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "blocker-reported" }]);
  });

  it("of being blocked is a question until it is answered, however well the agent is", () => {
    const agent = story();
    agent.beats({ answer: { kind: "blocker" } });
    agent.beatsEvery("5s", "10m", { status: "IDLE" });
    expect(agent.state).toBe("HEALTHY");
    expect(endings({ agent })).toEqual([]);
    agent.decides("allow_more_time");
    expect(endings({ agent })).toEqual(["recovered: well-again"]);
  });

  it("and nobody answers: a person is called, and stays called until the agent goes on with its work", () => {
    const agent = story();
    agent.beats({ answer: { kind: "blocker" }, progressIndicator: "1" });
    agent.beatsEvery("5s", "20m", { progressIndicator: "1", status: "IDLE" });
    expect(endings({ agent })).toEqual(["handed-to-a-person: nobody-answered"]);
    expect(agent.record.health.alert?.severity).toBe("critical");
    agent.beats({ progressIndicator: "2" });
    expect(agent.record.health.alert).toBeNull();
    expect(agent.record.ladder.handedOver).toBeNull();
  });

  it("and it falls ill after that: that is a matter of its own", () => {
    const agent = story();
    agent.beats({ answer: { kind: "blocker" } });
    agent.beatsEvery("5s", "20m", { status: "IDLE" });
    agent.silentFor("2m");
    expect(agent.told("INCIDENT_OPENED").map(({ illness }) => illness)).toEqual(["DEGRADED", "UNRESPONSIVE"]);
  });

  it("is asked about once, not with every beat that says it again", () => {
    const agent = story();
    agent.beatsEvery("5s", "10m", { answer: { kind: "blocker" } });
    expect(agent.told("ESCALATION_TRIGGERED")).toHaveLength(1);
  });

  it("opens nothing in mode observe, in a freeze, after its end, or when a person has it in hand", () => {
    const observed = story({ settings: { mode: "observe" } });
    const frozen = story({ doubt: { frozen: true } });
    const finished = story();
    finished.beats({ status: "FINISHED" });
    const over = heldStory();
    over.exits({ code: 0 });
    for (const agent of [observed, frozen, finished, over.agent]) {
      agent.answers("blocker");
      expect(agent.told("AGENT_ANSWERED")).toHaveLength(1);
      expect(agent.told("ESCALATION_TRIGGERED")).toEqual([]);
    }
    const inHand = goesQuiet({ settings: { mode: "assist" } });
    inHand.passes("2h");
    const asked = inHand.agent.told("ESCALATION_TRIGGERED").length;
    inHand.agent.answers("blocker");
    expect(inHand.agent.told("ESCALATION_TRIGGERED")).toHaveLength(asked);
  });
});

describe("a person who asks the orchestrator about an agent", () => {
  it("gets a question that stands until it is answered, however well the agent is", () => {
    const agent = story();
    agent.beats();
    agent.isEscalatedBy("anna");
    expect(agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "ordered" }]);
    agent.beatsEvery("5s", "14m");
    expect(endings({ agent })).toEqual([]);
    agent.beatsEvery("5s", "2m");
    expect(endings({ agent })).toEqual(["handed-to-a-person: nobody-answered"]);
  });

  it("gets it in mode observe as well, and only once at a time", () => {
    const agent = story({ settings: { mode: "observe" } });
    agent.beats();
    agent.isEscalatedBy("anna");
    agent.isEscalatedBy("ben");
    expect(agent.told("ESCALATION_TRIGGERED")).toHaveLength(1);
    expect(endings({ agent })).toEqual([]);
  });

  it("does not start one that is over: whoever answers decides", () => {
    const held = heldStory({ hold: { foreground: true } });
    held.exits({ code: 1 });
    held.passes("1s");
    held.agent.isEscalatedBy("anna");
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "ordered" }]);
    held.passes("20m");
    expect(held.agent.did("restart-agent")).toEqual([]);
    expect(endings(held).at(-1)).toBe("handed-to-a-person: nobody-answered");
  });

  it("is not kept busy with one that has finished", () => {
    const agent = story();
    agent.beats({ status: "FINISHED" });
    agent.isEscalatedBy("anna");
    const held = heldStory();
    held.exits({ code: 0 });
    held.agent.isEscalatedBy("anna");
    for (const { told, did } of [agent, held.agent]) {
      expect(told("INCIDENT_OPENED")).toEqual([]);
      expect(did("escalate")).toEqual([]);
    }
  });

  it("while it has the orchestrator's attention already changes nothing", () => {
    const held = goesQuiet({ hold: { input: "none" } });
    held.agent.isEscalatedBy("anna");
    expect(held.agent.told("ESCALATION_TRIGGERED")).toHaveLength(1);
  });

  it("is waited for, although the agent becomes worse meanwhile: that is asked about next", () => {
    const agent = story();
    agent.beats();
    agent.isEscalatedBy("anna");
    agent.silentFor("14m");
    expect(agent.state).toBe("UNRESPONSIVE");
    expect(agent.told("ESCALATION_TRIGGERED").map(({ reason }) => reason)).toEqual(["ordered"]);
    agent.silentFor("2m");
    expect(agent.told("ESCALATION_TRIGGERED").map(({ reason }) => reason)).toEqual(["ordered", "not-supervised"]);
    expect(agent.did("withdraw-escalation")).toHaveLength(1);
  });
});

describe("whoever decides about an agent", () => {
  const actorsOf = ({ told }: Story) =>
    [...told("NUDGE_QUEUED"), ...told("TERMINATION_ORDERED"), ...told("AGENT_TERMINATED")].map(({ actor }) => actor);

  it("is named as who stopped it", () => {
    const held = isAsked();
    held.agent.decides("terminate_and_recover", { actor: "anna" });
    expect(actorsOf(held.agent)).toEqual(["anna", "anna"]);
  });

  it("is named also when the end was seen and its answer was lost", () => {
    const held = isAsked({ obedient: false });
    held.agent.decides("terminate_and_recover", { actor: "anna" });
    held.agent.monitorDoubts({ frozen: true });
    held.handsAnswer("worker-1/1/stop/decided/1", { kind: "interrupted" });
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    expect(held.agent.told("AGENT_TERMINATED")).toMatchObject([{ actor: "anna", because: "decided" }]);
  });

  it("is named as who told it to hand over", () => {
    const agent = story();
    agent.beats({ answer: { kind: "handoff" } });
    agent.decides("force_handoff", { actor: "planner" });
    expect(actorsOf(agent)).toEqual(["planner"]);
  });

  it("is Rouse where nobody did", () => {
    const held = isAsked();
    held.passes("15m");
    expect(actorsOf(held.agent)).toEqual(["rouse", "rouse"]);
  });
});

describe("what an agent is told besides", () => {
  const taken = { kind: "task-taken", taskId: "t1", because: "timed-out", alone: true } as const;

  it("that its task was taken from it: the fact, and to stop working on it", () => {
    const agent = story();
    agent.beats({ taskId: "t1" });
    agent.take(taken);
    const [nudge] = agent.beats({ taskId: "t1" }).commands;
    expect(nudge).toMatchObject({ kind: "nudge", because: "task-taken" });
    expect(nudge).toMatchObject({
      message:
        "FACT: task t1 is no longer yours: it ran over its time limit. Save what you have and stop working on it.",
    });
    expect(agent.told("INCIDENT_OPENED")).toEqual([]);
  });

  it("and is not told to start what is no longer its own", () => {
    const agent = story({ settings: { health_check: { task_not_started_seconds: 30 } } });
    agent.beats({ taskId: "t1", status: "IDLE" });
    agent.take(taken);
    agent.beatsEvery("5s", "10m", { taskId: "t1", status: "IDLE" });
    expect(agent.finding("task-not-started")).toBeUndefined();
    expect(agent.told("NUDGE_SENT").map(({ message }) => message)).toEqual([expect.stringMatching(/^FACT: task t1 /)]);
  });

  it("but still to start another that is its own", () => {
    const agent = story({ settings: { health_check: { task_not_started_seconds: 30 } } });
    agent.beats({ taskId: "t2", status: "IDLE" });
    agent.take(taken);
    agent.beatsEvery("5s", "10m", { taskId: "t2", status: "IDLE" });
    expect(agent.finding("task-not-started")).toBeDefined();
  });

  it("and what was started for it and is down is not brought back for it any more", () => {
    const down = heldStory({ taskId: "t1", settings: { restart: { cooldown_seconds: 600 } } });
    down.exits({ code: 1 });
    down.startsAgain();
    down.exits({ code: 1 });
    expect(down.agent.record.ladder.incident?.stage.kind).toBe("down");
    down.agent.take(taken);
    expect(endings(down).at(-1)).toBe("recovered: handed-off");
    down.passes("3h");
    expect(down.agent.did("restart-agent")).toHaveLength(1);
  });

  it("not where its policy has nobody nudged", () => {
    const agent = story({ settings: { intervention: { nudge: { enabled: false } } } });
    agent.beats({ taskId: "t1" });
    agent.take(taken);
    expect(agent.told("NUDGE_QUEUED")).toEqual([]);
  });

  it("not if it is at work on something else by now, has finished, or is over", () => {
    const elsewhere = story();
    elsewhere.beats({ taskId: "t2" });
    elsewhere.take(taken);
    const done = story();
    done.beats({ taskId: "t1", status: "FINISHED" });
    done.take(taken);
    const gone = heldStory({ taskId: "t1", hold: { input: "terminal" } });
    gone.exits({ code: 1 });
    gone.agent.take(taken);
    for (const agent of [elsewhere, done, gone.agent]) expect(agent.told("NUDGE_QUEUED")).toEqual([]);
  });

  it("that too many of its tasks failed, unless everything is frozen or its policy only watches", () => {
    const wanted = { kind: "reflection-wanted", failed: 3, of: 10 } as const;
    const told = (agent: ReturnType<typeof story>): unknown[] =>
      agent.told("NUDGE_QUEUED").map(({ template }) => template);
    const agent = story();
    agent.beats();
    agent.take(wanted);
    expect(told(agent)).toEqual(["self-reflection"]);
    const frozen = story();
    frozen.beats();
    frozen.monitorDoubts({ frozen: true });
    frozen.take(wanted);
    expect(told(frozen)).toEqual([]);
    const watched = story({ settings: { mode: "observe" } });
    watched.beats();
    watched.take(wanted);
    expect(told(watched)).toEqual([]);
  });
});
