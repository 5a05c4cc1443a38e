import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

const look = (held: HeldStory, timeoutSeconds: number | null = null): string => {
  const id = `call-${held.agent.now}`;
  held.shows({ kind: "tool-started", id, name: "Bash", argsDigest: "status", timeoutSeconds });
  return id;
};

function looksEvery(held: HeldStory, pause: string, times: number): void {
  for (let n = 0; n < times; n++) {
    const id = look(held);
    held.shows({ kind: "tool-ended", id, failed: false, resultDigest: "pending", resultClass: "pending" });
    held.passes(pause);
  }
}

/** The agent is found in a loop and nudged for it. */
function isNudged(): HeldStory {
  const held = heldStory({ hold: { structured: true, input: "stdin", family: "claude-code" } });
  looksEvery(held, "5s", 5);
  expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
  return held;
}

describe("after a nudge the next one needs new evidence", () => {
  it("who does the same again is not nudged before that is a loop again", () => {
    const held = isNudged();
    looksEvery(held, "3m", 4);
    expect(held.agent.state).toBe("STUCK");
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    looksEvery(held, "3m", 1);
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(2);
    expect(held.agent.told("NUDGE_SENT")[1]?.message).toMatch(/^FACT: The same call with the same result 5 times/);
  });

  it("who has a tool open is not nudged before the tool is overdue", () => {
    const held = isNudged();
    look(held, 1200);
    held.passes("20m");
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
  });

  it("who does nothing at all for as long as lies between two is nudged again, and is told how long that is", () => {
    const held = isNudged();
    held.passes("4m");
    looksEvery(held, "9m", 1);
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    held.passes("1m");
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(2);
    expect(held.agent.told("NUDGE_SENT")[1]?.message).toContain("working for 10 min without");
  });

  it("who does a little, and nothing new, for longer than all nudges take is asked about", () => {
    const held = heldStory({
      hold: { input: "terminal" },
      settings: { intervention: { nudge: { interval_seconds: 120 } } },
    });
    for (let n = 0; n < 5; n++) {
      held.shows({ kind: "error", pattern: "p", digest: "e1", text: "ENOENT" }, { kind: "output", rows: 1, novel: 0 });
      held.passes("10s");
    }
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    for (let n = 0; n < 9; n++) {
      held.passes("1m");
      held.prints(0, 1);
    }
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "nudges-unanswered" }]);
  });
});
