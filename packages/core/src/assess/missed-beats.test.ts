import { keepPromise } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { kindsOfEvidence } from "../decide/evidence.ts";
import type { Hold } from "../doubt.ts";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";
import { dawn, ms, story } from "../story.test-support.ts";

describe("missed beats", () => {
  it("one is a note, two are DEGRADED, three are UNRESPONSIVE", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.silentFor("6.999s");
    expect(agent.finding("missed-beats")).toBeUndefined();
    agent.silentFor("1ms");
    expect(agent.finding("missed-beats")).toMatchObject({ level: "note", evidence: { missed: 1, silentSeconds: 7 } });
    expect(agent.state).toBe("HEALTHY");
    agent.silentFor("5s");
    expect(agent.finding("missed-beats")).toMatchObject({ level: "degraded", evidence: { missed: 2, ttlSeconds: 15 } });
    agent.silentFor("5s");
    expect(agent.finding("missed-beats")).toMatchObject({
      level: "unresponsive",
      confidence: 0.95,
      since: dawn + ms("7s"),
    });
    agent.silentFor("1h");
    expect(agent.past).toEqual(["12s DEGRADED", "17s UNRESPONSIVE"]);
    expect(agent.reason).toBe("missed-beats");
    const missed = agent.events.flatMap((event) => (event.type === "HEARTBEAT_MISSED" ? [event.payload.missed] : []));
    expect(missed).toEqual([1, 2, 3]);
  });

  it("an idle agent of a fleet has twice the time", () => {
    const agent = story({ preset: "fleet" });
    agent.beats({ status: "IDLE" });
    agent.silentFor("1h");
    expect(agent.past).toEqual(["22s DEGRADED", "32s UNRESPONSIVE"]);
  });

  it("a coding agent is DEGRADED after ten minutes and UNRESPONSIVE after fifteen", () => {
    const agent = story({ preset: "default" });
    agent.beats();
    agent.silentFor("2h");
    expect(agent.past).toEqual(["602s DEGRADED", "902s UNRESPONSIVE"]);
  });

  it("a task worker is UNRESPONSIVE after fifteen minutes", () => {
    const agent = story({ preset: "tasks" });
    agent.beats();
    agent.silentFor("2h");
    expect(agent.past.at(-1)).toBe("902s UNRESPONSIVE");
  });

  it.each([
    { timeout_seconds: 400, past: ["402s DEGRADED", "902s UNRESPONSIVE"] },
    { timeout_seconds: 840, past: ["842s DEGRADED", "1142s UNRESPONSIVE"] }, // a beat later than DEGRADED, at the least
    { timeout_seconds: 60, past: ["302s DEGRADED", "902s UNRESPONSIVE"] }, // never before the first beat is due
  ])("a timeout of $timeout_seconds s is when silence becomes DEGRADED", ({ timeout_seconds, past }) => {
    const agent = story({ preset: "default", settings: { heartbeat: { timeout_seconds } } });
    agent.beats();
    agent.silentFor("1h");
    expect(agent.past).toEqual(past);
  });

  it("a timeout for working agents never makes an idle one DEGRADED before its second missed beat", () => {
    const agent = story({ preset: "fleet", settings: { heartbeat: { timeout_seconds: 8 } } });
    agent.beats({ status: "IDLE" });
    agent.silentFor("1m");
    expect(agent.past).toEqual(["22s DEGRADED", "32s UNRESPONSIVE"]);
  });

  it("silence is not lack of progress as well: it is one finding, not five", () => {
    const agent = story({ preset: "default" });
    agent.beats({ lastCheckpoint: "c1", lastToolCall: "read", tokenCount: 7, progressIndicator: "1" });
    agent.silentFor("1d");
    expect(agent.record.health.findings.map(({ kind }) => kind)).toEqual(["missed-beats"]);
  });

  it("a beat may be late by the grace, and no later", () => {
    const settings = { heartbeat: { grace_seconds: 9 } };
    const agent = story({ preset: "fleet", settings });
    agent.beats();
    agent.silentFor("18.999s");
    expect(agent.past).toEqual([]);
    agent.silentFor("1m");
    expect(agent.past).toEqual(["19s DEGRADED", "24s UNRESPONSIVE"]);
  });

  it("an agent that beats in time is never suspected, for a day", () => {
    const agent = story({ preset: "fleet" });
    agent.beatsEvery("6.9s", "24h");
    expect(agent.verdicts).toEqual([]);
  });

  it("one word is enough to be well again", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.silentFor("40s");
    agent.beats();
    expect(agent.past.slice(-1)).toEqual(["40s HEALTHY"]);
    expect(agent.reason).toBe("findings-cleared");
    expect(agent.record.health.findings).toEqual([]);
    expect(agent.events).toContainEqual({
      type: "AGENT_RECOVERED",
      payload: { agentId: "worker-1", from: "UNRESPONSIVE", illForSeconds: 23 },
    });
  });

  it("an agent that finished may be silent for ever", () => {
    const agent = story({ preset: "fleet" });
    agent.beats({ status: "FINISHED" });
    expect(agent.record.wakeAt).toBeNull();
    agent.silentFor("30d");
    expect(agent.past).toEqual([]);
    expect(agent.eventTypes()).toEqual(["AGENT_FINISHED"]);
  });

  it("nobody is judged when monitoring is switched off", () => {
    const agent = story({ preset: "fleet", settings: { enabled: false } });
    agent.beats({ healthMetrics: { consecutiveFailures: 99 } });
    agent.silentFor("1d");
    expect(agent.verdicts).toEqual([]);
  });
});

describe("start-up grace", () => {
  it("an announced agent may take a minute to be heard before beats are missed", () => {
    const agent = story({ preset: "fleet" });
    agent.silentFor("66.999s");
    expect(agent.verdicts).toEqual([]);
    agent.silentFor("1h");
    expect(agent.past).toEqual(["72s DEGRADED", "77s UNRESPONSIVE"]);
  });

  it("counts from birth: an agent cannot hide behind STARTING for ever", () => {
    const agent = story({ preset: "fleet" });
    agent.beatsEvery("5s", "10m", { status: "STARTING" });
    agent.silentFor("17s");
    expect(agent.past).toEqual(["612s DEGRADED", "617s UNRESPONSIVE"]);
  });

  it("is given anew to each incarnation", () => {
    const agent = story({ preset: "fleet" });
    agent.beatsEvery("5s", "10m");
    agent.registers();
    agent.silentFor("1h");
    expect(agent.past).toEqual(["672s DEGRADED", "677s UNRESPONSIVE"]);
  });
});

describe("silence that was announced", () => {
  const inTool = { open: { kind: "tool", name: "tests", timeoutSeconds: 1800 } } as const;

  it("an agent inside a tool is not judged until the tool should be over", () => {
    const agent = story({ preset: "fleet" });
    agent.beats(inTool);
    agent.silentFor("1h");
    expect(agent.past).toEqual(["1872s DEGRADED", "1877s UNRESPONSIVE"]); // 30 min + 1 min + two, three beats
  });

  it("a tool without a timeout explains ten minutes", () => {
    const agent = story({ preset: "fleet" });
    agent.beats({ open: { kind: "tool" } });
    agent.silentFor("1h");
    expect(agent.past).toEqual(["612s DEGRADED", "617s UNRESPONSIVE"]);
  });

  it("explains nothing for an agent that was heard in the middle of such work before: it beats by a timer", () => {
    const agent = story({ preset: "fleet" });
    agent.beatsEvery("5s", "20s", inTool);
    agent.silentFor("1h");
    expect(agent.past).toEqual(["32s DEGRADED", "37s UNRESPONSIVE"]);
  });

  it("nor after we were away: that one of its beats was heard late shows nothing about the agent", () => {
    const agent = story({ preset: "fleet" });
    agent.beatsEvery("5s", "20s", inTool);
    agent.monitorIsBlindFor("10m", "suspend");
    agent.beats(inTool);
    expect(agent.record.seen.facts.beatsThroughWork).toBeGreaterThanOrEqual(3);
    agent.silentFor("20s");
    expect(agent.state).toBe("UNRESPONSIVE");
  });

  it("a second try of the same beat does not show that it beats by a timer", () => {
    const agent = story({ preset: "fleet" });
    for (let i = 0; i < 10; i++) {
      agent.beats(inTool);
      agent.silentFor("1s");
    }
    agent.silentFor("10m");
    expect(agent.past).toEqual([]);
  });

  it("one that was silent through a tool is known not to beat by a timer, whatever was thought before", () => {
    const agent = story({ preset: "fleet" });
    agent.beatsEvery("5s", "20s", inTool);
    agent.silentFor("10m");
    agent.beats(inTool); // the tool returned, or it beats again: it was there all the time
    agent.silentFor("10m");
    expect(agent.past).toEqual(["32s DEGRADED", "37s UNRESPONSIVE", "620s HEALTHY"]);
  });

  it("the same tool opened again after other work has its own patience", () => {
    const agent = story({ preset: "fleet" });
    agent.beats({ open: { kind: "tool", name: "tests" }, toolCallCount: 1 });
    agent.silentFor("9m");
    agent.beats({ open: { kind: "tool", name: "tests" }, toolCallCount: 2 }); // the beats between were lost
    agent.silentFor("10m");
    expect(agent.past).toEqual([]);
  });

  it("explains nothing once the tool is closed", () => {
    const agent = story({ preset: "fleet" });
    agent.beats(inTool);
    agent.silentFor("20m");
    agent.beats();
    agent.silentFor("17s");
    expect(agent.past).toEqual(["1212s DEGRADED", "1217s UNRESPONSIVE"]);
  });

  it("an open model request explains no silence", () => {
    const agent = story({ preset: "fleet" });
    agent.beats({ open: { kind: "model", timeoutSeconds: 600 } });
    agent.silentFor("17s");
    expect(agent.state).toBe("UNRESPONSIVE");
  });

  it.each([
    ["input", "24h"],
    ["provider", "1h"],
    ["children", "1.5h"],
    ["schedule", "1h"],
  ] as const)("an agent that waits for %s is not judged for %s", (waitingFor, ceiling) => {
    const agent = story({ preset: "fleet" });
    agent.beats({ status: "WAITING", waitingFor });
    agent.silentFor("30h");
    const end = ms(ceiling) / 1000;
    expect(agent.past).toEqual([`${end + 12}s DEGRADED`, `${end + 17}s UNRESPONSIVE`]);
  });

  it("a wait with a named end explains silence until then and a minute more", () => {
    const agent = story({ preset: "fleet" });
    agent.beats({ status: "WAITING", waitingFor: "provider" }, { waitsFor: "2h" });
    agent.silentFor("3h");
    expect(agent.past).toEqual(["7272s DEGRADED", "7277s UNRESPONSIVE"]);
  });
});

describe("stall amnesty", () => {
  it("what the monitor could not hear is not silence: everyone gets a full TTL after it was blind", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.silentFor("5s");
    agent.monitorIsBlindFor("10m");
    agent.silentFor("16.999s");
    expect(agent.past).toEqual([]);
    expect(agent.finding("missed-beats")).toMatchObject({ level: "note", restrainedBy: "amnesty" });
    agent.silentFor("1ms");
    expect(agent.past).toEqual(["622s UNRESPONSIVE"]); // it ends by itself: who is gone is found
  });

  it("does not even call an agent DEGRADED during it, whatever its margin", () => {
    const agent = story({ preset: "fleet", settings: { self_check: { amnesty_margin_seconds: 60 } } });
    agent.beats();
    agent.monitorIsBlindFor("3s");
    agent.silentFor("74.999s");
    expect(agent.past).toEqual([]);
    agent.silentFor("1m");
    expect(agent.past).toEqual(["78s UNRESPONSIVE"]);
  });

  it("restarts the silence clock: beats are counted from the end of the gap, with the usual grace", () => {
    const agent = story({ preset: "fleet", settings: { self_check: { amnesty_margin_seconds: 0 } } });
    agent.beats();
    agent.monitorIsBlindFor("10m");
    agent.silentFor("1m");
    expect(agent.past).toEqual(["615s DEGRADED", "617s UNRESPONSIVE"]);
  });

  it("is not for an agent that was heard since", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.monitorIsBlindFor("10m");
    agent.beats();
    agent.silentFor("17s");
    expect(agent.past).toEqual(["612s DEGRADED", "617s UNRESPONSIVE"]);
    expect(agent.finding("missed-beats")?.restrainedBy).toBeUndefined();
  });

  it("makes nobody well: who was found gone before stays so until it is heard", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.silentFor("20s");
    agent.monitorIsBlindFor("1m");
    agent.take({ kind: "wake" });
    agent.silentFor("17s");
    expect(agent.past).toEqual(["12s DEGRADED", "17s UNRESPONSIVE"]);
    agent.beats();
    expect(agent.past.at(-1)).toBe("97s HEALTHY");
  });
});

describe("mass-silence hold", () => {
  const hold = (provenAt: number | null): Hold => ({ because: "mass-silence", since: dawn, provenAt });

  it("while it stands nobody is worse than DEGRADED, however long", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.monitorDoubts({ hold: hold(null) });
    agent.silentFor("1d");
    expect(agent.past).toEqual(["12s DEGRADED"]);
    expect(agent.finding("missed-beats")).toMatchObject({
      level: "degraded",
      restrainedBy: "mass-silence",
      confidence: 0.3,
    });
    agent.monitorDoubts({ hold: null });
    expect(agent.state).toBe("UNRESPONSIVE");
  });

  it("release grace: once the path is proven, everyone still has one TTL and the margin", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.monitorDoubts({ hold: hold(null) });
    agent.silentFor("100s");
    agent.monitorDoubts({ hold: hold(agent.now) });
    agent.silentFor("16.999s");
    expect(agent.past).toEqual(["12s DEGRADED"]);
    agent.silentFor("1ms");
    expect(agent.past).toEqual(["12s DEGRADED", "117s UNRESPONSIVE"]);
  });

  it("holds back silence only: an agent that breaks things is still FAILING", () => {
    const agent = story({ preset: "fleet", doubt: { hold: hold(null) } });
    agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    expect(agent.state).toBe("FAILING");
  });
});

describe("beats of a held agent that stop while its work is seen to go on", () => {
  const loses = (works: (held: HeldStory, minute: number) => void, minutes: number): HeldStory => {
    const held = heldStory({ taskId: "t1" });
    held.prints();
    held.agent.beats({ progressIndicator: "p" });
    for (let minute = 0; minute < minutes; minute++) {
      held.passes("1m");
      works(held, minute);
    }
    return held;
  };

  it("are a warning, whatever its processes do: it has lost its voice and is not stopped for it", () => {
    const prints = loses((held) => held.prints(2), 180);
    expect(prints.agent.past).toEqual(["602s DEGRADED"]);
    expect(prints.agent.finding("missed-beats")).toMatchObject({ level: "degraded", evidence: { goesOn: "yes" } });
    expect(prints.agent.did("stop-agent")).toEqual([]);
    const speaksOfNothing = heldStory({ taskId: "t1" });
    speaksOfNothing.agent.beats();
    for (let minute = 0; minute < 60; minute++) {
      speaksOfNothing.passes("1m");
      speaksOfNothing.prints(2);
    }
    expect(speaksOfNothing.agent.did("stop-agent")).toEqual([]);
    const saves = loses((held, n) => held.agent.take({ kind: "checkpointed", checkpoint: `c${n}` }), 180);
    expect(saves.agent.state).toBe("DEGRADED");
    expect(saves.agent.did("stop-agent")).toEqual([]);
  });

  it("are the silence they are as soon as nothing new was seen for a TTL either", () => {
    const held = loses((it) => it.prints(2), 30);
    held.passes("14m");
    expect(held.agent.state).toBe("DEGRADED");
    held.passes("2m");
    expect(held.agent.state).toBe("UNRESPONSIVE");
    held.prints(2);
    expect(held.agent.state).toBe("DEGRADED");
  });

  it("are explained by a question that its terminal still shows, also of one that beat through such waits before", () => {
    const held = heldStory({ taskId: "t1" });
    held.prints();
    held.shows({ kind: "asks", what: "permission", pattern: "allow" });
    for (let beat = 0; beat < 6; beat++) {
      held.agent.beats({ status: "WAITING", waitingFor: "input" });
      held.passes("5m");
    }
    expect(held.agent.record.seen.facts.beatsThroughWork).toBeGreaterThanOrEqual(3);
    held.passes("3h");
    expect(held.agent.past).toEqual([]);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("are not excused by the same lines again and again", () => {
    const held = loses((it) => it.prints(0, 2), 20);
    expect(held.agent.state).toBe("UNRESPONSIVE");
  });
});

describe("unwitnessed silence", () => {
  it("in a fleet where nobody at all is heard, an agent gets one more TTL before it is judged", () => {
    const agent = story({ preset: "fleet", doubt: { peers: 5, peersHeardAt: dawn } });
    agent.beats();
    agent.silentFor("29s");
    expect(agent.past).toEqual(["12s DEGRADED"]);
    expect(agent.finding("missed-beats")?.restrainedBy).toBe("unwitnessed");
    agent.silentFor("1s");
    expect(agent.past).toEqual(["12s DEGRADED", "30s UNRESPONSIVE"]);
  });

  it("is judged within a second once another agent is heard while it stays silent", () => {
    const agent = story({ preset: "fleet", doubt: { peers: 5, peersHeardAt: dawn } });
    agent.beats();
    agent.silentFor("20s");
    agent.peersWereHeard();
    agent.silentFor("1s");
    expect(agent.past).toEqual(["12s DEGRADED", "21s UNRESPONSIVE"]);
  });

  it("a voice from before the second missed beat is no witness", () => {
    const early = story({ preset: "fleet", doubt: { peers: 2, peersHeardAt: dawn + ms("9.999s") } });
    early.beats();
    early.silentFor("17s");
    expect(early.state).toBe("DEGRADED");
    const witnessed = story({ preset: "fleet", doubt: { peers: 2, peersHeardAt: dawn + ms("10s") } });
    witnessed.beats();
    witnessed.silentFor("17s");
    expect(witnessed.state).toBe("UNRESPONSIVE");
  });

  it("needs peers: one agent, or two, are judged on their own", () => {
    const agent = story({ preset: "fleet", doubt: { peers: 1, peersHeardAt: null } });
    agent.beats();
    agent.silentFor("17s");
    expect(agent.state).toBe("UNRESPONSIVE");
  });
});

describe("lag stretches patience", () => {
  it("a monitor that runs 2 s late waits 2 s longer", () => {
    const agent = story({ preset: "fleet", doubt: { lag: ms("2s") } });
    agent.beats();
    agent.silentFor("1m");
    expect(agent.past).toEqual(["14s DEGRADED", "19s UNRESPONSIVE"]);
  });

  it("and judges again once it keeps time: lag is no excuse for ever", () => {
    const agent = story({ preset: "fleet", doubt: { lag: ms("2s") } });
    agent.beats();
    agent.silentFor("17s");
    expect(agent.state).toBe("DEGRADED");
    agent.monitorDoubts({ lag: 0 });
    expect(agent.state).toBe("UNRESPONSIVE");
  });
});

describe("an agent that says how often it is heard", () => {
  const nightly = { everySeconds: 86_400, graceSeconds: 1800, status: "IDLE" } as const;

  it("is told of after the first time that it is not, and no sooner", () => {
    const agent = story();
    agent.beats(nightly);
    agent.silentFor("23h");
    agent.beats(nightly);
    agent.silentFor("1d");
    expect(agent.past).toEqual([]);
    agent.silentFor("1799s");
    expect(agent.past).toEqual([]);
    agent.silentFor("1s");
    expect(agent.state).toBe("UNRESPONSIVE");
    expect(agent.did("raise-alert")).toMatchObject([
      { severity: "critical", summary: expect.stringContaining("not heard when it was due (every 24 h)") },
    ]);
    expect(agent.told("HEARTBEAT_MISSED")).toMatchObject([{ missed: 1 }]);
    agent.beats(nightly);
    expect(agent.state).toBe("HEALTHY");
    expect(agent.record.health.alert).toBeNull();
  });

  it("is waited for also after a run of it failed", () => {
    const agent = story();
    agent.beats({ ...nightly, status: "FAILED" });
    agent.silentFor("1471m");
    expect(agent.reason).toBe("missed-beats");
  });

  it("is as its policy has it again, when it says no more of it", () => {
    const agent = story();
    agent.beats(nightly);
    agent.silentFor("1h");
    agent.beats();
    agent.silentFor("17s");
    expect(agent.state).toBe("UNRESPONSIVE");
  });

  it("is judged by its rhythm although we were blind, unless that was when it was due", () => {
    const byDay = story();
    byDay.beats(nightly);
    byDay.silentFor("10h");
    byDay.monitorIsBlindFor("2h");
    byDay.silentFor("44999s");
    expect(byDay.past).toEqual([]);
    byDay.silentFor("1s");
    expect(byDay.state).toBe("UNRESPONSIVE");

    const atNight = story();
    atNight.beats(nightly);
    atNight.silentFor("1430m");
    atNight.monitorIsBlindFor("20m");
    atNight.silentFor("24h");
    expect(atNight.past).toEqual([]);
    atNight.silentFor("31m");
    expect(atNight.state).toBe("UNRESPONSIVE");
  });

  it("is not judged when we were blind within the grace before it was due", () => {
    const agent = story();
    agent.beats(nightly);
    agent.silentFor("1405m");
    agent.monitorIsBlindFor("10m");
    agent.silentFor("24h");
    expect(agent.past).toEqual([]);
  });

  it("and promises nothing is given time after every gap, however soon that came", () => {
    const agent = story();
    agent.beats();
    agent.monitorIsBlindFor("1s");
    agent.silentFor("16s");
    expect(agent.state).toBe("HEALTHY");
  });

  it("is waited for one more of its beats when nobody else was heard, where that is soon", () => {
    const agent = story({ doubt: { peers: 2, peersHeardAt: dawn } });
    agent.beats({ everySeconds: 60, graceSeconds: 10, status: "IDLE" });
    agent.silentFor("129s");
    expect(agent.finding("missed-beats")).toMatchObject({ restrainedBy: "unwitnessed" });
    agent.silentFor("1s");
    expect(agent.state).toBe("UNRESPONSIVE");
  });

  it("is not waited for another day once our own path is proven", () => {
    const agent = story();
    agent.beats(nightly);
    agent.silentFor("1465m");
    agent.monitorDoubts({ hold: { because: "mass-silence", since: agent.now, provenAt: agent.now } });
    agent.silentFor("40m");
    expect(agent.finding("missed-beats")).toMatchObject({ level: "degraded", restrainedBy: "mass-silence" });
    agent.silentFor("10m");
    expect(agent.state).toBe("UNRESPONSIVE");
  });

  it("is not waited for another day because nobody else was heard since", () => {
    const agent = story({ doubt: { peers: 2, peersHeardAt: dawn } });
    agent.beats(nightly);
    agent.silentFor("1471m");
    expect(agent.finding("missed-beats")).toMatchObject({ level: "degraded", restrainedBy: "unwitnessed" });
    agent.silentFor("15m");
    expect(agent.state).toBe("UNRESPONSIVE");
  });

  it("is not stopped for one beat, whatever its policy says of several", () => {
    const held = heldStory({ preset: "fleet", settings: { mode: "observe" } });
    const said = { everySeconds: 5, graceSeconds: 2, open: { kind: "model" } } as const;
    for (let i = 0; i < 8; i++) {
      held.agent.beats(said);
      held.passes("5s");
    }
    held.passes("60s");
    expect(held.agent.state).toBe("UNRESPONSIVE");
    const policy = keepPromise(held.agent.policy, { every: 5000, grace: 2000 });
    expect([...kindsOfEvidence(held.agent.record, { ...held.agent.context, policy })]).toEqual(["absence"]);
  });
});
