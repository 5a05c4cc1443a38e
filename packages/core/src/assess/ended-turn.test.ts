import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

/** The agent checks something every so often, each time in a turn of its own. */
function polls(held: HeldStory, times: number): void {
  for (let n = 0; n < times; n++) {
    const id = `call-${held.agent.now}`;
    held.shows({ kind: "tool-started", id, name: "Bash", argsDigest: "status", timeoutSeconds: null });
    held.shows({ kind: "tool-ended", id, failed: false, resultDigest: "pending", resultClass: "pending" });
    held.passes("5s");
  }
}

const ends = (outcome: "success" | "failure"): Sight => ({ kind: "turn-ended", outcome, reason: "x" });
const poller = (enabled: boolean) =>
  heldStory({
    hold: { structured: true, input: "stdin", family: "claude-code" },
    settings: { intervention: { nudge: { enabled } } },
  });

function isStuck({ nudged }: { readonly nudged: boolean }): HeldStory {
  const held = poller(nudged);
  polls(held, 6);
  expect(held.agent.record.health).toMatchObject({ state: "STUCK", reason: "identical-step" });
  return held;
}

describe("a loop within a turn", () => {
  it("is over when the turn ends well: the verdict is lifted, the incident closed and the alert resolved", () => {
    const held = isStuck({ nudged: false });
    held.shows(ends("success"));
    expect(held.agent.record).toMatchObject({
      health: { state: "HEALTHY", alert: null },
      ladder: { incident: null },
    });
    const alerts = held.agent.told("ALERT_RAISED").length;
    held.passes("9m");
    expect(held.agent.told("ALERT_RAISED")).toHaveLength(alerts);
  });

  it("does not make the first look of the next turn the last of many", () => {
    const held = isStuck({ nudged: false });
    held.shows(ends("success"));
    polls(held, 2);
    expect(held.agent.record.health.state).toBe("HEALTHY");
    polls(held, 4);
    expect(held.agent.record.health.state).toBe("STUCK");
  });

  it("is over when the turn ends well after a nudge, although nothing new was done", () => {
    const held = isStuck({ nudged: true });
    polls(held, 1);
    expect(held.agent.record.ladder.reached).not.toBeNull();
    expect(held.agent.record.health.findings).toEqual([]);
    expect(held.agent.record.health.state).toBe("STUCK");
    held.shows(ends("success"));
    expect(held.agent.record.health.state).toBe("HEALTHY");
  });

  it("is not over when the turn fails", () => {
    for (const nudged of [true, false]) {
      const held = isStuck({ nudged });
      held.shows(ends("failure"));
      held.passes("1m");
      expect(held.agent.record.health).toMatchObject({ state: "STUCK", reason: "identical-step" });
    }
  });

  it("is not over when a turn ends because we keep the agent from going on", () => {
    const settings = {
      mode: "assist",
      intervention: { nudge: { enabled: false }, escalation: { timeout_seconds: 60 } },
    } as const;
    const held = heldStory({ settings, hold: { structured: true, family: "claude-code" } });
    for (let n = 0; n < 100 && held.agent.did("contain-agent").length === 0; n++) polls(held, 1);
    const key = held.agent.did("contain-agent")[0]?.key ?? "none";
    held.handsAnswer(key, { kind: "contain", outcome: { kind: "contained" } });
    held.shows(ends("success"));
    held.passes("1m");
    expect(held.agent.record.health.state).toBe("STUCK");
    expect(held.agent.record.ladder.handedOver).not.toBeNull();
  });
});

describe("a loop from turn to turn", () => {
  it("is seen, although each of the turns ends well, and after the last nudge somebody is asked", () => {
    const held = poller(true);
    for (let n = 0; n < 25; n++) {
      polls(held, 1);
      held.shows(ends("success"));
    }
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(3);
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "falls-back" }]);
  });
});
