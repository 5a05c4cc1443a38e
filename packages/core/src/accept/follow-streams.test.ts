import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

let calls = 0;

/** One call and its result, as a stream of JSON shows it. */
function step(name: string, args: string, result: string, failed = false): Sight[] {
  const id = `call-${++calls}`;
  return [
    { kind: "tool-started", id, name, argsDigest: args, timeoutSeconds: null },
    { kind: "tool-ended", id, failed, resultDigest: result, resultClass: result },
  ];
}

const streamed = (): HeldStory => heldStory({ hold: { structured: true } });

function repeats(held: HeldStory, times: number, sights: () => Sight[]): void {
  for (let i = 0; i < times; i++) {
    held.shows(...sights());
    held.passes("10s");
  }
}

describe("a held agent whose stream shows its calls", () => {
  it("is STUCK when it makes the same call with the same result again and again, with the steps as evidence", () => {
    const held = streamed();
    repeats(held, 5, () => step("Bash", "npm test", "2 failed"));
    expect(held.agent.state).toBe("STUCK");
    expect(held.agent.finding("identical-step")).toMatchObject({ level: "stuck", evidence: { events: "1 3 5 7 9" } });
  });

  it("is well when it changes something before each of them", () => {
    const held = streamed();
    let edits = 0;
    repeats(held, 12, () => [...step("Edit", `edit ${++edits}`, "done"), ...step("Bash", "npm test", "2 failed")]);
    expect(held.agent.past).toEqual([]);
  });

  it("is well when only its screen is read: that shows no calls", () => {
    const held = heldStory();
    repeats(held, 8, () => step("Bash", "npm test", "2 failed"));
    expect(held.agent.record.seen.steps).toBeNull();
  });

  it("waits for its provider through retries and limits: neither is a failure of its own", () => {
    const held = streamed();
    held.shows(...step("Read", "a", "b"));
    repeats(held, 10, () => [
      { kind: "retries", attempt: 1, inMs: 1000, status: 529 },
      { kind: "rate-limited", pattern: "limit", resetsInMs: 1000 },
    ]);
    expect(held.agent.record.seen.steps).toMatchObject({ apiErrors: { times: 20 }, owner: "provider" });
    expect(held.agent.finding("error-streak")).toBeUndefined();
    expect(held.agent.state).not.toBe("STUCK");
  });

  it("has not failed in a tool while a sub-agent's request is tried again", () => {
    const held = streamed();
    held.shows({ kind: "tool-started", id: "t", name: "Task", argsDigest: "a", timeoutSeconds: null });
    held.shows({ kind: "retries", attempt: 1, inMs: 1000, status: 529 });
    expect(held.agent.record.seen.steps?.open).toHaveLength(1);
    held.shows({ kind: "tool-ended", id: "t", failed: false, resultDigest: "r" });
    expect(held.agent.record.seen.steps?.steps).toMatchObject([{ tool: "Task", failed: false }]);
  });

  it("does not know how a call ended whose result could not be read", () => {
    const held = streamed();
    repeats(held, 8, () => step("Bash", "npm test", ""));
    expect(held.agent.record.seen.steps?.steps[0]).toMatchObject({ result: null, resultClass: null, failed: null });
    expect(held.agent.finding("identical-step")).toBeUndefined();
  });

  it("is STUCK when it talks on without a call, but not over turns that somebody begins", () => {
    const talks = streamed();
    let words = 0;
    repeats(talks, 7, () => [{ kind: "said", digest: `word ${++words}` }]);
    expect(talks.agent.finding("replies-only")).toMatchObject({ level: "stuck" });
    const chats = streamed();
    repeats(chats, 9, () => [
      { kind: "said", digest: `word ${++words}` },
      { kind: "turn-ended", outcome: "success", reason: "success" },
    ]);
    expect(chats.agent.finding("replies-only")).toBeUndefined();
  });

  it("counts what a failing sibling called off as one failure", () => {
    const held = streamed();
    repeats(held, 8, () => [
      { kind: "tool-ended", id: "x", failed: true, resultDigest: `${++calls}`, resultClass: "c", cancelled: true },
    ]);
    expect(held.agent.finding("error-class")).toBeUndefined();
  });
});

describe("a held agent whose screen is read while its hooks or its session file tell its steps", () => {
  const eyes = [
    { eye: "hooks", sees: true, because: null } as const,
    { eye: "screen", sees: true, because: null } as const,
  ];
  const someLines: Sight = { kind: "output", rows: 3, novel: 3 };
  const inTerminal = () => heldStory({ hold: { family: "claude-code" } });

  it("is found in a loop by its sixth identical call at the latest", () => {
    const held = inTerminal();
    for (let i = 0; i < 6; i++) {
      held.report(step("Bash", "cat missing.txt", "no such file", true), { eyes });
      held.passes("2s");
    }
    expect(held.agent.finding("identical-step")).toMatchObject({ level: "stuck" });
    expect(held.agent.state).toBe("STUCK");
  });

  it("is RUNNING from its first prompt on, although it prints nothing until its end", () => {
    const held = inTerminal();
    expect(held.agent.record.work.activity.kind).toBe("STARTING");
    held.report([{ kind: "session", id: "s", model: null, version: null }, { kind: "model-asked" }], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: { kind: "model" } });
    held.report([{ kind: "tool-started", id: "1", name: "Bash", argsDigest: "a", timeoutSeconds: null }], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ open: { kind: "tool", name: "Bash" } });
    held.report([{ kind: "turn-ended", outcome: "success", reason: "Stop" }], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: null });
  });

  it("has no step in what its screen shows: a limit in words may be what a tool printed", () => {
    const held = inTerminal();
    held.report([{ kind: "rate-limited", pattern: "p", resetsInMs: null }], { eyes });
    expect(held.agent.record.seen.steps).toBeNull();
    held.report([{ kind: "rate-limited", pattern: "p", resetsInMs: null, by: "stream" }], { eyes });
    expect(held.agent.record.seen.steps).not.toBeNull();
  });

  it("still needs a person for what only its screen shows", () => {
    const held = inTerminal();
    held.report([{ kind: "model-asked" }], { eyes });
    held.report([{ kind: "asks", what: "trust", pattern: "p" }], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
  });

  const longTool: Sight = { kind: "tool-started", id: "1", name: "Bash", argsDigest: "a", timeoutSeconds: 2400 };
  const interruptions: [string, Sight, Sight][] = [
    ["it was allowed", { kind: "asks", what: "permission", pattern: "p" }, { kind: "asks-no-more" }],
    ["its provider answers again", { kind: "retries", attempt: 1, inMs: 20_000, status: 529 }, someLines],
  ];

  it.each(interruptions)("has its tool open once %s, and is left alone for the time it declared", (_, put, goes) => {
    const held = heldStory({ hold: { family: "claude-code", input: "hook" } });
    held.report([{ kind: "model-asked" }, longTool], { eyes });
    held.report([put], { eyes });
    held.passes("30s");
    held.report([goes], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({
      kind: "RUNNING",
      open: { name: "Bash", timeoutSeconds: 2400 },
    });
    held.passes("35m");
    expect(held.agent.past).toEqual([]);
    held.report([{ kind: "tool-ended", id: "1", failed: false, resultDigest: "r" }], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ open: { kind: "model" } });
  });

  it("is told to be at its limit again when another eye knows the reset, and to the second when a field does", () => {
    const held = inTerminal();
    const limited = (pattern: string, resetsInMs: number | null, more = {}): Sight => ({
      kind: "rate-limited",
      pattern,
      resetsInMs,
      by: "stream",
      ...more,
    });
    const words = limited("usage limit", 7_140_000, { withinMs: 60_000 });
    const reached = () => held.agent.events.flatMap((one) => (one.type === "LIMIT_REACHED" ? [one.payload] : []));
    held.report([{ kind: "model-asked" }, limited("rate_limit", null)], { eyes });
    held.passes("1s");
    held.report([words], { eyes });
    expect(reached()).toMatchObject([
      { what: "rate", resetsInSeconds: null },
      { what: "usage", resetsInSeconds: 7140, pattern: "usage limit" },
    ]);
    const until = () => (held.agent.record.seen.limit?.until ?? 0) - held.agent.now;
    expect(until()).toBe(7_200_000);
    held.report([limited("rate_limit_event", 7_170_000)], { eyes });
    expect(until()).toBe(7_175_000);
    held.report([words, limited("rate_limit_event", 3_600_000), limited("rate_limit", null)], { eyes });
    expect(until()).toBe(7_175_000);
    expect(reached()).toHaveLength(2);
  });

  const stop = (wokenBy?: "children" | "schedule"): Sight => ({
    kind: "turn-ended",
    outcome: "success",
    reason: "Stop",
    ...(wokenBy === undefined ? {} : { wokenBy }),
  });
  const prompt: Sight = { kind: "asks", what: "prompt", pattern: "p" };

  it.each(["children", "schedule"] as const)("waits for its %s at its prompt, and needs nobody", (wokenBy) => {
    const held = heldStory({ hold: { family: "claude-code", taskId: "t" }, taskId: "t" });
    held.report([{ kind: "model-asked" }, stop(wokenBy)], { eyes });
    held.report([prompt], { eyes });
    held.passes("45m");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: wokenBy });
    expect(held.agent.past).toEqual([]);
    expect(held.agent.events.filter(({ type }) => type === "AGENT_NEEDS_YOU")).toEqual([]);
    held.report([{ kind: "asks", what: "permission", pattern: "p" }], { eyes });
    held.report([{ kind: "asks-no-more" }], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: wokenBy });
    held.report([{ kind: "said", digest: "d" }, stop()], { eyes });
    held.report([prompt], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
    held.passes("11m");
    expect(held.agent.finding("completion-timeout")).toBeDefined();
  });

  const withTask = () => heldStory({ hold: { family: "claude-code", taskId: "t" }, taskId: "t" });
  const needs = (held: ReturnType<typeof withTask>) =>
    held.agent.events.flatMap((one) => (one.type === "AGENT_NEEDS_YOU" ? [one.payload.pattern] : []));

  it("waits for its children all the same when its last words are told after the end of its turn", () => {
    const held = withTask();
    held.report([{ kind: "model-asked" }, stop("children")], { eyes });
    held.report([{ kind: "said", digest: "d" }], { eyes });
    held.report([prompt], { eyes });
    held.passes("45m");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "children" });
    expect(held.agent.past).toEqual([]);
    expect(needs(held)).toEqual([]);
  });

  it.each(["children", "schedule"] as const)("waits for its %s only so long, and is at its prompt then", (wokenBy) => {
    const held = withTask();
    held.report([{ kind: "model-asked" }, stop(wokenBy)], { eyes });
    held.report([prompt], { eyes });
    held.passes(wokenBy === "children" ? "89m" : "59m");
    expect(needs(held)).toEqual([]);
    held.passes("2m");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
    expect(needs(held)).toEqual(["waited for long enough"]);
    held.passes("8m");
    expect(held.agent.past).toEqual([]);
    held.passes("3m");
    expect(held.agent.finding("completion-timeout")).toBeDefined();
  });

  it("goes on without a prompt when it has waited long enough for what it left running", () => {
    const held = withTask();
    held.report([{ kind: "model-asked" }, stop("children")], { eyes });
    held.passes("91m");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: null });
    expect(needs(held)).toEqual([]);
  });

  const screenOnly = [{ eye: "screen", sees: true, because: null }] as const;
  const left: Sight = { kind: "asks", what: "prompt", pattern: "p", wokenBy: "children" };

  it("waits for its children where only its screen shows them, until it shows them no more", () => {
    const held = withTask();
    held.report([{ kind: "output", rows: 1, novel: 1 }], { eyes: [...screenOnly] });
    held.report([left], { eyes: [...screenOnly] });
    held.passes("45m");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "children" });
    expect([needs(held), held.agent.past]).toEqual([[], []]);
    held.report([prompt], { eyes: [...screenOnly] });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
    expect(needs(held)).toEqual(["p"]);
    held.report([{ kind: "asks-no-more" }], { eyes: [...screenOnly] });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING" });
  });

  it("waits no more for children that somebody ended, though nothing has woken it", () => {
    const held = withTask();
    held.report([{ kind: "model-asked" }, stop("children")], { eyes });
    held.report([left], { eyes });
    held.report([prompt], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
    expect(needs(held)).toEqual(["p"]);
  });

  it("waits for its children again once its provider answers those", () => {
    const held = withTask();
    held.report([{ kind: "model-asked" }, stop("children")], { eyes });
    held.report([prompt], { eyes });
    held.report([{ kind: "retries", attempt: 1, inMs: 5000, status: 529 }], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider" });
    held.report([{ kind: "output", rows: 1, novel: 1 }], { eyes });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "children" });
    expect(needs(held)).toEqual([]);
  });

  it("calls nobody again who was called to its prompt before it showed children", () => {
    const held = withTask();
    for (const sight of [prompt, left, prompt]) held.report([sight], { eyes: [...screenOnly] });
    expect(needs(held)).toEqual(["p"]);
  });

  it("has finished when it says so, whatever it left running", () => {
    const held = inTerminal();
    held.report([{ kind: "model-asked" }, stop("children"), { kind: "completed", pattern: "m" }], { eyes });
    held.passes("40s");
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
  });

  it("has seen a nudge by hook when its model has it, not when it writes something after it", () => {
    const nudges = { kind: "sent", channel: "hook", echoed: false } as const;
    const held = heldStory({ hold: { family: "claude-code", input: "hook" }, nudges });
    for (let i = 0; i < 6; i++) {
      held.report(step("Bash", "cat missing.txt", "no such file", true), { eyes, input: "hook" });
      held.passes("2s");
    }
    const nudge = held.agent.record.ladder.nudge?.id ?? "none";
    expect(held.agent.record.ladder.nudge).toMatchObject({ channel: "hook", state: "sent" });
    held.report([{ kind: "model-asked" }], { eyes, input: "hook" });
    expect(held.agent.record.ladder.nudge?.state).toBe("sent");
    held.report([{ kind: "nudge-read", nudge }], { eyes, input: "hook" });
    expect(held.agent.record.ladder.nudge).toMatchObject({ state: "seen", receipt: true });
  });
});
