import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";

const stream = { family: "claude-code", structured: true, input: "none" } as const;

/** A loop that nobody may stop and nobody answers for is handed to a person. */
function loopInOtherHands() {
  const held = heldStory({ hold: stream, settings: { mode: "assist" } });
  let calls = 0;
  const loops = (times: number): void => {
    for (let i = 0; i < times; i++) {
      calls += 1;
      held.shows(
        { kind: "tool-started", id: `t${calls}`, name: "sh", argsDigest: "same", timeoutSeconds: null },
        { kind: "tool-ended", id: `t${calls}`, failed: true, resultDigest: "same" },
        { kind: "tokens", total: calls * 1000 },
      );
      held.passes("10s");
    }
  };
  while (held.agent.record.ladder.handedOver === null && calls < 2000) loops(1);
  const told = (): string[] =>
    held.agent.actions.flatMap((action) =>
      action.kind === "raise-alert" && action.summary.includes("burns on") ? [action.summary] : [],
    );
  return { held, loops, told };
}

describe("an agent that burns on after a person was called", () => {
  it("is told about again with what it spent, after 5, 15 and 35 minutes", () => {
    const { held, loops, told } = loopInOtherHands();
    expect(held.agent.record.ladder.handedOver).not.toBeNull();
    expect(told()).toEqual([]);
    loops(31);
    expect(told()).toEqual([
      expect.stringMatching(/^worker-1 still waits for a person and burns on: 30 calls and 30000 tokens in 5 min/),
    ]);
    loops(60);
    expect(told()).toHaveLength(2);
    loops(60);
    expect(told()).toHaveLength(2);
    loops(60);
    expect(told()).toHaveLength(3);
  });

  it("is not told about when all that is heard of it after our own absence is that it has finished", () => {
    const { held, loops, told } = loopInOtherHands();
    loops(20);
    held.agent.monitorIsBlindFor("10m");
    held.shows({ kind: "completed", pattern: "m" }, { kind: "turn-ended", outcome: "success", reason: "end" });
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(told()).toEqual([]);
  });

  it("is not told about when it has come to rest", () => {
    const { held, told } = loopInOtherHands();
    held.passes("3h");
    expect(told()).toEqual([]);
  });
});
