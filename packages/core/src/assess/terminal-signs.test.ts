import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

const prompt: Sight = { kind: "asks", what: "prompt", pattern: "p" };
const tool = (id: string, timeoutSeconds: number | null = null): Sight => ({
  kind: "tool-started",
  id,
  name: "shell",
  argsDigest: `of ${id}`,
  timeoutSeconds,
});
const result = (id: string): Sight => ({ kind: "tool-ended", id, failed: false, resultDigest: `of ${id}` });

const stepsOf = (n: number) =>
  [
    { kind: "tool_call", tool: "shell", id: `i${n}`, args_digest: `a${n}` },
    { kind: "tool_result", id: `i${n}`, text_digest: `r${n}`, text_class: `r${n}`, failed: false },
  ] as const;

describe("no output", () => {
  it("for fifteen minutes with quiet processes is STUCK, with the evidence, and somebody is told", () => {
    const held = heldStory();
    held.prints();
    held.passes("20m");
    expect(held.agent.past).toEqual(["900s STUCK"]);
    expect(held.agent.finding("no-output")).toMatchObject({
      level: "stuck",
      class: "absence",
      evidence: { allowedSeconds: 900, busy: "no" },
    });
    expect(held.agent.finding("no-output")?.text).toContain("its processes are quiet");
    expect(held.agent.eventTypes()).toContain("ALERT_RAISED");
    expect(held.agent.did("raise-alert")).toHaveLength(1);
  });

  it("is held against nobody before its holder was heard after a time nobody watched, however late that is", () => {
    const quick = { terminal: { idle_timeout_minutes: 0.25 } };
    const worked = heldStory({ settings: quick });
    worked.prints();
    worked.agent.monitorIsBlindFor("20s");
    worked.agent.silentFor("20s");
    // A report from before the output, kept while the monitor was away.
    worked.report([], {}, 25_000);
    expect(worked.agent.past).toEqual([]);
    worked.prints();
    expect(worked.agent.past).toEqual([]);
    const rested = heldStory({ settings: quick });
    rested.prints();
    rested.agent.monitorIsBlindFor("20s");
    rested.passes("20s");
    expect(rested.agent.state).toBe("STUCK");
  });

  it("counts after a whole TTL in which neither the holder nor its loss was heard: every doubt ends by itself", () => {
    const held = heldStory({ preset: "fleet" });
    held.prints();
    held.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    const failing = held.agent.state;
    held.agent.monitorIsBlindFor("20s");
    held.agent.beats({ sequenceNumber: 2 });
    expect(held.agent.state).toBe(failing);
    held.agent.silentFor("2m");
    expect(held.agent.finding("missed-beats")).toMatchObject({ level: "unresponsive" });
  });

  it("is not known of one whose holder stands still, whatever its owner's rule is", () => {
    const held = heldStory({ hold: { idleKillMs: 20_000 } });
    held.prints();
    held.passes("3s");
    held.prints();
    held.agent.silentFor("25s");
    expect(held.agent.past).toEqual([]);
    expect(held.agent.did("save-work")).toEqual([]);
  });

  it("that made it STUCK makes it so still when its holder is lost: nobody saw it get well", () => {
    const held = heldStory();
    held.prints();
    held.passes("16m");
    held.holderIsLost("alive");
    held.agent.silentFor("10m");
    expect(held.agent.past).toEqual(["900s STUCK"]);
    expect(held.agent.told("AGENT_RECOVERED")).toEqual([]);
  });

  it("of one whose holder is found gone after such a time is not waited for", () => {
    const held = heldStory();
    held.prints();
    held.agent.monitorIsBlindFor("20s");
    held.holderIsLost("gone");
    expect(held.agent.state).toBe("UNRESPONSIVE");
  });

  it("output again makes it HEALTHY and takes the alert back", () => {
    const held = heldStory();
    held.prints();
    held.passes("20m");
    held.prints();
    expect(held.agent.past).toEqual(["900s STUCK", "1200s HEALTHY"]);
    expect(held.agent.eventTypes()).toContain("ALERT_RESOLVED");
  });

  it("of a program that never wrote anything counts from the end of its startup", () => {
    const held = heldStory();
    held.passes("26m");
    expect(held.agent.past).toEqual(["1500s STUCK"]);
  });

  it("while its processes are at work is a warning, and a verdict only after ninety minutes", () => {
    const held = heldStory({ processes: "busy" });
    held.prints();
    held.passes("91m");
    expect(held.agent.past).toEqual(["900s DEGRADED", "5400s STUCK"]);
    expect(held.agent.finding("no-output")).toMatchObject({ confidence: 0.5, evidence: { busy: "yes" } });
  });

  it("is a verdict two minutes after the processes came to rest", () => {
    const held = heldStory({ processes: "busy" });
    held.prints();
    held.passes("30m");
    held.processesAre("quiet");
    held.passes("5m");
    expect(held.agent.past).toEqual(["900s DEGRADED", `${1800 + 120}s STUCK`]);
  });

  it("is never more than a warning while nobody can look at the processes", () => {
    const held = heldStory({ processes: "unknown" });
    held.prints();
    held.passes("5h");
    expect(held.agent.past).toEqual(["900s DEGRADED"]);
    expect(held.agent.finding("no-output")?.evidence["busy"]).toBe("unknown");
  });

  it("an old reading of the processes says nothing about now", () => {
    const held = heldStory();
    held.prints();
    held.passes("5m");
    held.processesAre("unknown");
    held.passes("2h");
    expect(held.agent.past).toEqual(["900s DEGRADED"]);
  });

  it("a spinner is no output: reports of life and bytes without a new line", () => {
    const held = heldStory();
    held.prints();
    for (let i = 0; i < 16; i++) {
      held.passes("1m");
      held.report([], { output: { bytes: 1000 * i, rows: 1, lastAt: held.agent.now } });
      held.shows({ kind: "output", rows: 0, novel: 0 });
    }
    expect(held.agent.past).toEqual(["900s STUCK"]);
  });

  it("the same lines again and again are output, if not progress", () => {
    const held = heldStory();
    for (let i = 0; i < 60; i++) {
      held.prints(0, 3);
      held.passes("1m");
    }
    expect(held.agent.past).toEqual([]);
  });

  it.each([
    ["checkpoints", (held: HeldStory, n: number) => held.agent.take({ kind: "checkpointed", checkpoint: `c${n}` })],
    ["steps", (held: HeldStory, n: number) => held.agent.take({ kind: "stepped", events: stepsOf(n) })],
    ["beats", (held: HeldStory, n: number) => held.agent.beats({ progressIndicator: `p${n}`, toolCallCount: n })],
  ])(
    "of one that tells of its work by %s is a warning, however quiet its processes: nobody is stopped for not printing",
    (_, tells) => {
      const held = heldStory({ taskId: "t1" });
      held.prints();
      for (let minute = 0; minute < 180; minute++) {
        held.passes("1m");
        tells(held, minute);
      }
      expect(held.agent.past).toEqual(["900s DEGRADED"]);
      expect(held.agent.finding("no-output")).toMatchObject({ level: "degraded", evidence: { goesOn: "yes" } });
      expect(held.agent.finding("no-output")?.text).toContain("other work goes on");
      expect(held.agent.did("stop-agent")).toEqual([]);
      // When that ends too, the agent stands still like any other.
      held.passes("15m");
      expect(held.agent.state).toBe("STUCK");
    },
  );

  it("of an unknown full-screen program at rest says nothing: vim may stay open all day", () => {
    const held = heldStory();
    held.prints();
    held.goesFullScreen();
    held.passes("10h");
    expect(held.agent.past).toEqual([]);
  });

  it("of a known program in full screen says as much as ever", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.prints();
    held.goesFullScreen();
    held.passes("16m");
    expect(held.agent.past).toEqual(["900s STUCK"]);
  });

  it("waiting for a person stops the clock for a day", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.prints();
    held.shows({ kind: "asks", what: "permission", pattern: "p" });
    held.passes("23h");
    expect(held.agent.past).toEqual([]);
    held.passes("80m");
    expect(held.agent.past).toEqual([`${(24 * 60 + 15) * 60}s STUCK`]);
  });

  it("a monitor that was blind charges nobody for it", () => {
    const held = heldStory();
    held.prints();
    held.passes("10m");
    held.agent.monitorIsBlindFor("30m");
    held.report([]);
    held.passes("4m");
    expect(held.agent.past).toEqual([]);
    held.passes("2m");
    expect(held.agent.past).toEqual(["2700s STUCK"]);
  });

  it("nor is anybody charged for the time a holder said nothing", () => {
    const held = heldStory({ preset: "fleet" });
    held.prints();
    held.passes("10m");
    held.agent.silentFor("30m");
    held.passes("4m");
    expect(held.agent.past).toEqual([]);
  });
});

describe("beats of a held agent", () => {
  it("are not owed by one that never sent one, however short the rhythm", () => {
    const held = heldStory({ preset: "fleet" });
    for (let i = 0; i < 20; i++) {
      held.prints();
      held.passes("5m");
    }
    expect(held.agent.past).toEqual([]);
  });

  it("that stop are judged as anybody's, although its process lives and its holder reports", () => {
    const held = heldStory({ preset: "fleet" });
    held.agent.beats();
    held.prints();
    held.passes("1m");
    expect(held.agent.state).toBe("UNRESPONSIVE");
    expect(held.agent.reason).toBe("missed-beats");
    held.agent.beats();
    expect(held.agent.state).toBe("HEALTHY");
  });

  it("a program that starts over in the same terminal is the same life, and its holder is still heard", () => {
    const held = heldStory({ preset: "fleet" });
    for (let sequenceNumber = 1; sequenceNumber < 200; sequenceNumber++) held.agent.beats({ sequenceNumber });
    for (let sequenceNumber = 1; sequenceNumber < 8; sequenceNumber++) {
      held.agent.silentFor("2s");
      held.agent.beats({ sequenceNumber });
    }
    held.agent.registers();
    expect(held.agent.record.life.incarnation).toBe(1);
    expect(held.agent.record.beats.lastSequence).toBe(7);
    expect(held.prints().reply?.status).toBe("accepted");
  });
});

describe("a turn that ended without the completion marker", () => {
  const withTask = () => heldStory({ taskId: "t1", hold: { family: "claude-code" } });

  it("is not held against one whose holder has not been heard since", () => {
    const held = withTask();
    held.prints();
    held.shows(prompt);
    held.agent.silentFor("15m");
    held.agent.beats();
    expect(held.agent.finding("completion-timeout")).toBeUndefined();
  });

  it("for ten minutes is STUCK; whom nobody can nudge and nobody answers for runs on, and is asked about again", () => {
    const held = withTask();
    held.prints();
    held.shows(prompt);
    held.passes("11m");
    expect(held.agent.past).toEqual(["600s STUCK"]);
    expect(held.agent.reason).toBe("completion-timeout");
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "no-way-to-nudge" }]);
    held.passes("14m");
    expect(held.agent.told("ESCALATION_TRIGGERED")).toHaveLength(2);
    expect(held.agent.did("save-work")).toEqual([]);
  });

  it("is judged by what its holder sees now, not by the first of what it saw while nobody heard it", () => {
    const held = withTask();
    held.prints();
    held.shows(prompt);
    held.agent.silentFor("15m");
    held.report([], {}, 200_000);
    expect(held.agent.past).toEqual([]);
    held.prints();
    held.passes("5m");
    expect(held.agent.past).toEqual([]);
  });

  it("in a stream counts the same", () => {
    const held = heldStory({ taskId: "t1", hold: { structured: true } });
    held.shows({ kind: "turn-ended", outcome: "success", reason: "end" });
    held.passes("11m");
    expect(held.agent.past).toEqual(["600s STUCK"]);
  });

  it("is over when the next turn begins", () => {
    const held = heldStory({ taskId: "t1", hold: { structured: true } });
    held.shows({ kind: "turn-ended", outcome: "success", reason: "end" });
    held.passes("9m");
    held.shows({ kind: "model-asked" });
    held.passes("9m");
    expect(held.agent.past).toEqual([]);
  });

  it.each<[string, (held: HeldStory) => void, HeldStory]>([
    ["without a task", () => {}, heldStory({ hold: { family: "claude-code" } })],
    ["in a person's own terminal", () => {}, heldStory({ taskId: "t1", hold: { foreground: true } })],
    [
      "nor when that person closed it",
      (held) => held.personAttaches(0),
      heldStory({ taskId: "t1", hold: { foreground: true } }),
    ],
    ["with a person attached", (held) => held.personAttaches(1), withTask()],
    [
      "when it asks for a permission",
      (held) => held.shows({ kind: "asks", what: "permission", pattern: "p" }),
      withTask(),
    ],
    ["when it asked for a permission and was answered", askedAndAnswered, withTask()],
    ["when its provider has put it off", putOff, withTask()],
  ])("is nobody's business %s", (_, happens, held) => {
    held.prints();
    held.shows(prompt);
    happens(held);
    held.passes("14m");
    expect(held.agent.finding("completion-timeout")).toBeUndefined();
    expect(held.agent.actions).toEqual([]);
  });

  function askedAndAnswered(held: HeldStory): void {
    held.shows({ kind: "asks", what: "permission", pattern: "p" });
    held.shows({ kind: "asks-no-more" });
  }

  function putOff(held: HeldStory): void {
    held.shows({ kind: "rate-limited", pattern: "limit", resetsInMs: 3_600_000 });
    held.shows(prompt);
  }

  it("because its program has to be logged in is a question to its person, and nothing is owed", () => {
    const held = withTask();
    held.shows({ kind: "asks", what: "login", pattern: "p" });
    held.shows({ kind: "turn-ended", outcome: "failure", reason: "authentication_failed" });
    held.passes("40m");
    expect(held.agent.finding("completion-timeout")).toBeUndefined();
  });

  it("is no matter while it goes on writing, whatever its prompt looks like", () => {
    const held = withTask();
    held.shows(prompt);
    for (let i = 0; i < 30; i++) {
      held.passes("1m");
      held.prints();
    }
    expect(held.agent.past).toEqual([]);
  });

  it("with the marker it has finished, and nothing is asked of it any more", () => {
    const held = withTask();
    held.prints();
    held.shows({ kind: "completed", pattern: "marker" }, prompt);
    expect(held.agent.eventTypes().filter((type) => type === "AGENT_FINISHED")).toHaveLength(1);
    expect(held.agent.eventTypes()).not.toContain("AGENT_NEEDS_YOU");
    held.prints(2);
    held.passes("10h");
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(held.agent.past).toEqual([]);
  });

  it("a marker it only quoted does not count: it goes on talking", () => {
    const held = withTask();
    held.shows({ kind: "completed", pattern: "marker" });
    held.prints(10);
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
    held.shows(prompt);
    held.passes("11m");
    expect(held.agent.reason).toBe("completion-timeout");
  });

  it("a stream that ends its turn after the marker has finished", () => {
    const held = heldStory({ taskId: "t1", hold: { structured: true } });
    held.shows({ kind: "completed", pattern: "marker" }, { kind: "turn-ended", outcome: "success", reason: "end" });
    held.passes("2h");
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(held.agent.past).toEqual([]);
  });
});

describe("the context limit", () => {
  const limit: Sight = { kind: "context-limit", pattern: "context" };

  it("with nothing new for ten minutes is STUCK", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.prints();
    held.shows(limit);
    held.passes("11m");
    expect(held.agent.past).toEqual(["0s DEGRADED", "600s STUCK"]);
  });

  it("is a warning at most of a program that is not known: a line that speaks of one may be about anything", () => {
    const held = heldStory();
    held.prints();
    held.shows(limit);
    held.passes("14m");
    expect(held.agent.past).toEqual(["0s DEGRADED"]);
  });

  it("is behind it once it wrote on for five minutes, until it runs into it again", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.prints();
    held.shows(limit);
    for (let i = 0; i < 30; i++) {
      held.passes("1m");
      held.prints();
    }
    expect(held.agent.past).toEqual(["0s DEGRADED", "300s HEALTHY"]);
    held.shows(limit);
    held.passes("11m");
    expect(held.agent.state).toBe("STUCK");
  });

  it("of a session that waits for its person is a warning at most", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.prints();
    held.shows(limit, prompt);
    held.passes("3h");
    expect(held.agent.past).toEqual(["0s DEGRADED"]);
  });
});

describe("a structured stream", () => {
  const stream = (processes: "quiet" | "busy" = "quiet") => heldStory({ processes, hold: { structured: true } });

  it("an open tool stops the clock for ten minutes", () => {
    const held = stream();
    held.shows(tool("t1"));
    held.passes("26m");
    expect(held.agent.past[0]).toBe("1200s DEGRADED");
    expect(held.agent.past).toContain("1500s STUCK");
  });

  it("or for as long as it declared, and a minute more", () => {
    const held = stream();
    held.processesShow({ network: null });
    held.shows(tool("t1", 1800));
    held.passes("40m");
    expect(held.agent.past).toEqual([]);
    held.passes("8m");
    expect(held.agent.past).toContain(`${31 * 60 + 900}s STUCK`);
  });

  it("work in its processes extends it, for as long as children may be waited for", () => {
    const held = stream("busy");
    held.shows(tool("t1"));
    held.passes("89m");
    expect(held.agent.past).toEqual([]);
    held.passes("60m");
    expect(held.agent.past[0]).toBe(`${(90 + 10) * 60}s DEGRADED`);
  });

  it("that has come to rest extends it no more", () => {
    const held = stream("busy");
    held.shows(tool("t1"));
    held.passes("30m");
    held.processesAre("quiet");
    held.passes("26m");
    expect(held.agent.past).toContain(`${(30 + 10 + 15) * 60}s STUCK`);
  });

  it("tool calls and their results are output and progress: a long run without a word is well", () => {
    const held = stream();
    for (let i = 0; i < 60; i++) {
      held.shows(tool(`t${i}`));
      held.passes("1m");
      held.shows(result(`t${i}`));
      held.passes("1m");
    }
    expect(held.agent.past).toEqual([]);
  });

  it("after the last result it is the model's turn, and the clock runs", () => {
    const held = stream();
    held.shows(tool("t1"), tool("t2"));
    held.passes("1m");
    held.shows(result("t1"));
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: { kind: "tool" } });
    held.shows(result("t2"));
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: { kind: "model" } });
    held.passes("16m");
    expect(held.agent.past).toEqual(["660s DEGRADED", "960s STUCK"]);
  });

  it("tokens without a new fact are a warning somebody hears of, and never more", () => {
    const held = stream("busy");
    held.shows({ kind: "said", digest: "hello" }, { kind: "tokens", total: 1000 });
    for (let i = 1; i < 25; i++) {
      held.passes("1m");
      held.shows({ kind: "model-asked" }, { kind: "tokens", total: 1000 + 9000 * i });
    }
    expect(held.agent.past).toEqual(["600s DEGRADED"]);
    expect(held.agent.finding("token-burn")).toMatchObject({ level: "degraded" });
    expect(held.agent.record.health.alert?.cause).toBe("token-burn");
    expect(held.agent.actions).toEqual([expect.objectContaining({ kind: "raise-alert", severity: "warning" })]);
  });

  it("the warning ends by itself when no more tokens are spent", () => {
    const held = stream("busy");
    held.shows({ kind: "said", digest: "hello" }, { kind: "tokens", total: 1000 });
    for (let i = 1; i < 12; i++) {
      held.passes("1m");
      held.shows({ kind: "said", digest: "hello" }, { kind: "tokens", total: 1000 + 9000 * i });
    }
    held.passes("590s");
    expect(held.agent.finding("token-burn")).toBeDefined();
    held.agent.silentFor("10s");
    expect(held.agent.finding("token-burn")).toBeUndefined();
  });

  it("tokens with new facts are work", () => {
    const held = stream();
    for (let i = 1; i < 60; i++) {
      held.passes("1m");
      held.shows({ kind: "said", digest: `${i}` }, { kind: "tokens", total: 9000 * i });
    }
    expect(held.agent.finding("token-burn")).toBeUndefined();
  });
});

it("the same file twelve times in a row is only ever shown", () => {
  const held = heldStory();
  for (let i = 0; i < 12; i++) held.shows({ kind: "file-touched", digest: "f" });
  expect(held.agent.finding("spinning-on-file")).toMatchObject({ level: "note", confidence: 0.3 });
  expect(held.agent.past).toEqual([]);
  held.shows({ kind: "file-touched", digest: "g" });
  expect(held.agent.finding("spinning-on-file")).toBeUndefined();
});

describe("compactions", () => {
  const compacted = { kind: "compacts", over: true } as const;

  it("are ordinary when work goes on between them", () => {
    const held = heldStory({ hold: { structured: true, family: "claude-code" } });
    for (let i = 0; i < 6; i++) {
      held.prints(5);
      held.shows(compacted);
      held.passes("1m");
    }
    expect(held.agent.finding("context-exhausted")).toBeUndefined();
  });

  it("with nothing new in between are a warning from the third on, until something is", () => {
    const held = heldStory({ hold: { structured: true, family: "claude-code" } });
    held.prints(5);
    for (let i = 0; i < 2; i++) held.shows(compacted);
    expect(held.agent.finding("context-exhausted")).toBeUndefined();
    held.shows(compacted);
    expect(held.agent.finding("context-exhausted")).toMatchObject({ level: "degraded", evidence: { compactions: 3 } });
    held.prints(5);
    expect(held.agent.finding("context-exhausted")).toBeUndefined();
  });
});
