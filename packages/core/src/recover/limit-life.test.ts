import type { ExitStatus, LimitResume, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { heldByLimit, limitSeenToAt } from "../limit.ts";
import { readRecord } from "../read-record.ts";
import { ms } from "../story.test-support.ts";
import { fateOfWork } from "./fate-of-work.ts";
import { isGoneForGood } from "./how-over.ts";

const claude: HeldGiven["hold"] = { family: "claude-code", input: "terminal" };
const stream: HeldGiven["hold"] = { family: "claude-code", structured: true, input: "stdin" };

const hit = (resets: string | null, more: Partial<Extract<Sight, { kind: "rate-limited" }>> = {}): Sight => ({
  kind: "rate-limited",
  pattern: "rate_limit_event",
  resetsInMs: resets === null ? null : ms(resets),
  by: "stream",
  what: "usage",
  ...more,
});

const resumes = (after_exit: LimitResume, in_terminal: LimitResume): NonNullable<HeldGiven["settings"]> => ({
  intervention: { limit_resume: { after_exit, in_terminal } },
});

const told = ({ agent }: HeldStory, type: string) => agent.events.filter((event) => event.type === type);

/** Every action and question about the agent. */
const done = ({ agent }: HeldStory): string[] =>
  agent.actions.map(({ kind }) => kind).filter((kind) => kind !== "resolve-alert");

/** Seconds after `since` at which the first action of this kind was decided, looked at every second. */
function decidedAfter(held: HeldStory, kind: string, within: string): number | null {
  const from = held.agent.now;
  while (held.agent.now < from + ms(within)) {
    held.passes("1s");
    if (held.agent.actions.some((action) => action.kind === kind)) return (held.agent.now - from) / 1000;
  }
  return null;
}

describe("an agent at its usage limit", () => {
  it("that runs into it again has not gone on: the limit is told once more, whatever else was drawn with it", () => {
    const held = heldStory({ hold: claude });
    held.prints(9);
    const words = { by: "text", continues: true, pattern: "claude-limit-continues" } as const;
    held.shows(hit("1h", words));
    held.passes("1h");
    held.passes("2s");
    held.shows({ kind: "output", rows: 9, novel: 9 }, hit("3h", words));
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
    expect(told(held, "LIMIT_REACHED")).toMatchObject([
      { payload: { resetsInSeconds: 3600 } },
      { payload: { resetsInSeconds: 10_800 } },
    ]);
    held.passes("3h");
    held.prints(9);
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on" } }]);
  });

  it("that names the minute is waited for to its end, though everything is drawn anew in it", () => {
    const held = heldStory({ hold: claude });
    held.prints(9);
    held.shows(hit("1h", { by: "text", continues: true, withinMs: ms("1m") }));
    held.passes("1h");
    held.passes("15s");
    held.prints(40);
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
    held.passes("50s");
    held.prints(9);
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on" } }]);
  });

  it("of which a person was told wants nothing of them any more when it runs into the next", () => {
    const held = heldStory({ hold: claude, ...{ settings: resumes("auto", "ask") } });
    held.shows(hit("1h", { by: "text" }));
    held.passes("70m");
    expect(held.agent.record.seen.terminal?.asks?.what).toBe("limit");
    held.shows(hit("15m", { by: "text", what: "rate" }));
    expect(told(held, "AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
    held.passes("20m");
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "time-up" } }]);
    expect(held.agent.record.seen.terminal?.asks).toBeNull();
    held.passes("3h");
    expect(held.agent.record.ladder.incident).not.toBeNull();
  });

  it("waits for its provider whatever is drawn: footers, a prompt, a tip, everything anew, an unknown busy line", () => {
    const held = heldStory({ hold: claude, taskId: "t-1" });
    held.prints(9);
    held.shows(hit("4h", { by: "text", continues: true, pattern: "claude-limit-hit" }));
    const until = held.agent.record.seen.limit?.until;
    held.prints(6);
    held.shows({ kind: "asks", what: "prompt", pattern: "p" });
    held.passes("8s");
    held.shows({ kind: "asks-no-more" });
    held.prints(1);
    held.passes("30s");
    held.prints(40);
    for (let i = 0; i < 3; i++) {
      held.passes("8s");
      held.prints(1);
    }
    held.passes("3h");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider", until });
    expect(held.agent.past).toEqual([]);
    expect(done(held)).toEqual([]);
    expect(told(held, "LIMIT_REACHED")).toHaveLength(1);
  });

  it("is asked nothing, told nothing and not stopped before it is over, however ill it seems", () => {
    const held = heldStory({ hold: stream, taskId: "t-1" });
    for (let i = 0; i < 12; i++)
      held.shows(
        { kind: "tool-started", id: `t${i}`, name: "sh", argsDigest: "same", timeoutSeconds: null },
        { kind: "tool-ended", id: `t${i}`, failed: true, resultDigest: "same" },
        ...(i === 3 ? [hit("3h")] : []),
      );
    expect(held.agent.state).toBe("STUCK");
    held.passes("3h");
    expect(told(held, "INCIDENT_OPENED")).toEqual([]);
    expect(done(held).filter((kind) => kind !== "raise-alert")).toEqual([]);
    held.passes("10m");
    expect(done(held)).toContain("nudge-agent");
  });

  it("is stopped before it is over when somebody who was asked decides so", () => {
    const held = heldStory({ hold: { ...stream, input: "none" }, taskId: "t-1" });
    for (let i = 0; i < 12; i++)
      held.shows(
        { kind: "tool-started", id: `t${i}`, name: "sh", argsDigest: "same", timeoutSeconds: null },
        { kind: "tool-ended", id: `t${i}`, failed: true, resultDigest: "same" },
      );
    expect(told(held, "ESCALATION_TRIGGERED")).toHaveLength(1);
    held.shows(hit("3h"));
    held.agent.decides("terminate_and_recover");
    expect(done(held)).toContain("save-work");
  });

  it("is brought back from its checkpoint when it is over, and not merely started again, when somebody had it stopped", () => {
    const held = heldStory({ hold: { ...stream, input: "none" }, taskId: "t-1", obedient: true });
    for (let i = 0; i < 12; i++)
      held.shows(
        { kind: "tool-started", id: `t${i}`, name: "sh", argsDigest: "same", timeoutSeconds: null },
        { kind: "tool-ended", id: `t${i}`, failed: true, resultDigest: "same" },
      );
    held.shows(hit("3h"));
    held.agent.decides("terminate_and_recover");
    held.passes("3h");
    expect(told(held, "RESTART_ORDERED")).toEqual([]);
    held.passes("2m");
    expect(told(held, "RESTART_ORDERED")).toMatchObject([{ payload: { because: "recovery" } }]);
  });

  it("has its limit in its next life, too, and after a restart of the monitor", () => {
    const held = heldStory({ hold: claude });
    held.shows(hit("4h"));
    held.exits({ code: 1 });
    held.startsAgain();
    held.prints(3);
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider" });
    expect(readRecord(JSON.stringify(held.agent.record)).seen.limit).toEqual(held.agent.record.seen.limit);
  });

  it("leaves it to nobody who starts something else under its name in their own terminal", () => {
    const held = heldStory({ hold: { ...claude, foreground: true } });
    held.shows(hit("4h"));
    held.exits({ code: 0, cause: "person" });
    held.startsAgain();
    held.prints(3);
    expect(held.agent.record.seen.limit).toBeNull();
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
  });

  it.each([
    ["text", { signal: "SIGSEGV" }, "UNRESPONSIVE"],
    ["text", { code: 139 }, "UNRESPONSIVE"],
    ["text", { code: 1 }, "HEALTHY"],
    ["stream", { signal: "SIGKILL" }, "UNRESPONSIVE"],
    ["stream", { code: 1 }, "HEALTHY"],
  ] as const)("told by its %s and ended by %j is %s: a limit does not explain a crash", (by, exit, state) => {
    const held = heldStory({ settings: resumes("auto", "ask") });
    held.shows(hit("6h", { by }));
    held.passes("3s");
    held.exits(exit);
    expect(held.agent.state).toBe(state);
    held.passes("1m");
    expect(done(held)).toEqual(state === "HEALTHY" ? [] : ["raise-alert"]);
  });

  it.each<[string, Sight[]]>([
    ["it says something", [{ kind: "said", digest: "on" }]],
    ["it calls a tool", [{ kind: "tool-started", id: "x", name: "sh", argsDigest: "a", timeoutSeconds: null }]],
    ["its turn ends well", [{ kind: "turn-ended", outcome: "success", reason: "end" }]],
  ])("is past it when %s, and not with what was still on its way", (_, sights) => {
    const held = heldStory({ hold: stream });
    held.shows(hit("4h"));
    held.shows(...sights);
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
    held.passes("10m");
    held.shows(...sights);
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on", waitedSeconds: 600 } }]);
    expect(held.agent.record.work.activity).not.toMatchObject({ for: "provider" });
  });

  it("is past it when its beats show new work, not when they say that it runs", () => {
    const held = heldStory({ hold: claude });
    held.agent.beats({ status: "RUNNING", toolCallCount: 4 });
    held.shows(hit("4h"));
    held.passes("5m");
    held.agent.beats({ status: "RUNNING", toolCallCount: 4 });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider" });
    held.agent.beats({ status: "RUNNING", toolCallCount: 5, progressIndicator: "on" });
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
    expect(told(held, "LIMIT_RESUMED")).toHaveLength(1);
  });

  it("keeps the second that its stream named: words and tries without a reset change nothing", () => {
    const held = heldStory({ hold: stream });
    held.shows(hit("4h"));
    const { until } = held.agent.record.seen.limit ?? {};
    held.shows(hit(null, { what: "rate" }), hit("5h", { by: "text" }));
    expect(held.agent.record.seen.limit).toMatchObject({ until, what: "usage", by: "stream" });
    expect(told(held, "LIMIT_REACHED")).toHaveLength(1);
  });
});

describe("of a limit that stands", () => {
  const until = ({ agent }: HeldStory): number | undefined => agent.record.seen.limit?.until;

  it("words that name a reset are taken where the stream named none", () => {
    const held = heldStory({ hold: stream });
    held.shows(hit(null), hit("2h", { by: "text" }));
    expect(held.agent.record.seen.limit).toMatchObject({ named: true });
    held.passes("1h");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider" });
  });

  it("words that name an earlier reset take nothing back: of two quotas the later one counts", () => {
    const held = heldStory({ hold: claude });
    held.shows(hit("5h", { by: "text", pattern: "weekly-limit-hit" }));
    const before = until(held);
    held.shows(hit("1h", { by: "text", what: "rate", pattern: "slow-down" }));
    expect(held.agent.record.seen.limit).toMatchObject({ until: before, what: "usage", pattern: "weekly-limit-hit" });
  });

  it("the stream knows better than words, whether it names a later reset or an earlier one", () => {
    for (const known of ["1h", "4h"]) {
      const held = heldStory({ hold: stream });
      held.shows(hit("2h", { by: "text" }), hit(known));
      expect(until(held)).toBe(held.agent.now + ms(known) + 5000);
    }
  });

  it.each([
    [true, false],
    [false, true],
  ])("that the program goes on by itself is known whenever it said so: first %s, then %s", (first, then) => {
    const held = heldStory({ hold: claude });
    const words = (continues: boolean) => hit("1h", { by: "text", continues });
    held.shows(words(first), { kind: "asks", what: "prompt", pattern: "p" });
    held.passes("10s");
    held.shows(words(then));
    held.passes("63m");
    expect(told(held, "AGENT_NEEDS_YOU")).toEqual([]);
    held.passes("4m");
    expect(told(held, "AGENT_NEEDS_YOU")).toHaveLength(1);
  });

  it("a screen that is drawn anew right after it, or piece by piece in a moment, is no work", () => {
    const after = heldStory({ hold: claude });
    after.shows(hit("4h", { by: "text" }));
    for (let i = 0; i < 5; i++) {
      after.passes("5s");
      after.prints(4);
    }
    expect(told(after, "LIMIT_RESUMED")).toEqual([]);
    const pieces = heldStory({ hold: claude });
    pieces.shows(hit("4h", { by: "text" }));
    pieces.passes("1m");
    for (let i = 0; i < 10; i++) pieces.prints(4);
    expect(told(pieces, "LIMIT_RESUMED")).toEqual([]);
  });
});

describe("an agent at its limit that beats", () => {
  it("is not past it by what moved since a beat that came before the limit: that may have been before it", () => {
    const held = heldStory({ hold: claude });
    held.agent.beats({ progressIndicator: "step 1" });
    held.passes("4m");
    held.shows(hit("2h"));
    held.passes("30s");
    held.agent.beats({ progressIndicator: "step 2", status: "RUNNING" });
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider" });
    held.passes("5m");
    held.agent.beats({ progressIndicator: "step 3", status: "RUNNING" });
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on" } }]);
  });

  it("is not past it by the first steps of a life that somebody began before it was over: the model was not asked yet", () => {
    const held = heldStory({ hold: claude });
    held.shows(hit("2h"));
    held.exits({ code: 1 });
    held.passes("10m");
    held.startsAgain();
    held.agent.beats({ progressIndicator: "step 1", status: "RUNNING" });
    held.passes("20s");
    held.agent.beats({ progressIndicator: "step 2", status: "RUNNING" });
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
    expect(heldByLimit(held.agent.record)).not.toBeNull();
    held.passes("1m");
    held.agent.beats({ progressIndicator: "step 3", status: "RUNNING" });
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on" } }]);
  });

  it("is not past it by what its beats that were lost had told, as long as it says that it waits", () => {
    const held = heldStory({ hold: claude });
    held.agent.beats({ progressIndicator: "step 1" });
    held.passes("1m");
    held.shows(hit("2h"));
    held.passes("5m");
    for (const progressIndicator of ["step 8", "step 9"]) {
      held.agent.beats({ progressIndicator, status: "WAITING", waitingFor: "provider" });
      expect(told(held, "LIMIT_RESUMED")).toEqual([]);
      held.passes("5m");
    }
    held.agent.beats({ progressIndicator: "step 10", status: "RUNNING" });
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on" } }]);
  });
});

describe("an agent whose process ended at its limit", () => {
  it("is nobody's question any more, and is started again when it is over", () => {
    const held = heldStory({ hold: { input: "none" }, taskId: "t-1" });
    held.prints();
    held.passes("40m");
    expect(held.agent.record.ladder.incident?.stage.kind).toBe("escalated");
    held.report([hit("3h")], { exit: { code: 1, signal: null, cause: "by-itself" } });
    expect(held.agent.record.ladder.incident).toBeNull();
    held.passes("3h");
    expect(told(held, "RESTART_ORDERED")).toEqual([]);
    held.passes("2m");
    expect(told(held, "RESTART_ORDERED")).toMatchObject([{ payload: { because: "limit-over" } }]);
  });

  it("is somebody's question when they ask about it after its end, until it is back", () => {
    const held = heldStory({ hold: stream, obedient: true });
    held.shows(hit("1h"));
    held.exits({ code: 1 });
    held.passes("1s");
    held.agent.isEscalatedBy("ada");
    held.passes("5m");
    expect(held.agent.record.ladder.incident?.stage).toMatchObject({
      kind: "escalated",
      escalation: { reason: "ordered" },
    });
    held.passes("57m");
    held.startsAgain();
    expect(held.agent.record.ladder.incident).toBeNull();
  });

  it("is started again within a minute of the reset, not before, and is nobody's matter meanwhile", () => {
    const held = heldStory({ hold: stream, taskId: "t-1", obedient: true });
    held.shows(hit("2h"));
    held.exits({ code: 1 });
    held.passes("2h");
    expect(done(held)).toEqual([]);
    expect(held.agent.past).toEqual([]);
    const after = decidedAfter(held, "restart-agent", "2m");
    expect(after).toBeGreaterThan(0);
    expect(after).toBeLessThanOrEqual(60);
    expect(told(held, "RESTART_ORDERED")).toMatchObject([{ payload: { because: "limit-over", attempt: 1 } }]);
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "started-again" } }]);
    expect(held.agent.did("restart-agent")).toMatchObject([{ reason: "its provider's limit is over" }]);
    expect(told(held, "INCIDENT_OPENED")).toEqual([]);
    // The restart budget is untouched.
    expect(held.agent.record.recovery.restarts).toEqual([]);
  });

  /** Like Gemini CLI: it retries by itself, says so, and gives up after we have stopped waiting. */
  function givesUp(
    hold: NonNullable<HeldGiven["hold"]>,
    after: readonly Sight[],
    exit: Partial<ExitStatus> = {},
    by: "text" | "stream" = "text",
  ) {
    const held = heldStory({ hold, obedient: true });
    const refused = hit(null, { by, what: "rate", pattern: "attempt-429" });
    held.shows({ kind: "output", rows: 9, novel: 9 }, refused);
    held.passes("50s");
    held.shows({ kind: "output", rows: 9, novel: 1 }, refused);
    held.passes("50s");
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "time-up" } }]);
    held.shows(...after);
    held.passes("20s");
    held.report([{ kind: "output", rows: 30, novel: 20 }], {
      exit: { code: 1, signal: null, cause: "by-itself", ...exit },
    });
    held.passes("1s");
    return held;
  }
  const gemini: NonNullable<HeldGiven["hold"]> = { family: "gemini-cli", input: "none" };
  const crashes = (held: HeldStory): number => held.agent.record.recovery.restarts.length;

  it("after its time was up, with the provider's refusal as its last word, waits twice as long and has not crashed", () => {
    const held = givesUp(gemini, []);
    expect(told(held, "LIMIT_REACHED")).toHaveLength(2);
    expect([told(held, "INCIDENT_OPENED"), told(held, "RESTART_ORDERED"), held.agent.past]).toEqual([[], [], []]);
    held.passes("119s");
    expect(told(held, "RESTART_ORDERED")).toEqual([]);
    held.passes("45s");
    expect(told(held, "RESTART_ORDERED")).toMatchObject([{ payload: { because: "limit-over" } }]);
    expect(crashes(held)).toBe(0);
  });

  it.each([
    ["it spoke after it", gemini, [{ kind: "said", digest: "d" }]],
    [
      "it called a tool after it",
      gemini,
      [{ kind: "tool-started", id: "t", name: "sh", argsDigest: "a", timeoutSeconds: null }],
    ],
    ["it made room after it", gemini, [{ kind: "compacts", over: true }]],
    ["its turn ended well after it", gemini, [{ kind: "turn-ended", outcome: "success", reason: "r" }]],
    ["a tool answered after it", gemini, [{ kind: "tool-ended", id: "t", failed: false, resultDigest: "r" }]],
    ["it wrote on after it", gemini, [{ kind: "output", rows: 5, novel: 5 }]],
    ["nobody knows the program whose words they were", { input: "none" }, []],
  ] as const)("has crashed like any other when %s", (_, hold, after) => {
    expect(crashes(givesUp(hold, after as readonly Sight[]))).toBe(1);
  });

  it("has crashed like any other when it was killed, whatever its last word was", () => {
    expect(crashes(givesUp(gemini, [], { code: 139 }))).toBe(1);
    expect(crashes(givesUp(gemini, [], {}, "stream"))).toBe(0);
  });

  it("has run into no limit again when somebody stopped it, whatever its last word was", () => {
    expect(told(givesUp(gemini, [], { cause: "stopped" }), "LIMIT_REACHED")).toHaveLength(1);
  });

  const toMinute = { by: "text", withinMs: 60_000 } as const;
  it.each([
    ["a field, that is not before the margin of 5 s", {}, 5, 46],
    ["words to the second, the same", { by: "text", withinMs: 0 } as const, 5, 46],
    ["words to the minute, that is not before its end, and soon after", toMinute, 60, 76],
    ["words of its own program to the minute, the same", { ...toMinute, by: "stream" } as const, 60, 76],
    ["words whose exactness nobody knows, not before the margin for words", { by: "text" } as const, 60, 101],
  ])("is started again when its reset is named by %s", (_, more, from, to) => {
    const after: number[] = [];
    for (const delay of ["0s", "3s", "7s", "11s", "20s", "40s"]) {
      const held = heldStory({ hold: stream });
      held.passes(delay);
      held.shows(hit("20m", more));
      held.exits({ code: 1 });
      held.passes("20m");
      after.push(decidedAfter(held, "restart-agent", "3m") ?? Number.POSITIVE_INFINITY);
    }
    expect(Math.min(...after)).toBeGreaterThanOrEqual(from);
    expect(Math.max(...after)).toBeLessThanOrEqual(to);
    expect(new Set(after).size).toBeGreaterThan(2);
  });

  it("goes on one by one with the others of its fleet", () => {
    const { agent, shows } = heldStory({ hold: stream });
    shows(hit("1h"));
    const moments = ["a", "b", "c", "d", "e"].map((agentId) => heldByLimit({ ...agent.record, agentId }));
    expect(new Set(moments).size).toBe(5);
  });

  it("waits for the next reset when it runs into the limit again, and is a person's after eight times", () => {
    const held = heldStory({ hold: stream, obedient: true });
    for (let i = 0; i < 9; i++) {
      held.shows(hit("20m"));
      held.exits({ code: 1 });
      held.passes("22m");
    }
    expect(told(held, "RESTART_ORDERED")).toHaveLength(8);
    expect(told(held, "RESTART_ORDERED").at(-1)).toMatchObject({ payload: { key: "worker-1/8/limit/8" } });
    expect(told(held, "INCIDENT_CLOSED")).toMatchObject([
      { payload: { ending: "handed-to-a-person", because: "at-its-limit" } },
    ]);
  });

  it("without a reset is tried after one minute, two, four, up to an hour", () => {
    const held = heldStory({ hold: stream, obedient: true });
    const waits: number[] = [];
    for (let i = 0; i < 5; i++) {
      held.shows(hit(null, { what: "overloaded" }));
      waits.push(((held.agent.record.seen.limit?.until ?? 0) - held.agent.now) / 60_000);
      held.exits({ code: 1 });
      held.passes(`${(waits[i] ?? 0) + 1}m`);
    }
    expect(waits).toEqual([1, 2, 4, 8, 16]);
    expect(told(held, "RESTART_ORDERED")).toHaveLength(5);
  });

  it("is not asked about twice when whoever was asked wants it to wait", () => {
    const held = heldStory({ hold: stream, settings: resumes("ask", "ask") });
    held.shows(hit("2h"));
    held.exits({ code: 1 });
    held.passes("121m");
    held.agent.decides("allow_more_time", { more: "10m" });
    held.passes("9m");
    expect(done(held)).not.toContain("restart-agent");
    held.passes("2m");
    expect(told(held, "ESCALATION_TRIGGERED")).toHaveLength(1);
    expect(done(held)).toContain("restart-agent");
  });

  it("is started when somebody wants it back although it ran into the limit too often", () => {
    const held = heldStory({ hold: stream, obedient: true });
    for (let i = 0; i < 9; i++) {
      held.shows(hit("20m"));
      held.exits({ code: 1 });
      held.passes("22m");
    }
    const before = held.agent.did("restart-agent").length;
    held.agent.isEscalatedBy("operator");
    held.agent.decides("terminate_and_recover");
    expect(held.agent.did("restart-agent")).toHaveLength(before + 1);
  });

  it("is not looked at all the time while it is started, nor when that failed", () => {
    const held = heldStory({ hold: stream });
    held.shows(hit("20m"));
    held.exits({ code: 1 });
    held.passes("21m");
    const [order] = held.agent.did("restart-agent");
    const looksIn = (duration: string): number => {
      const before = held.agent.looks;
      held.agent.silentFor(duration);
      return held.agent.looks - before;
    };
    expect(looksIn("30s")).toBeLessThan(10);
    held.handsAnswer(order?.key ?? "", { kind: "not-restarted", problem: "no such folder" });
    held.agent.silentFor("1s");
    expect(held.agent.state).toBe("UNRESPONSIVE");
    expect(looksIn("30s")).toBeLessThan(10);
  });

  it("begins anew to count once it has worked for half an hour", () => {
    const held = heldStory({ hold: stream, obedient: true });
    held.shows(hit("20m"));
    held.exits({ code: 1 });
    held.passes("22m");
    held.passes("40m");
    held.shows(hit("20m"));
    expect(held.agent.record.seen.limit).toMatchObject({ attempts: 0 });
  });

  it("is asked about when its policy says ask, and left to a person when it says off, after the limit and not before", () => {
    const asked = heldStory({ hold: stream, settings: resumes("ask", "ask") });
    asked.shows(hit("2h"));
    asked.exits({ code: 1 });
    asked.passes("2h");
    expect(done(asked)).toEqual([]);
    asked.passes("1m");
    expect(told(asked, "ESCALATION_TRIGGERED")).toMatchObject([{ payload: { reason: "limit-over" } }]);
    asked.passes("5m");
    expect(done(asked)).not.toContain("restart-agent");
    asked.agent.decides("terminate_and_recover");
    expect(told(asked, "RESTART_ORDERED")).toMatchObject([{ payload: { because: "process-exited", attempt: 1 } }]);
    const off = heldStory({ hold: stream, settings: resumes("off", "off") });
    off.shows(hit("2h"));
    off.exits({ code: 1 });
    off.passes("3h");
    expect(told(off, "INCIDENT_CLOSED")).toMatchObject([{ payload: { because: "at-its-limit" } }]);
    expect(done(off)).not.toContain("restart-agent");
  });

  it("that cannot be started is a matter like any other", () => {
    const held = heldStory({ hold: stream });
    held.shows(hit("1h"));
    held.exits({ code: 1 });
    held.passes("62m");
    const order = held.agent.actions.find(({ kind }) => kind === "restart-agent");
    held.handsAnswer(order?.key ?? "", { kind: "not-restarted", problem: "no such folder" });
    held.passes("2s");
    expect(held.agent.state).toBe("UNRESPONSIVE");
    expect(told(held, "INCIDENT_OPENED")).toHaveLength(1);
  });

  it("is started again, too, when it ended after a person was told that its limit is over", () => {
    const held = heldStory({ hold: claude, obedient: true });
    held.shows(hit("1h"), { kind: "asks", what: "prompt", pattern: "p" });
    held.passes("70m");
    expect(told(held, "AGENT_NEEDS_YOU")).toHaveLength(1);
    held.exits({ code: 1 });
    held.passes("1s");
    expect(told(held, "RESTART_ORDERED")).toMatchObject([{ payload: { because: "limit-over" } }]);
  });

  it("is nobody's matter while it is being started again", () => {
    const held = heldStory({ hold: stream, taskId: "t-1" });
    held.shows(hit("1h"));
    held.exits({ code: 1 });
    held.passes("62m");
    expect(done(held)).toEqual(["restart-agent"]);
    held.passes("20s");
    expect(held.agent.past).toEqual([]);
    expect(told(held, "INCIDENT_OPENED")).toEqual([]);
  });

  it("is nobody's matter while it is started by a person's order, and is one when that failed", () => {
    const held = heldStory();
    held.shows(hit("4h"));
    held.exits({ code: 1 });
    held.isOrdered("restart", "order-1");
    held.passes("10s");
    expect(held.agent.record.health.state).toBe("HEALTHY");
    held.handsAnswer("order-1/restart", { kind: "not-restarted", problem: "no folder" });
    held.passes("10s");
    expect(held.agent.record.health.state).toBe("UNRESPONSIVE");
  });

  it("is a matter until its next life is there, when it was one before a person ordered its start", () => {
    const held = heldStory({ settings: { mode: "observe" } });
    held.shows(hit("1h"));
    held.exits({ code: 1 });
    held.passes("2h");
    expect(held.agent.record.health.state).toBe("UNRESPONSIVE");
    held.isOrdered("restart", "order-1");
    held.passes("10s");
    expect(held.agent.record.health.state).toBe("UNRESPONSIVE");
  });

  it("is started again within a minute of the reset also when it had said that it goes on by itself", () => {
    const held = heldStory({ hold: stream, obedient: true });
    held.shows(hit("1h", { continues: true }));
    held.exits({ code: 1 });
    held.passes("1h");
    expect(decidedAfter(held, "restart-agent", "4m")).toBeLessThanOrEqual(60);
  });

  it.each<[string, (held: HeldStory) => void]>([
    ["a person ended", (held) => held.exits({ code: 130, cause: "person" })],
    [
      "a person ordered to stop, and which ended by itself before it was",
      (held) => {
        held.isOrdered("stop");
        held.exits({ code: 1 });
      },
    ],
    [
      "had said that it is done",
      (held) => {
        held.shows({ kind: "completed", pattern: "m" });
        held.exits({ code: 1 });
      },
    ],
  ])("that %s is not started again", (_, ends) => {
    const held = heldStory({ hold: stream, taskId: "t-1" });
    held.shows(hit("1h"));
    held.passes("1m");
    ends(held);
    held.passes("3h");
    expect(done(held)).not.toContain("restart-agent");
  });

  it("is neither started again nor told about while Rouse is to judge nobody", () => {
    const held = heldStory({ hold: stream });
    held.shows(hit("1h"));
    held.agent.policyBecomes({ enabled: false });
    held.exits({ code: 1 });
    held.passes("3h");
    expect(done(held)).toEqual([]);
    const alive = heldStory({ hold: claude, settings: { enabled: false } });
    alive.shows(hit("1h"), { kind: "asks", what: "prompt", pattern: "p" });
    alive.passes("3h");
    expect(
      told(alive, "AGENT_NEEDS_YOU").filter(({ payload }) => "what" in payload && payload.what === "limit"),
    ).toEqual([]);
  });

  it("has done its work all the same when it had said so", () => {
    const held = heldStory({ hold: stream, taskId: "t-1" });
    held.shows(hit("1h"));
    const before = held.agent.record;
    held.shows({ kind: "completed", pattern: "m" });
    held.exits({ code: 1 });
    expect(fateOfWork(before, held.agent.record)).toEqual({ kind: "completed" });
    expect(isGoneForGood(held.agent.record)).toBe(true);
  });

  it("keeps its work while it waits", () => {
    const held = heldStory({ hold: stream, taskId: "t-1" });
    held.shows(hit("1h"));
    const before = held.agent.record;
    held.exits({ code: 1 });
    held.passes("50m");
    expect(fateOfWork(before, held.agent.record)).toBeNull();
    expect(isGoneForGood(held.agent.record)).toBe(false);
  });

  it("is not started in a freeze, nor where Rouse may not act, nor in somebody's terminal", () => {
    for (const given of [
      { doubt: { frozen: true } },
      { settings: { mode: "assist" as const } },
      { hold: { ...stream, foreground: true } },
    ]) {
      const held = heldStory({ hold: stream, ...given });
      held.shows(hit("1h"));
      held.exits({ code: 1 });
      held.passes("3h");
      expect(done(held)).not.toContain("restart-agent");
    }
  });
});

describe("an agent whose program says that its limit still stands", () => {
  const stands = (resets: string | null) =>
    ({ kind: "limit-stands", resetsInMs: resets === null ? null : ms(resets) }) as const;

  /** The limit should be over, and a start was ordered. */
  function askedAfter(resets: string, given: Pick<HeldGiven, "taskId"> = {}): HeldStory {
    const held = heldStory({ ...given, hold: { ...stream } });
    held.shows(hit(resets));
    held.exits({ code: 1 });
    held.passes(resets);
    held.passes("1m");
    return held;
  }

  const orders = ({ agent }: HeldStory) => agent.did("restart-agent");
  const answer = (held: HeldStory, resets: string | null, order = orders(held).at(-1)) =>
    held.handsAnswer(order?.key ?? "", stands(resets));

  it("is asked before it is started, which nobody is who crashed or whom a person wants back", () => {
    expect(orders(askedAfter("1h"))).toMatchObject([{ afterLimit: true }]);
    const crashed = heldStory({ hold: stream });
    crashed.exits({ code: 1 });
    crashed.passes("1m");
    expect(orders(crashed)).toMatchObject([{ afterLimit: false }]);
    const wanted = heldStory({ hold: stream });
    wanted.shows(hit("4h"));
    wanted.exits({ code: 1 });
    wanted.isOrdered("restart");
    expect(orders(wanted)).toMatchObject([{ afterLimit: false }]);
  });

  it("waits for the new reset, which is told, and is started after that one", () => {
    const held = askedAfter("1h", { taskId: "t-1" });
    answer(held, "2h");
    const { limit } = held.agent.record.seen;
    const { restart } = held.agent.record.ending;
    expect(restart).toBeNull();
    expect(limit).toMatchObject({ resumedAt: null, named: true, attempts: 1, until: held.agent.now + ms("2h") + 5000 });
    expect(told(held, "LIMIT_REACHED").at(-1)).toMatchObject({ payload: { resetsInSeconds: 7200, what: "usage" } });
    expect(told(held, "RESTART_PUT_OFF")).toHaveLength(1);
    held.passes("2h");
    expect(orders(held)).toHaveLength(1);
    held.passes("1m");
    // An order that was taken back is remembered by its key, so the next one has another.
    expect(orders(held).map(({ key }) => key)).toEqual(["worker-1/1/limit/1", "worker-1/1/limit/2"]);
    // Ordered twice, and the agent has not gone on yet.
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
    held.startsAgain();
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "started-again" } }]);
  });

  const alerts = ({ agent }: HeldStory) => agent.events.filter(({ type }) => type.startsWith("ALERT_"));

  it("for days is believed for six hours, a person is told once, and it is asked again as often as it takes", () => {
    const held = askedAfter("2s");
    answer(held, "8d");
    expect(held.agent.record.seen.limit).toMatchObject({ attempts: 0, named: false, until: held.agent.now + ms("6h") });
    expect(told(held, "RESTART_PUT_OFF")).toMatchObject([{ payload: { resetsInSeconds: 691_200 } }]);
    const summary = expect.stringContaining("has reached its provider's limit: by what its program says for another 8");
    expect(alerts(held)).toMatchObject([{ type: "ALERT_RAISED", payload: { severity: "warning", summary } }]);
    expect(held.agent.did("raise-alert")).toHaveLength(1);
    for (let asked = 2; asked < 20; asked++) {
      held.passes("361m");
      expect(orders(held)).toHaveLength(asked);
      answer(held, `${8 * 24 - 6 * asked}h`);
    }
    expect(alerts(held)).toHaveLength(1);
    expect(told(held, "INCIDENT_OPENED")).toEqual([]);
  });

  it("is told to nobody where it is for less than a provider is waited for anyway, and taken back when it is over", () => {
    const short = askedAfter("2s");
    answer(short, "1h");
    expect(alerts(short)).toEqual([]);
    const held = askedAfter("2s");
    answer(held, "2h");
    expect(held.agent.record.seen.limit).toMatchObject({ attempts: 1, named: true });
    held.passes("121m");
    held.startsAgain();
    expect(alerts(held).map(({ type }) => type)).toEqual(["ALERT_RAISED", "ALERT_RESOLVED"]);
  });

  it("has failed at nothing: it is well, nobody is called, and no budget is charged", () => {
    const held = askedAfter("1h", { taskId: "t-1" });
    answer(held, "2h");
    held.passes("119m");
    expect(held.agent.state).toBe("HEALTHY");
    expect(held.agent.record).toMatchObject({ recovery: { restarts: [], attempts: [] }, ladder: { incident: null } });
    expect([...told(held, "RESTART_FAILED"), ...told(held, "INCIDENT_OPENED")]).toEqual([]);
    expect(isGoneForGood(held.agent.record)).toBe(false);
  });

  it("and names no reset is tried after two minutes, then four, then eight", () => {
    const held = askedAfter("1h");
    const waits: number[] = [];
    for (let i = 0; i < 3; i++) {
      answer(held, null);
      waits.push(((held.agent.record.seen.limit?.until ?? 0) - held.agent.now) / 60_000);
      held.passes(`${(waits[i] ?? 0) + 1}m`);
    }
    expect(waits).toEqual([2, 4, 8]);
    expect(orders(held)).toHaveLength(4);
  });

  it("eight times in a row is a person's matter", () => {
    const held = askedAfter("20m");
    for (let i = 0; i < 10; i++) {
      answer(held, "20m");
      held.passes("22m");
    }
    expect(orders(held)).toHaveLength(8);
    expect(told(held, "INCIDENT_CLOSED")).toMatchObject([
      { payload: { ending: "handed-to-a-person", because: "at-its-limit" } },
    ]);
  });

  it("is ill as soon as it was said once too often, and not only after the reset that it named", () => {
    const held = askedAfter("20m");
    for (let i = 0; i < 8; i++) {
      answer(held, "20m");
      held.passes(i < 7 ? "22m" : "1s");
    }
    expect(held.agent.state).toBe("UNRESPONSIVE");
  });

  it("after somebody was tired of waiting for the answer, or a second time, changes nothing", () => {
    const late = askedAfter("1h");
    late.passes("3m");
    expect(told(late, "RESTART_FAILED")).toHaveLength(1);
    const before = late.agent.record;
    for (const order of orders(late)) answer(late, "2h", order);
    expect(late.agent.record).toMatchObject({
      seen: { limit: before.seen.limit },
      ending: { restart: before.ending.restart },
    });
    const failed = askedAfter("1h");
    const [order] = orders(failed);
    failed.handsAnswer(order?.key ?? "", { kind: "not-restarted", problem: "no such folder" });
    answer(failed, "2h", order);
    expect(told(failed, "RESTART_PUT_OFF")).toEqual([]);
    const twice = askedAfter("1h");
    answer(twice, "2h");
    answer(twice, "5h");
    expect(told(twice, "RESTART_PUT_OFF")).toHaveLength(1);
  });

  it("and that a person ends meanwhile stays down", () => {
    const held = askedAfter("1h");
    answer(held, "1h");
    held.isOrdered("stop");
    held.passes("3h");
    expect(orders(held)).toHaveLength(1);
  });

  it("keeps its task, for which no recovery is counted", () => {
    const held = heldStory({ hold: stream, taskId: "t-1" });
    held.shows(hit("1h"));
    held.exits({ code: 1 });
    const waiting = held.agent.record;
    held.passes("61m");
    const starting = held.agent.record;
    expect(fateOfWork(waiting, starting)).toMatchObject({ kind: "recovering", afterLimit: true });
    answer(held, "1h");
    expect(fateOfWork(starting, held.agent.record)).toBeNull();
  });
});

describe("an agent that lives when its limit is over", () => {
  it("and stands at its prompt is told about to a person, once", () => {
    const held = heldStory({ hold: claude });
    held.shows(hit("1h"), { kind: "asks", what: "prompt", pattern: "p" });
    held.passes("1h");
    expect(told(held, "AGENT_NEEDS_YOU")).toEqual([]);
    held.passes("3h");
    expect(told(held, "AGENT_NEEDS_YOU")).toMatchObject([{ payload: { what: "limit" } }]);
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
    expect(done(held)).toEqual([]);
    // The screen is drawn anew, and the agent still stands at its prompt.
    held.prints(40);
    held.passes("40m");
    expect(held.agent.past).toEqual([]);
    expect(told(held, "AGENT_NEEDS_YOU")).toHaveLength(1);
  });

  it("and was told about to a person is nobody else's to see to while it lives", () => {
    const held = heldStory({ hold: claude });
    held.shows(hit("1h"), { kind: "asks", what: "prompt", pattern: "p" });
    expect(limitSeenToAt(held.agent.record)).toBe(heldByLimit(held.agent.record));
    held.passes("2h");
    expect(held.agent.record.seen.limit).toMatchObject({ told: true, resumedAt: null });
    expect(limitSeenToAt(held.agent.record)).toBeNull();
  });

  it("is not late with its completion marker for the time it waited", () => {
    const held = heldStory({ hold: claude, taskId: "t-1", settings: resumes("auto", "off") });
    held.shows({ kind: "asks", what: "prompt", pattern: "p" });
    held.shows(hit("1h"));
    held.passes("68m");
    expect(held.agent.past).toEqual([]);
    held.passes("10m");
    expect(held.agent.finding("completion-timeout")).toMatchObject({ level: "stuck" });
  });

  it("and asked for permission all the while is not late with its completion marker at all", () => {
    const held = heldStory({ hold: claude, taskId: "t-1", settings: resumes("auto", "off") });
    held.shows({ kind: "asks", what: "permission", pattern: "p" });
    held.shows(hit("1h", { what: "rate" }));
    held.passes("2h");
    expect(held.agent.finding("completion-timeout")).toBeUndefined();
  });

  it.each<[string, Sight]>([
    ["stands at its prompt", { kind: "asks", what: "prompt", pattern: "p" }],
    ["has a half-typed line", { kind: "asks", what: "draft", pattern: "p" }],
    ["has ended its turn", { kind: "turn-ended", outcome: "failure", reason: "rate_limit" }],
  ])("and was only asked to slow down, but %s, is told about to a person: it does not try again", (_, sight) => {
    const held = heldStory({ hold: stream });
    held.shows(hit("10m", { what: "rate" }), sight);
    held.passes("12m");
    expect(told(held, "AGENT_NEEDS_YOU")).toMatchObject([{ payload: { what: "limit" } }]);
  });

  it("and was told to go on, of which nothing was ever seen, is told about to a person", () => {
    const held = heldStory({ hold: claude, settings: resumes("auto", "auto") });
    held.shows(hit("1h"), { kind: "asks", what: "prompt", pattern: "p" });
    held.passes("62m");
    expect(told(held, "NUDGE_SENT")).toHaveLength(1);
    held.passes("40m");
    expect(told(held, "AGENT_NEEDS_YOU")).toMatchObject([{ payload: { what: "limit" } }]);
  });

  it("and has said that it is done is nobody's matter any more", () => {
    const held = heldStory({ hold: claude, taskId: "t-1" });
    held.shows(hit("1h"));
    held.passes("1m");
    held.shows({ kind: "completed", pattern: "m" }, { kind: "asks", what: "prompt", pattern: "p" });
    held.passes("3h");
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(
      told(held, "AGENT_NEEDS_YOU").filter(({ payload }) => "what" in payload && payload.what === "limit"),
    ).toEqual([]);
  });

  it("and goes on after a person was told is at work again", () => {
    const held = heldStory({ hold: stream });
    held.shows(hit("1h"), { kind: "turn-ended", outcome: "failure", reason: "is_error" });
    held.passes("2h");
    expect(told(held, "AGENT_NEEDS_YOU")).toMatchObject([{ payload: { what: "limit" } }]);
    held.shows({ kind: "said", digest: "on" });
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on" } }]);
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
  });

  it("is told to go on where its policy says auto, and a person is told when that did not reach it", () => {
    const heard = heldStory({ hold: claude, settings: resumes("auto", "auto") });
    heard.shows(hit("1h"), { kind: "asks", what: "prompt", pattern: "p" });
    heard.passes("1h");
    expect(decidedAfter(heard, "nudge-agent", "2m")).toBeLessThanOrEqual(60);
    expect(told(heard, "NUDGE_SENT")).toMatchObject([
      { payload: { message: expect.stringMatching(/limit.*is over/) } },
    ]);
    expect(told(heard, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "nudged" } }]);
    heard.passes("3s");
    heard.prints(6);
    heard.passes("20m");
    expect(
      told(heard, "AGENT_NEEDS_YOU").filter(({ payload }) => "what" in payload && payload.what === "limit"),
    ).toEqual([]);
    const unheard = heldStory({
      hold: claude,
      settings: resumes("auto", "auto"),
      nudges: { kind: "not-sent", because: "half-typed" },
    });
    unheard.shows(hit("1h"), { kind: "asks", what: "prompt", pattern: "p" });
    unheard.passes("62m");
    expect(told(unheard, "AGENT_NEEDS_YOU")).toMatchObject([{ payload: { what: "limit" } }]);
  });

  it("and named no reset is not past it because a handful of lines is drawn", () => {
    const held = heldStory({ hold: claude });
    held.shows({ kind: "rate-limited", pattern: "limit-hit", resetsInMs: null, what: "usage" });
    held.shows({ kind: "asks", what: "prompt", pattern: "p" });
    held.passes("10m");
    held.prints(6);
    held.passes("1m");
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
  });

  it("and named no reset is past it when it writes at work, slowly as it may be, and not by a line now and then", () => {
    const held = heldStory({ hold: claude });
    held.shows({ kind: "rate-limited", pattern: "limit-hit", resetsInMs: null, what: "usage" });
    held.passes("10m");
    for (let i = 0; i < 60; i++) {
      held.prints(2);
      held.passes("1m");
    }
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
    held.processesAre("busy");
    for (let i = 0; i < 3; i++) {
      held.passes("4m");
      held.prints(2);
    }
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on" } }]);
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
  });

  it("and of which all was heard only now waits for its person, whatever was drawn in the meantime", () => {
    const held = heldStory({ hold: claude });
    held.agent.silentFor("3h");
    const limit = { kind: "rate-limited", pattern: "limit-hit", resetsInMs: null, what: "usage" } as const;
    held.report([limit], {}, 120 * 60_000);
    held.report([{ kind: "asks", what: "prompt", pattern: "p" }], {}, 120 * 60_000);
    held.report([{ kind: "output", rows: 3, novel: 1 }], {}, 60 * 60_000);
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
  });

  it("and goes round in circles after it is nudged, and is not well again by our nudge", () => {
    const held = heldStory({ hold: { input: "terminal" } });
    held.shows({ kind: "rate-limited", pattern: "limit", resetsInMs: 10 * 60_000, what: "rate" });
    held.passes("14m");
    for (let i = 0; i < 6; i++) {
      held.shows({ kind: "error", pattern: "error", digest: "same", text: "error: the same" });
      held.passes("1m");
    }
    expect(told(held, "NUDGE_SENT")).toHaveLength(1);
    expect(held.agent.state).toBe("STUCK");
  });

  it("and goes on by itself is left three minutes to do so", () => {
    const held = heldStory({ hold: claude });
    held.shows(hit("1h", { continues: true }), { kind: "asks", what: "prompt", pattern: "p" });
    held.passes("61m");
    expect(told(held, "AGENT_NEEDS_YOU")).toEqual([]);
    held.passes("4m");
    expect(told(held, "AGENT_NEEDS_YOU")).toHaveLength(1);
  });

  it("and is seen to write after the reset has gone on: no person is called for its limit, only for its prompt", () => {
    const held = heldStory({ hold: claude });
    held.shows(hit("1h", { by: "text", continues: true }), { kind: "asks", what: "prompt", pattern: "p" });
    for (let i = 0; i < 5; i++) {
      held.passes("10m");
      held.prints(1);
    }
    held.passes("9m");
    held.prints(4);
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
    held.passes("75s");
    // A footer is no work.
    held.prints(1);
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
    held.shows({ kind: "asks-no-more" });
    held.prints(6);
    held.shows({ kind: "asks", what: "prompt", pattern: "p" });
    held.passes("20m");
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on" } }]);
    expect(told(held, "AGENT_NEEDS_YOU")).toMatchObject([{ payload: { what: "prompt" } }]);
    expect(told(held, "AGENT_NEEDS_YOU_NO_MORE")).toEqual([]);
  });

  it("and was only asked to slow down goes on by its own clock, and nobody is called", () => {
    const held = heldStory({ hold: claude });
    held.shows(hit("10m", { what: "rate" }));
    held.passes("12m");
    expect(told(held, "AGENT_NEEDS_YOU")).toEqual([]);
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "time-up" } }]);
    held.passes("30m");
    expect(held.agent.state).toBe("STUCK");
  });
});
