import type { EyeState, Question, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

const limit = (resetsInMs: number | null = null): Sight => ({ kind: "rate-limited", pattern: "limit", resetsInMs });
const asks = (what: Question): Sight => ({ kind: "asks", what, pattern: "p" });
const done: Sight = { kind: "completed", pattern: "m" };
const minutes = (n: number): number => n * 60_000;
const told = (held: HeldStory, type: string) => held.agent.events.filter((event) => event.type === type);

/** How long the provider is waited for, from now on. */
function waitLeft({ agent }: HeldStory): number | null {
  const { activity } = agent.record.work;
  return activity.kind === "WAITING" && activity.for === "provider" ? (activity.until ?? 0) - agent.now : null;
}

describe("a rate limit", () => {
  it("with a reset is waited for until then and a margin more; nobody is STUCK meanwhile", () => {
    const held = heldStory();
    held.prints();
    held.shows(limit(minutes(300)));
    expect(waitLeft(held)).toBe(minutes(301));
    const payload = { agentId: "worker-1", what: "rate", resetsInSeconds: 18_000, by: "text", pattern: "limit" };
    expect(told(held, "LIMIT_REACHED")).toEqual([{ type: "LIMIT_REACHED", payload }]);
    held.passes("5h");
    expect(held.agent.past).toEqual([]);
    expect(held.agent.finding("rate-limited")).toMatchObject({ level: "note" });
    held.passes("30m");
    // The beat that could end it comes five minutes later at most.
    expect(held.agent.past).toEqual([`${(301 + 15) * 60 + 310}s STUCK`]);
  });

  it("without one is waited for twice as long each time, up to the longest wait for a provider", () => {
    const held = heldStory();
    const waits: (number | null)[] = [];
    for (let i = 0; i < 8; i++) {
      held.shows(limit());
      waits.push(waitLeft(held));
      held.passes(`${(waitLeft(held) ?? 0) / 60_000}m`);
      held.prints();
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map(minutes));
  });

  it("counts from when it was seen, also in a life that began while nobody was there to hear of it", () => {
    const held = heldStory();
    held.report([limit(minutes(90))], {}, minutes(60));
    expect(waitLeft(held)).toBe(minutes(31));
  });

  it("is over with lines that keep coming, not with the same again, nor with what a program draws while it waits", () => {
    const held = heldStory();
    held.shows(limit(minutes(30)));
    held.prints(0, 4);
    held.prints(40);
    held.passes("20s");
    held.prints(40);
    held.passes("8s");
    held.prints(1);
    expect(waitLeft(held)).not.toBeNull();
    for (let i = 0; i < 4; i++) {
      held.passes("6s");
      held.prints(4);
    }
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING" });
    expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on", waitedSeconds: 52 } }]);
    held.passes("16m");
    expect(held.agent.state).toBe("STUCK");
  });

  it("is not over with a line now and then, however many they come to", () => {
    const held = heldStory();
    held.shows(limit(minutes(300)));
    for (let minute = 0; minute < 200; minute++) {
      held.passes("1m");
      held.prints(4);
    }
    expect(told(held, "LIMIT_RESUMED")).toEqual([]);
  });

  it("told late ends when the provider said, not later", () => {
    const held = heldStory();
    held.passes("1h");
    held.report([limit(minutes(50))], {}, minutes(40));
    expect(waitLeft(held)).toBe(minutes(11));
  });

  it("a retry the program announces is the same wait", () => {
    const held = heldStory({ hold: { structured: true } });
    held.shows({ kind: "retries", attempt: 3, inMs: minutes(20), status: 500 });
    expect(waitLeft(held)).toBe(minutes(20));
    held.passes("25m");
    expect(held.agent.past).toEqual([]);
    expect(told(held, "LIMIT_REACHED")).toEqual([]);
    held.shows({ kind: "said", digest: "on" });
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
  });

  it.each([
    [{ status: null, cause: "no-answer" }, "request-retried", "its provider did not answer in time"],
    [{ status: null, cause: "no-connection" }, "request-retried", "its provider could not be reached"],
    [{ status: 500 }, "request-retried", "its provider answered with status 500"],
    [{ status: null }, "request-retried", "a request to its provider failed"],
    [{ status: 503 }, "rate-limited", "its provider has put it off"],
    [{ status: 429 }, "rate-limited", "its provider has put it off"],
    [{ status: 529 }, "rate-limited", "its provider has put it off"],
  ] as const)("a retry is called what it is: %o", (why, kind, text) => {
    const held = heldStory({ hold: { structured: true } });
    held.shows({ kind: "retries", attempt: 3, inMs: 20_000, ...why });
    held.passes("1s");
    expect(held.agent.record.health.findings).toMatchObject([
      { kind, level: "note", text: expect.stringContaining(text) },
    ]);
    held.shows(limit(minutes(5)));
    expect(held.agent.record.health.findings).toMatchObject([{ kind: "rate-limited" }]);
  });

  it("what an agent says itself that it waits for is not what a request once failed with", () => {
    const held = heldStory();
    held.shows({ kind: "retries", attempt: 1, inMs: 20_000, status: 500 });
    held.prints();
    held.agent.beats({ status: "WAITING", waitingFor: "provider" });
    expect(held.agent.record.health.findings).toMatchObject([{ kind: "rate-limited" }]);
  });

  it.each([
    [429, "rate"],
    [529, "overloaded"],
  ] as const)(
    "a retry after a %i that names a time is a limit with its reset, and a short one is none",
    (status, what) => {
      const held = heldStory({ hold: { structured: true } });
      held.shows({ kind: "retries", attempt: 1, inMs: 20_000, status });
      expect(told(held, "LIMIT_REACHED")).toEqual([]);
      held.shows({ kind: "retries", attempt: 2, inMs: minutes(20), status });
      expect(told(held, "LIMIT_REACHED")).toMatchObject([{ payload: { what, resetsInSeconds: 1200 } }]);
      held.passes("19m");
      expect(held.agent.past).toEqual([]);
      held.shows({ kind: "said", digest: "on" });
      expect(told(held, "LIMIT_RESUMED")).toMatchObject([{ payload: { how: "went-on" } }]);
      expect(held.agent.record.work.activity.kind).toBe("RUNNING");
    },
  );

  it("that is only a retry is still waited for when its prompt is drawn meanwhile, and no turn has ended", () => {
    const held = heldStory();
    held.shows({ kind: "retries", attempt: 1, inMs: 30_000, status: null });
    held.shows(asks("prompt"));
    expect(waitLeft(held)).toBe(30_000);
    expect(held.agent.record.seen.terminal?.turnEndedAt).toBeNull();
  });

  it("of a program at its prompt is still the provider's wait", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.shows(limit(minutes(60)), asks("prompt"));
    expect(waitLeft(held)).toBe(minutes(61));
    // Before the limit is over nobody could do anything.
    expect(told(held, "AGENT_NEEDS_YOU")).toEqual([]);
    held.passes("62m");
    expect(told(held, "AGENT_NEEDS_YOU")).toMatchObject([{ payload: { what: "limit" } }]);
  });

  it("does not wake whoever has finished", () => {
    const held = heldStory();
    held.shows(done);
    held.passes("40s");
    held.shows(limit());
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
  });
});

describe("a wait that only words speak of", () => {
  const week = limit(minutes(7 * 24 * 60));
  const sixHours = minutes(360);

  it("is believed for six hours, and known as words", () => {
    const held = heldStory();
    held.prints();
    held.shows(week);
    expect(waitLeft(held)).toBe(sixHours);
    expect(held.agent.record.seen.terminal?.waitBy).toBe("text");
  });

  it("is not made longer by saying it every minute", () => {
    const held = heldStory();
    held.prints();
    for (let minute = 0; minute < 420; minute++) {
      held.shows({ kind: "output", rows: 1, novel: minute === 0 ? 1 : 0 }, week);
      held.passes("1m");
    }
    const { activity } = held.agent.record.work;
    expect(activity).toMatchObject({ kind: "WAITING", until: activity.since + sixHours });
    expect(waitLeft(held)).toBe(-minutes(60));
  });

  it("nor by saying it in other words each time, nor after its time is over", () => {
    const held = heldStory();
    held.prints();
    for (let minute = 0; minute < 400; minute++) {
      held.shows({ kind: "output", rows: 1, novel: 1 }, week);
      held.passes("1m");
    }
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
  });

  it("is another one once it wrote on in between", () => {
    const held = heldStory();
    held.shows(week);
    held.passes("5h");
    held.prints(5);
    held.shows(week);
    expect(waitLeft(held)).toBe(sixHours);
  });

  it("is another one once its beats told of work in between, of one that prints next to nothing", () => {
    const held = heldStory();
    held.agent.beats({ progressIndicator: "step 1" });
    held.shows(limit(minutes(10)));
    held.passes("5h");
    held.agent.beats({ progressIndicator: "step 2" });
    held.passes("10m");
    held.shows(week);
    expect(waitLeft(held)).toBe(sixHours);
  });

  it("is not what a field of a stream says: that counts as it is, and words do not shorten it", () => {
    const held = heldStory({ hold: { structured: true } });
    held.shows({ kind: "rate-limited", pattern: "event", resetsInMs: minutes(1000), by: "stream" });
    held.shows(limit(minutes(30)));
    expect(waitLeft(held)).toBe(minutes(1000) + 5000);
    expect(held.agent.record.seen.terminal?.waitBy).toBe("stream");
  });
});

describe("a completion marker", () => {
  const kind = ({ agent }: HeldStory) => agent.record.work.activity.kind;

  it("is believed once nothing followed it for half a minute, and not before", () => {
    const held = heldStory();
    held.prints();
    held.shows(done);
    held.passes("20s");
    expect(kind(held)).toBe("RUNNING");
    held.passes("10s");
    expect(kind(held)).toBe("FINISHED");
    expect(told(held, "AGENT_FINISHED")).toHaveLength(1);
    held.passes("10h");
    expect(held.agent.past).toEqual([]);
  });

  it("is not believed while nobody looks: a quiet that was not seen is none", () => {
    const held = heldStory();
    held.prints();
    held.shows(done);
    held.agent.silentFor("5m");
    expect(kind(held)).toBe("RUNNING");
    // A sight from long ago says nothing of the quiet since.
    held.report([], {}, 290_000);
    expect(kind(held)).toBe("RUNNING");
    held.prints(9);
    held.passes("5m");
    expect(kind(held)).toBe("RUNNING");
  });

  it("counts the quiet from the last line, and is taken back by more than an afterword", () => {
    const held = heldStory();
    held.shows(done);
    held.passes("20s");
    held.prints(2);
    held.passes("20s");
    expect(kind(held)).toBe("RUNNING");
    held.prints(3);
    held.passes("10m");
    expect(kind(held)).toBe("RUNNING");
    expect(held.agent.record.seen.terminal?.completedAt).toBeNull();
  });

  it("is believed at once when its prompt is there again, and nobody is called", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.prints();
    held.shows(done);
    held.shows(asks("prompt"));
    expect(kind(held)).toBe("FINISHED");
    expect(told(held, "AGENT_NEEDS_YOU")).toEqual([]);
  });

  it("at a prompt that was there all the time ends the question with the work", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.shows(asks("prompt"));
    held.shows(done);
    held.passes("40s");
    expect(kind(held)).toBe("FINISHED");
    expect(told(held, "AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
  });

  it.each<[string, Sight]>([
    ["asks for a permission", asks("permission")],
    ["is put off by its provider", limit()],
  ])("of one that %s is none", (_, sight) => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.shows(done);
    held.shows(sight);
    held.passes("2m");
    expect(kind(held)).toBe("WAITING");
    expect(held.agent.record.seen.terminal?.completedAt).toBeNull();
  });

  it("of one that went on to ask does not make its failure an end", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.shows(done);
    held.shows(asks("permission"));
    held.exits({ code: 1 });
    expect(held.agent.state).toBe("UNRESPONSIVE");
  });

  it("of one that we stopped meanwhile does not make its stop an end", () => {
    const held = heldStory();
    held.prints();
    held.shows(done);
    held.agent.silentFor("2m");
    held.exits({ code: 0, cause: "stopped" });
    expect(kind(held)).toBe("RUNNING");
    expect(told(held, "AGENT_FINISHED")).toEqual([]);
  });

  it("of one that tells by its beats that a tool is open is none", () => {
    const held = heldStory();
    held.shows(done);
    held.agent.beats({ status: "RUNNING", open: { kind: "tool", name: "build" } });
    held.passes("2m");
    expect(kind(held)).toBe("RUNNING");
  });

  it("in a stream is believed with the end of the turn, in whichever order, and never for quiet", () => {
    const ended: Sight = { kind: "turn-ended", outcome: "success", reason: "end" };
    for (const sights of [
      [done, ended],
      [ended, done],
    ]) {
      const held = heldStory({ hold: { structured: true } });
      held.shows({ kind: "said", digest: "d" }, ...sights);
      expect(kind(held)).toBe("FINISHED");
    }
    const writing = heldStory({ hold: { structured: true } });
    writing.shows({ kind: "said", digest: "d" }, done);
    writing.passes("5m");
    expect(kind(writing)).toBe("RUNNING");
  });

  it("quoted before a tool that hangs is none: the tool is what it does", () => {
    const held = heldStory({ hold: { structured: true } });
    held.shows({ kind: "said", digest: "d" }, done, {
      kind: "tool-started",
      id: "t",
      name: "Bash",
      argsDigest: "a",
      timeoutSeconds: null,
    });
    held.passes("10m");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: { kind: "tool" } });
    held.exits({ code: 1 });
    expect(held.agent.state).toBe("UNRESPONSIVE");
  });
});

describe("a question", () => {
  it.each<Question>(["permission", "question", "prompt", "draft"])(
    "(%s) is told at once and once, and ends when it is answered",
    (what) => {
      const held = heldStory({ hold: { family: "claude-code" } });
      held.prints();
      held.shows(asks(what));
      held.shows(asks(what));
      expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
      expect(told(held, "AGENT_NEEDS_YOU")).toEqual([
        { type: "AGENT_NEEDS_YOU", payload: { agentId: "worker-1", what, pattern: "p" } },
      ]);
      held.passes("5m");
      held.shows({ kind: "asks-no-more" });
      held.shows({ kind: "asks-no-more" });
      expect(told(held, "AGENT_NEEDS_YOU_NO_MORE")).toEqual([
        { type: "AGENT_NEEDS_YOU_NO_MORE", payload: { agentId: "worker-1", waitedSeconds: 300 } },
      ]);
      expect(held.agent.record.work.activity.kind).toBe("RUNNING");
    },
  );

  it("is over when the stream shows work, and when its process ends", () => {
    const working = heldStory({ hold: { structured: true } });
    working.shows(asks("question"));
    working.shows({ kind: "model-asked" });
    expect(told(working, "AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
    const gone = heldStory();
    gone.shows(asks("question"));
    gone.exits({ code: 1 });
    expect(told(gone, "AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
  });

  it("behind which work goes on was asked all along, and nobody is told that it was answered", () => {
    const held = heldStory({ hold: { family: "gemini-cli" } });
    held.report([{ kind: "model-asked" }], { eyes: [{ eye: "session-file", sees: true, because: null }] });
    held.shows(asks("trust"));
    const since = held.agent.record.seen.terminal?.asks?.since;
    held.passes("5s");
    held.shows({ kind: "said", digest: "d1" }, { kind: "model-asked" }, asks("trust"));
    expect(held.agent.record.seen.terminal?.asks).toEqual({ what: "trust", since });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
    expect(told(held, "AGENT_NEEDS_YOU")).toHaveLength(1);
    expect(told(held, "AGENT_NEEDS_YOU_NO_MORE")).toEqual([]);
    // A question that is asked again after its answer is another question.
    held.shows({ kind: "asks-no-more" }, asks("trust"));
    expect(told(held, "AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
    expect(told(held, "AGENT_NEEDS_YOU")).toHaveLength(2);
  });

  it("that stood there through a provider's wait stands there after it", () => {
    const held = heldStory();
    held.shows(asks("permission"));
    held.shows(limit());
    expect(waitLeft(held)).toBe(minutes(1));
    held.passes("2m");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
    expect(told(held, "AGENT_NEEDS_YOU_NO_MORE")).toEqual([]);
  });

  it("a draft is no end of a turn, and keeps its hands off a provider's wait and a finished agent", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.shows(asks("draft"));
    expect(held.agent.record.seen.terminal?.turnEndedAt).toBeNull();
    const put = heldStory({ hold: { family: "claude-code" } });
    put.shows(limit(minutes(60)), asks("draft"));
    expect(waitLeft(put)).toBe(minutes(61));
    const over = heldStory({ hold: { family: "claude-code" } });
    over.shows(done);
    over.passes("40s");
    over.shows(asks("draft"));
    expect(over.agent.record.work.activity.kind).toBe("FINISHED");
    expect(told(over, "AGENT_NEEDS_YOU")).toEqual([]);
  });

  it("another question is told anew", () => {
    const held = heldStory();
    held.shows(asks("permission"));
    held.shows(asks("question"));
    expect(told(held, "AGENT_NEEDS_YOU")).toHaveLength(2);
  });
});

describe("what a stream shows", () => {
  it("ends the startup, names the session and counts the calls", () => {
    const held = heldStory({ hold: { structured: true } });
    held.shows({ kind: "session", id: "s1", model: "m", version: null }, { kind: "model-asked" });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: { kind: "model" } });
    expect(held.agent.record.seen.terminal?.session).toEqual({ id: "s1", model: "m" });
    held.shows({ kind: "tool-started", id: "t", name: "sh", argsDigest: "a", timeoutSeconds: null });
    held.shows({ kind: "tool-ended", id: "t", failed: true, resultDigest: "r" });
    expect(held.agent.record.seen.facts).toMatchObject({ toolCallCount: 1, errorCount: 1, progressMoves: true });
  });

  it("output does not start the progress clock of one that never spoke of progress", () => {
    const held = heldStory();
    for (let i = 0; i < 120; i++) {
      held.prints(0, 1);
      held.passes("1m");
    }
    expect(held.agent.record.seen.facts.progress).toBeNull();
    expect(held.agent.past).toEqual([]);
  });
});

describe("a held agent whose account is refused", () => {
  it("wants that seen to for as long as it is, though it stands at its prompt", () => {
    const held = heldStory({ hold: { family: "gemini-cli" } });
    const eyes: EyeState[] = [{ eye: "session-file", sees: true, because: null }];
    held.report([asks("login"), { kind: "turn-ended", outcome: "failure", reason: "refused with 401" }], { eyes });
    held.passes("3s");
    held.shows(asks("prompt"));
    expect(held.agent.record.seen.terminal?.asks?.what).toBe("login");
    expect(told(held, "ALERT_RESOLVED")).toEqual([]);
    held.shows({ kind: "asks-no-more" });
    held.shows(asks("prompt"));
    expect(told(held, "AGENT_NEEDS_YOU")).toMatchObject([
      { payload: { what: "login" } },
      { payload: { what: "prompt" } },
    ]);
  });
});

describe("a held agent that also beats by a timer", () => {
  it("is still in the call that its stream told of, until a beat or the stream says otherwise", () => {
    const { agent, shows } = heldStory({ hold: { structured: true } });
    shows({ kind: "session", id: "s1", model: "m", version: null }, { kind: "model-asked" });
    agent.beats({ status: "RUNNING" });
    expect(agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: { kind: "model" } });
    agent.beats({ status: "RUNNING", open: null });
    expect(agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: null });
  });

  it("is still waiting for its person when the beat does not say what it does", () => {
    const { agent, shows } = heldStory();
    shows({ kind: "asks", what: "permission", pattern: "p" });
    agent.beats({ status: undefined });
    expect(agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
    agent.beats({ status: "RUNNING" });
    expect(agent.record.work.activity.kind).toBe("RUNNING");
  });
});
