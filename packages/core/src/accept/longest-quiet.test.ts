import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";

describe("an agent that was quiet before and came back by itself", () => {
  it("is not strange when it is quiet for as long again", () => {
    const held = heldStory({ settings: { mode: "observe" } });
    held.prints();
    held.passes("40m");
    held.prints(3);
    expect(held.agent.record.work.longestQuiet).toBe(40 * 60_000);
    held.passes("49m");
    expect(held.agent.state).toBe("HEALTHY");
    held.passes("2m");
    expect(held.agent.state).toBe("STUCK");
  });

  it("is known for it in its next life, too", () => {
    const held = heldStory({ settings: { mode: "observe" } });
    held.prints();
    held.passes("40m");
    held.prints(3);
    held.exits({ code: 1 });
    held.startsAgain();
    held.prints();
    held.passes("45m");
    expect(held.agent.state).toBe("HEALTHY");
  });

  it("because of a nudge is no more patient case than any other", () => {
    const held = heldStory({ hold: { input: "stdin" } });
    held.prints();
    held.passes("20m");
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    held.prints(3);
    expect(held.agent.record.work.longestQuiet).toBe(0);
  });

  it("before any nudge arrived came back by itself all the same", () => {
    const held = heldStory({ hold: { input: "stdin" }, nudges: { kind: "not-sent", because: "half-typed" } });
    held.prints();
    held.passes("20m");
    expect(held.agent.told("NUDGE_NOT_SENT")).not.toEqual([]);
    held.prints(3);
    expect(held.agent.record.work.longestQuiet).toBe(20 * 60_000);
  });

  it("only to end did not come back: its last words are no return", () => {
    const held = heldStory({ settings: { mode: "observe" } });
    held.prints();
    held.passes("2h");
    held.report([{ kind: "output", rows: 1, novel: 1 }], { exit: { code: 1, signal: null, cause: "by-itself" } });
    expect(held.agent.record.work.longestQuiet).toBe(0);
  });

  it("after our own absence has not been quiet for that long", () => {
    const held = heldStory({ settings: { mode: "observe" } });
    held.prints();
    held.passes("1m");
    held.agent.monitorIsBlindFor("3h", "suspend");
    held.prints(3);
    expect(held.agent.record.work.longestQuiet).toBe(0);
  });
});
