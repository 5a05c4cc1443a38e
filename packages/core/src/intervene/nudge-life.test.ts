import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { endings, error, goesQuiet, refusals, repeatsError } from "../ladder-story.test-support.ts";
import { runStory, times } from "../run-story.test-support.ts";
import { type Story, story } from "../story.test-support.ts";

const lifeOf = (agent: Story): string[] =>
  agent.when("NUDGE_QUEUED", "NUDGE_SENT", "NUDGE_NOT_SENT", "NUDGE_SEEN", "NUDGE_ACTED", "NUDGE_UNCONFIRMED");

const id = "worker-1/1/nudge/1";

/** The agent beats every five seconds without progress: STUCK, and nudged, after half an hour. */
function standsStill(): Story {
  const agent = story();
  agent.beats({ progressIndicator: "1" });
  agent.beats({ progressIndicator: "2" });
  agent.beatsEvery("5s", "1799s");
  return agent;
}

describe("a nudge on the acknowledgement of a beat", () => {
  it("is queued, sent with the next acknowledgement, seen when the agent names it, and acted on when it moves", () => {
    const agent = standsStill();
    agent.silentFor("1s");
    expect(lifeOf(agent)).toEqual(["1800s NUDGE_QUEUED"]);
    agent.silentFor("4s");
    expect(agent.beats().commands).toMatchObject([{ id, kind: "nudge", because: "reminder" }]);
    agent.silentFor("5s");
    agent.beats({ seen: [id] });
    agent.silentFor("5s");
    agent.beats({ progressIndicator: "3" });
    expect(lifeOf(agent)).toEqual(["1800s NUDGE_QUEUED", "1804s NUDGE_SENT", "1809s NUDGE_SEEN", "1814s NUDGE_ACTED"]);
    expect(agent.told("NUDGE_SEEN")).toEqual([{ agentId: "worker-1", nudge: id, evidence: "named in a heartbeat" }]);
    expect(agent.told("NUDGE_ACTED")).toMatchObject([{ evidence: "did something new" }]);
    expect(endings({ agent })).toEqual(["recovered: well-again"]);
  });

  it("comes with every acknowledgement until it was seen, and is sent once", () => {
    const agent = standsStill();
    agent.silentFor("1s");
    expect(agent.beats().commands).toHaveLength(1);
    expect(agent.beats().commands).toHaveLength(1);
    agent.silentFor("5s");
    agent.beats({ seen: [id] });
    expect(agent.beats().commands).toEqual([]);
    expect(agent.told("NUDGE_SENT")).toHaveLength(1);
  });

  it("is acted on by what came between the acknowledgement and the beat that names it", () => {
    const agent = standsStill();
    agent.silentFor("5s");
    agent.beats();
    agent.silentFor("5s");
    expect(agent.beats({ progressIndicator: "3" }).commands).toEqual([]);
    expect(endings({ agent })).toEqual(["recovered: well-again"]);
    expect(agent.told("NUDGE_ACTED")).toEqual([]);
    agent.silentFor("5s");
    agent.beats({ progressIndicator: "3", seen: [id] });
    expect(lifeOf(agent).slice(-2)).toEqual(["1814s NUDGE_SEEN", "1814s NUDGE_ACTED"]);
  });

  it("is answered by the agent itself: that is acting on it", () => {
    const agent = standsStill();
    agent.silentFor("1s");
    agent.beats();
    agent.silentFor("5s");
    agent.answers("update", id);
    expect(agent.told("NUDGE_ACTED")).toMatchObject([{ evidence: "answered: update" }]);
  });

  it("an answer to another nudge is none to this", () => {
    const agent = standsStill();
    agent.silentFor("1s");
    agent.beats();
    agent.silentFor("5s");
    agent.answers("update", "worker-1/1/nudge/99");
    expect(agent.told("NUDGE_ACTED")).toEqual([]);
  });

  it("stays unconfirmed when the agent beats on as if nothing had been said", () => {
    const agent = standsStill();
    agent.beatsEvery("5s", "11m");
    expect(lifeOf(agent).slice(0, 3)).toEqual(["1800s NUDGE_QUEUED", "1804s NUDGE_SENT", "2404s NUDGE_UNCONFIRMED"]);
    expect(agent.told("NUDGE_UNCONFIRMED")).toMatchObject([{ nudge: id, waitedSeconds: 600 }]);
  });

  it("is not given while everything is frozen, nor when its time is over", () => {
    const agent = standsStill();
    agent.silentFor("1s");
    agent.monitorDoubts({ frozen: true });
    expect(agent.beats().commands).toEqual([]);
    agent.beatsEvery("5s", "11m");
    agent.monitorDoubts({ frozen: false });
    expect(agent.told("NUDGE_UNCONFIRMED")).toHaveLength(1);
    expect(agent.beats().commands).toMatchObject([{ id: "worker-1/1/nudge/2" }]);
  });

  it("is over with the life it was meant for", () => {
    const agent = standsStill();
    agent.silentFor("1s");
    agent.registers();
    expect(agent.told("NUDGE_UNCONFIRMED")).toMatchObject([{ nudge: id }]);
    expect(agent.beats().commands).toEqual([]);
  });
});

describe("a nudge through the holder", () => {
  it("is an action with a key and a time limit, and sent when the hands say so", () => {
    const held = goesQuiet({ nudges: null });
    const [action] = held.agent.did("nudge-agent");
    expect(action).toMatchObject({ key: id, agentId: "worker-1", incarnation: 1, notAfter: held.agent.now + 600_000 });
    expect(lifeOf(held.agent)).toEqual(["900s NUDGE_QUEUED"]);
    const sent = { kind: "nudge", delivery: { kind: "sent", channel: "terminal", echoed: true } } as const;
    held.handsAnswer(id, sent);
    held.handsAnswer(id, sent);
    expect(lifeOf(held.agent)).toEqual(["900s NUDGE_QUEUED", "900s NUDGE_SENT"]);
  });

  it("is for a terminal that a person has open only where the policy allows it", () => {
    const [action] = goesQuiet({ nudges: null }).agent.did("nudge-agent");
    expect(action).not.toHaveProperty("whenIdle");
    const held = goesQuiet({ nudges: null, settings: { intervention: { nudge: { while_attached: "when-idle" } } } });
    expect(held.agent.did("nudge-agent")).toMatchObject([{ whenIdle: true }]);
  });

  it("that could not be given says why, and the next is tried after the interval", () => {
    const held = goesQuiet({ nudges: { kind: "not-sent", because: "half-typed" } });
    expect(held.agent.told("NUDGE_NOT_SENT")).toEqual([
      { agentId: "worker-1", nudge: id, channel: "terminal", because: "half-typed" },
    ]);
    held.passes("10m");
    expect(held.agent.when("NUDGE_QUEUED")).toEqual(["900s NUDGE_QUEUED", "1500s NUDGE_QUEUED"]);
    expect(held.agent.state).toBe("STUCK");
  });

  const nudged = (input: "stdin" | "terminal") => {
    const held = heldStory({ hold: { input } });
    held.prints();
    repeatsError(held, 4);
    held.shows(error);
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    held.passes("10s");
    return held;
  };

  it("is not seen because the agent writes something after it, nor acted on: a redraw is no reading", () => {
    const held = nudged("terminal");
    held.prints(1);
    held.prints(4);
    expect(endings(held)).toEqual(["recovered: well-again"]);
    held.passes("10m");
    expect(lifeOf(held.agent).map((line) => line.split(" ")[1])).toEqual([
      "NUDGE_QUEUED",
      "NUDGE_SENT",
      "NUDGE_UNCONFIRMED",
    ]);
    expect(held.agent.told("NUDGE_UNCONFIRMED")).toMatchObject([{ because: "only-screen" }]);
  });

  it("is seen when it is part of the conversation, and acted on when something new follows that", () => {
    const held = nudged("stdin");
    held.prints(5);
    held.shows({ kind: "nudge-read", nudge: id });
    expect(held.agent.told("NUDGE_SEEN")).toMatchObject([{ evidence: "part of its conversation" }]);
    expect(held.agent.record.ladder.nudge).toMatchObject({ receipt: true });
    held.passes("10s");
    expect(held.agent.told("NUDGE_ACTED")).toEqual([]);
    held.prints(5);
    expect(held.agent.told("NUDGE_ACTED")).toMatchObject([{ evidence: "did something new" }]);
  });

  it("that an earlier version saw to be read is acted on by what came after it was sent", () => {
    const before = nudged("stdin");
    before.shows({ kind: "nudge-read", nudge: id });
    const { record } = before.agent;
    if (record.ladder.nudge === null) throw new Error("it was not nudged");
    const { seen: _, ...nudge } = record.ladder.nudge;
    before.passes("10s");
    const agent = story({
      preset: "default",
      record: { ...record, ladder: { ...record.ladder, nudge } },
      now: before.agent.now,
    });
    agent.take(before.prints(5).signal);
    expect(agent.told("NUDGE_ACTED")).toHaveLength(1);
  });

  it("is seen by its program as far as the screen shows: no receipt, and what it draws then is no work", () => {
    const held = nudged("terminal");
    held.shows({ kind: "nudge-read", nudge: id, by: "screen" });
    expect(held.agent.told("NUDGE_SEEN")).toMatchObject([{ evidence: "its program took it in" }]);
    expect(held.agent.record.ladder.nudge).toMatchObject({ receipt: false });
    held.passes("10s");
    held.prints(9);
    expect(held.agent.told("NUDGE_ACTED")).toEqual([]);
    const call = { kind: "tool_call", tool: "read", args_digest: "new" } as const;
    held.agent.take({ kind: "stepped", events: [call, { kind: "tool_result", text_digest: "new" }] });
    expect(held.agent.told("NUDGE_ACTED")).toHaveLength(1);
  });

  it("is not acted on by an end, nor by what is written on the way to one", () => {
    const last = { kind: "output", rows: 9, novel: 9 } as const;
    const exits = nudged("stdin");
    exits.shows({ kind: "nudge-read", nudge: id });
    exits.passes("10s");
    exits.report([last], { exit: { code: 0, signal: null, cause: "by-itself" } });
    expect(exits.agent.told("NUDGE_ACTED")).toEqual([]);

    const stopped = nudged("stdin");
    stopped.shows({ kind: "nudge-read", nudge: id });
    stopped.passes("10s");
    stopped.isOrdered("stop", "order-1", true);
    for (const { key } of stopped.agent.did("save-work"))
      stopped.handsAnswer(key, { kind: "work", work: { kind: "nothing-to-save" } });
    expect(stopped.agent.did("stop-agent")).toHaveLength(1);
    stopped.shows(last);
    expect(stopped.agent.told("NUDGE_ACTED")).toEqual([]);
  });
});

describe("after a nudge the evidence is collected anew", () => {
  /** An agent that beats and repeats the same step. */
  function loops() {
    const run = runStory({ preset: "fleet" });
    run.agent.beats();
    times(5, () => run.does("shell", "make", "ok"));
    run.agent.beats();
    return run;
  }

  it("but what was found stands until the agent did something it had not done before", () => {
    const { agent, does, loop } = loops();
    expect(agent.told("NUDGE_SENT")).toHaveLength(1);
    expect(loop("identical-step")).toBeUndefined();
    agent.silentFor("1s");
    agent.beats({ seen: [id] });
    does("shell", "make", "ok");
    expect(agent.state).toBe("STUCK");
    agent.silentFor("1s");
    does("read", "readme", "something else");
    expect(agent.state).toBe("HEALTHY");
    expect(endings({ agent })).toEqual(["recovered: well-again"]);
    expect(agent.told("NUDGE_ACTED")).toHaveLength(1);
  });

  it("so that of the errors that it was for nothing is found any more from that moment on", () => {
    const held = heldStory({ hold: { family: "claude-code", input: "terminal" }, nudges: null });
    held.prints();
    for (let i = 0; i < 5; i++) {
      held.passes("1m");
      held.shows({ kind: "output", rows: 1, novel: 0 }, error);
    }
    const { agent } = held;
    expect(agent.record.health.findings.map(({ kind }) => kind)).toContain("repeated-error");
    const sent = { kind: "sent", channel: "terminal", echoed: true } as const;
    agent.take({ kind: "action-outcome", key: id, outcome: { kind: "nudge", delivery: sent } });
    expect(agent.told("NUDGE_SENT")).toHaveLength(1);
    expect(agent.record.health.findings.map(({ kind }) => kind)).not.toContain("repeated-error");
    expect(agent.state).toBe("STUCK");
  });

  it("also while the next nudge is on its way, and while somebody is asked, and after: silence is no recovery", () => {
    const { agent } = loops();
    agent.beatsEvery("5s", "40m");
    expect(agent.told("NUDGE_SENT")).toHaveLength(3);
    expect(agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "nudges-unanswered" }]);
    expect(endings({ agent })).toEqual([]);
    agent.beatsEvery("5s", "30m");
    expect(endings({ agent })).toEqual(["handed-to-a-person: not-supervised"]);
    expect(agent.past.map((line) => line.split(" ")[1])).toEqual(["STUCK"]);
    expect(agent.record.ladder.handedOver).not.toBeNull();
  });

  it("nor is doing the same once more, however often it was told", () => {
    const { agent, does } = loops();
    agent.beatsEvery("5s", "10m");
    expect(agent.told("NUDGE_SENT")).toHaveLength(2);
    does("shell", "make", "ok");
    agent.beats();
    expect(agent.state).toBe("STUCK");
    expect(agent.told("NUDGE_ACTED")).toEqual([]);
  });

  it("also when the next one could not be given", () => {
    const held = heldStory({ hold: { input: "stdin" }, nudges: null });
    held.prints();
    repeatsError(held, 5);
    const answer = (n: number, delivery: "sent" | "not-sent") =>
      held.handsAnswer(`worker-1/1/nudge/${n}`, {
        kind: "nudge",
        delivery:
          delivery === "sent"
            ? { kind: "sent", channel: "stdin", echoed: false }
            : { kind: "not-sent", because: "busy-screen" },
      });
    answer(1, "sent");
    held.passes("10m");
    answer(2, "not-sent");
    held.passes("1m");
    expect(held.agent.state).toBe("STUCK");
    expect(endings(held)).toEqual([]);
  });

  it("the same lines once more are nothing new to one that saved no checkpoint, and one new line is", () => {
    const held = heldStory({ hold: { input: "terminal" }, settings: { terminal: { idle_timeout_minutes: 600 } } });
    held.agent.beats({ lastCheckpoint: "c1", progressIndicator: "1" });
    for (let i = 0; i < 31; i++) {
      held.passes("1m");
      held.agent.beats({ lastCheckpoint: "c1", progressIndicator: "1" });
    }
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    held.prints(0, 6);
    expect(held.agent.state).toBe("STUCK");
    expect(held.agent.told("NUDGE_ACTED")).toEqual([]);
    held.prints(1, 6);
    expect(held.agent.told("NUDGE_ACTED")).toEqual([]);
    expect(endings(held)).toEqual(["recovered: well-again"]);
  });

  it("who does one new thing after each nudge and then the same again is asked about after the third", () => {
    const { agent, does } = loops();
    const fallsBack = (n: number): void => {
      does("read", `file-${n}`, "something else");
      expect(agent.state).toBe("HEALTHY");
      agent.beatsEvery("5s", "2m");
      times(5, () => does("shell", "make", "ok"));
      agent.beats();
      expect(agent.state).toBe("STUCK");
    };
    fallsBack(1);
    fallsBack(2);
    expect(agent.told("NUDGE_SENT").map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    fallsBack(3);
    expect(agent.told("NUDGE_SENT")).toHaveLength(3);
    expect(agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "falls-back" }]);
    does("read", "file-4", "something else");
    agent.beatsEvery("5s", "1h", { status: "IDLE" });
    fallsBack(5);
    expect(agent.told("NUDGE_SENT")).toHaveLength(4);
  });

  it("an agent that rightly came to rest is well", () => {
    const { agent } = loops();
    agent.silentFor("5s");
    agent.beats({ status: "IDLE" });
    expect(endings({ agent })).toEqual(["recovered: well-again"]);
  });

  it("and to be stopped it must have shown something since: the orchestrator's word alone is not enough", () => {
    const never = 1_000_000;
    const held = heldStory({
      hold: { input: "stdin" },
      settings: {
        terminal: { idle_timeout_minutes: 600 },
        health_check: { checkpoint_stale_threshold_seconds: never, no_tool_call_seconds: never },
      },
    });
    const call = { kind: "tool_call", tool: "shell", args_digest: "a" } as const;
    times(5, () => held.agent.take({ kind: "stepped", events: [call, { kind: "tool_result", text_digest: "r" }] }));
    held.passes("31m");
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "nudges-unanswered" }]);
    held.agent.decides("terminate_and_recover");
    expect(refusals(held)).toEqual(["one-kind-of-evidence"]);
    expect(held.agent.did("stop-agent")).toEqual([]);
    expect(endings(held)).toEqual(["handed-to-a-person: kill-refused"]);
  });
});

describe("a person's nudge", () => {
  it("that no beat has fetched yet goes out with whatever is said next", () => {
    const agent = story();
    agent.beats();
    agent.isNudgedBy("anna", "first");
    agent.isNudgedBy("bert", "second");
    agent.take({ kind: "reflection-wanted", failed: 3, of: 10 });
    expect(agent.told("NUDGE_NOT_SENT")).toMatchObject([
      { nudge: "worker-1/1/nudge/1", because: "joined-with-next" },
      { nudge: "worker-1/1/nudge/2", because: "joined-with-next" },
    ]);
    expect(agent.told("NUDGE_UNCONFIRMED")).toEqual([]);
    expect(agent.beats().commands).toMatchObject([
      { message: expect.stringMatching(/^first\n\nsecond\n\nFACT: 3 of/) },
    ]);
  });

  it("that a beat has fetched is not called unsent for the next", () => {
    const agent = story();
    agent.beats();
    agent.isNudgedBy("ann", "look at the tests");
    agent.beats();
    agent.isNudgedBy("ann", "and at the docs");
    expect(agent.told("NUDGE_SENT")).toHaveLength(1);
    expect(agent.told("NUDGE_NOT_SENT")).toEqual([]);
    expect(agent.record.ladder.nudge?.text).toBe("and at the docs");
  });

  it("is given although the incident it came in is over", () => {
    const { agent, does } = runStory({ preset: "fleet" });
    agent.beats();
    times(5, () => does("shell", "make", "ok"));
    agent.beats();
    agent.isNudgedBy("anna", "try something else");
    does("read", "readme", "something new");
    expect(endings({ agent })).toEqual(["recovered: well-again"]);
    expect(agent.beats().commands).toMatchObject([{ message: expect.stringContaining("try something else") }]);
  });

  it("goes out in their own words, whatever the agent's health is, and opens nothing", () => {
    const agent = story();
    agent.beats();
    agent.isNudgedBy("anna", "please look at the failing test");
    expect(agent.beats().commands).toMatchObject([{ because: "operator", message: "please look at the failing test" }]);
    expect(agent.told("NUDGE_QUEUED")).toMatchObject([{ actor: "anna", template: "operator", attempt: 0 }]);
    expect(agent.told("INCIDENT_OPENED")).toEqual([]);
  });

  it("does not make a looping agent well by clearing what was found", () => {
    const held = heldStory({ hold: { input: "stdin" }, settings: { intervention: { nudge: { enabled: false } } } });
    held.prints();
    repeatsError(held, 5);
    held.agent.isNudgedBy("anna");
    held.passes("1m");
    repeatsError(held, 1);
    expect(held.agent.state).toBe("STUCK");
    expect(endings(held)).toEqual([]);
  });

  it("is not sent in a freeze", () => {
    const agent = story({ doubt: { frozen: true } });
    agent.beats();
    agent.isNudgedBy("anna");
    expect(agent.told("NUDGE_QUEUED")).toEqual([]);
  });
});

describe("the way a nudge went", () => {
  const byTerminal = { kind: "sent", channel: "terminal", echoed: true } as const;

  it("is the one its holder took, where the one it was queued for was gone by then", () => {
    const held = heldStory({ hold: { input: "steer" }, nudges: byTerminal });
    held.agent.isNudgedBy("anna");
    expect(held.agent.told("NUDGE_QUEUED")).toMatchObject([{ channel: "steer" }]);
    expect(held.agent.told("NUDGE_SENT")).toMatchObject([{ channel: "terminal" }]);
    expect(held.agent.record.ladder.nudge?.channel).toBe("terminal");
  });

  it("is told of one that was given late, too", () => {
    const held = heldStory({ hold: { input: "steer" }, nudges: null });
    held.agent.isNudgedBy("anna");
    held.passes("11m");
    expect(held.agent.told("NUDGE_UNCONFIRMED")).toHaveLength(1);
    held.handsAnswer(id, { kind: "nudge", delivery: byTerminal });
    expect(held.agent.told("NUDGE_SENT")).toMatchObject([{ channel: "terminal" }]);
  });
});

describe("a nudge that nobody wants given any more", () => {
  const sent = { kind: "nudge", delivery: { kind: "sent", channel: "hook", echoed: false } } as const;
  const queued = () => {
    const held = heldStory({ hold: { input: "hook" }, nudges: null });
    held.prints();
    repeatsError(held, 4);
    held.shows(error);
    return held;
  };
  const withdrawn = { key: `${id}/over`, agentId: "worker-1", incarnation: 1, nudge: id };

  it("is withdrawn when its incident is over before it was given, and not when it was", () => {
    const held = queued();
    held.passes("10s");
    held.prints(5);
    expect(endings(held)).toEqual(["recovered: well-again"]);
    expect(held.agent.did("withdraw-nudge")).toMatchObject([withdrawn]);
    const given = queued();
    given.handsAnswer(id, sent);
    given.passes("10s");
    given.prints(5);
    expect(endings(given)).toEqual(["recovered: well-again"]);
    expect(given.agent.did("withdraw-nudge")).toEqual([]);
  });

  it("is not withdrawn when its time is up: its holder knows that itself", () => {
    const held = goesQuiet({ nudges: null });
    held.passes("11m");
    expect(held.agent.told("NUDGE_UNCONFIRMED")).toMatchObject([{ nudge: id }]);
    expect(held.agent.did("withdraw-nudge")).toEqual([]);
  });

  it("is withdrawn for other words, unless it is a person's", () => {
    const held = queued();
    held.agent.isNudgedBy("anna", "try something else");
    expect(held.agent.did("withdraw-nudge")).toMatchObject([withdrawn]);
    held.agent.isNudgedBy("bert", "and then this");
    expect(held.agent.did("withdraw-nudge")).toHaveLength(1);
  });

  it("is withdrawn once, whatever else ends before its holder has answered", () => {
    const held = queued();
    held.passes("10s");
    held.prints(5);
    held.agent.isNudgedBy("anna", "try something else");
    expect(held.agent.did("withdraw-nudge")).toHaveLength(1);
    const again = queued();
    again.passes("10s");
    again.prints(5);
    again.holderIsLost("gone");
    again.startsAgain();
    expect(again.agent.did("withdraw-nudge")).toHaveLength(1);
  });

  it("is told as sent, once, when it was on its way already", () => {
    const held = queued();
    held.passes("10s");
    held.prints(5);
    held.handsAnswer(id, sent);
    held.handsAnswer(id, sent);
    expect(held.agent.told("NUDGE_SENT")).toMatchObject([{ nudge: id }]);
    held.passes("11m");
    expect(held.agent.eventTypes().filter((type) => type.startsWith("NUDGE_"))).toEqual([
      "NUDGE_QUEUED",
      "NUDGE_SENT",
      "NUDGE_UNCONFIRMED",
    ]);
  });

  it("is told as not sent when its holder had not given it, and as unconfirmed when its holder never says", () => {
    const withdraws = queued();
    const silent = queued();
    for (const held of [withdraws, silent]) {
      held.passes("10s");
      held.prints(5);
    }
    withdraws.handsAnswer(id, { kind: "nudge", delivery: { kind: "not-sent", because: "expired" } });
    withdraws.passes("20m");
    silent.passes("20m");
    expect(withdraws.agent.told("NUDGE_NOT_SENT")).toMatchObject([{ nudge: id, because: "expired" }]);
    expect(withdraws.agent.told("NUDGE_UNCONFIRMED")).toEqual([]);
    expect(silent.agent.told("NUDGE_UNCONFIRMED")).toMatchObject([{ nudge: id }]);
  });

  it("counts when it was on its way already: who falls back again and again is asked about, not nudged for ever", () => {
    const settings = { intervention: { nudge: { interval_seconds: 3600 } } };
    const held = heldStory({ hold: { input: "terminal" }, nudges: null, settings });
    held.prints();
    // Each time it gets a quarter more patience than its last quiet took.
    for (const quiet of ["30m", "45m", "70m", "100m"]) {
      const before = held.agent.did("nudge-agent").length;
      held.passes(quiet);
      const key = held.agent.did("nudge-agent")[before]?.key;
      held.prints(5);
      if (key !== undefined) held.handsAnswer(key, sent);
    }
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(3);
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "falls-back" }]);
  });
});

describe("a nudge that could not be given", () => {
  const refused = { kind: "not-sent", because: "half-typed" } as const;

  it("is no attempt: it is tried as often as an attempt would be, and then somebody is asked, and told why", () => {
    const held = goesQuiet({ nudges: refused });
    held.passes("2h");
    expect(held.agent.told("NUDGE_NOT_SENT")).toHaveLength(3);
    expect(held.agent.record.ladder.incident?.nudges).toBe(0);
    expect(held.agent.told("ESCALATION_TRIGGERED")[0]).toMatchObject({ reason: "nudges-undelivered" });
  });

  it("is not counted against the agent when the next way works", () => {
    const held = goesQuiet({ nudges: null });
    held.handsAnswer(held.agent.did("nudge-agent")[0]?.key ?? "", { kind: "nudge", delivery: refused });
    held.passes("10m");
    held.handsAnswer(held.agent.did("nudge-agent")[1]?.key ?? "", {
      kind: "nudge",
      delivery: { kind: "sent", channel: "terminal", echoed: true },
    });
    expect(held.agent.record.ladder.incident).toMatchObject({ nudges: 1, undelivered: 1 });
  });
});
