import type { Question, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

const limit = (resetsInMs: number | null = null): Sight => ({ kind: "rate-limited", pattern: "limit", resetsInMs });
const asks = (what: Question): Sight => ({ kind: "asks", what, pattern: "p" });
const minutes = (n: number): number => n * 60_000;
const told = (held: HeldStory, type: string) => held.agent.events.filter((event) => event.type === type);

/** How long the provider is waited for, from now. */
function waitLeft({ agent }: HeldStory): number | null {
  const { activity } = agent.record;
  return activity.kind === "WAITING" && activity.for === "provider" ? (activity.until ?? 0) - agent.now : null;
}

describe("a rate limit", () => {
  it("with a reset is waited for until then and a margin more; nobody is STUCK meanwhile", () => {
    const held = heldStory();
    held.prints();
    held.shows(limit(minutes(300)));
    expect(waitLeft(held)).toBe(minutes(300));
    expect(told(held, "RATE_LIMITED")).toEqual([
      { type: "RATE_LIMITED", payload: { agentId: "worker-1", resetsInSeconds: 18_000, pattern: "limit" } },
    ]);
    held.passes("5h");
    expect(held.agent.past).toEqual([]);
    expect(held.agent.finding("rate-limited")).toMatchObject({ level: "note" });
    held.passes("30m");
    // The beat that could say it is over comes five minutes later at most.
    expect(held.agent.past).toEqual([`${(300 + 15) * 60 + 302}s STUCK`]);
  });

  it("without one is waited for twice as long each time, up to the longest wait for a provider", () => {
    const held = heldStory();
    const waits: (number | null)[] = [];
    for (let i = 0; i < 8; i++) {
      held.prints();
      held.shows(limit());
      waits.push(waitLeft(held));
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map(minutes));
  });

  it("is over with new output, not with the same lines again", () => {
    const held = heldStory();
    held.shows(limit(minutes(30)));
    held.prints(0, 4);
    expect(waitLeft(held)).not.toBeNull();
    held.prints(1);
    expect(held.agent.record.activity).toMatchObject({ kind: "RUNNING" });
    held.passes("16m");
    expect(held.agent.state).toBe("STUCK");
  });

  it("told late ends when the provider said, not later", () => {
    const held = heldStory();
    held.passes("1h");
    held.report([limit(minutes(50))], {}, minutes(40));
    expect(waitLeft(held)).toBe(minutes(10));
  });

  it("a retry the program announces is the same wait", () => {
    const held = heldStory({ hold: { structured: true } });
    held.shows({ kind: "retries", attempt: 3, inMs: minutes(20), status: 529 });
    expect(waitLeft(held)).toBe(minutes(20));
    held.passes("25m");
    expect(held.agent.past).toEqual([]);
    held.shows({ kind: "said", digest: "on" });
    expect(held.agent.record.activity.kind).toBe("RUNNING");
  });

  it("of a program at its prompt is still the provider's wait", () => {
    const held = heldStory({ hold: { family: "claude-code" } });
    held.shows(limit(minutes(60)), asks("prompt"));
    expect(waitLeft(held)).toBe(minutes(60));
    expect(told(held, "AGENT_NEEDS_YOU")).toHaveLength(1);
  });

  it("does not wake whoever has finished", () => {
    const held = heldStory();
    held.shows({ kind: "completed", pattern: "m" }, limit());
    expect(held.agent.record.activity.kind).toBe("FINISHED");
  });
});

describe("a question", () => {
  it.each<Question>(["permission", "question", "prompt"])(
    "(%s) is told at once and once, and ends when it is answered",
    (what) => {
      const held = heldStory({ hold: { family: "claude-code" } });
      held.prints();
      held.shows(asks(what));
      held.shows(asks(what));
      expect(held.agent.record.activity).toMatchObject({ kind: "WAITING", for: "input" });
      expect(told(held, "AGENT_NEEDS_YOU")).toEqual([
        { type: "AGENT_NEEDS_YOU", payload: { agentId: "worker-1", what, pattern: "p" } },
      ]);
      held.passes("5m");
      held.shows({ kind: "asks-no-more" });
      held.shows({ kind: "asks-no-more" });
      expect(told(held, "AGENT_NEEDS_YOU_NO_MORE")).toEqual([
        { type: "AGENT_NEEDS_YOU_NO_MORE", payload: { agentId: "worker-1", waitedSeconds: 300 } },
      ]);
      expect(held.agent.record.activity.kind).toBe("RUNNING");
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

  it("that stood there through a provider's wait stands there after it", () => {
    const held = heldStory();
    held.shows(asks("permission"));
    held.shows(limit());
    held.prints();
    expect(held.agent.record.activity).toMatchObject({ kind: "WAITING", for: "input" });
    expect(told(held, "AGENT_NEEDS_YOU_NO_MORE")).toEqual([]);
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
    expect(held.agent.record.activity).toMatchObject({ kind: "RUNNING", open: { kind: "model" } });
    expect(held.agent.record.terminal?.session).toEqual({ id: "s1", model: "m" });
    held.shows({ kind: "tool-started", id: "t", name: "sh", argsDigest: "a", timeoutSeconds: null });
    held.shows({ kind: "tool-ended", id: "t", failed: true, resultDigest: "r" });
    expect(held.agent.record.facts).toMatchObject({ toolCallCount: 1, errorCount: 1, progressMoves: true });
  });

  it("output does not start the progress clock of one that never spoke of progress", () => {
    const held = heldStory();
    for (let i = 0; i < 120; i++) {
      held.prints(0, 1);
      held.passes("1m");
    }
    expect(held.agent.record.facts.progress).toBeNull();
    expect(held.agent.past).toEqual([]);
  });
});

describe("a held agent that also beats by a timer", () => {
  it("is still waiting for its person when the beat does not say what it does", () => {
    const { agent, shows } = heldStory();
    shows({ kind: "asks", what: "permission", pattern: "p" });
    agent.beats({ status: undefined });
    expect(agent.record.activity).toMatchObject({ kind: "WAITING", for: "input" });
    agent.beats({ status: "RUNNING" });
    expect(agent.record.activity.kind).toBe("RUNNING");
  });
});
