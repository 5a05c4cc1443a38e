import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";
import { fateOfWork } from "../recover/fate-of-work.ts";

const told = ({ agent }: HeldStory, type: string) => agent.events.filter((event) => event.type === type);
const starts = ({ agent }: HeldStory) => agent.actions.filter(({ kind }) => kind === "restart-agent");

/** The agent was started again once, is down once more, and is due after the cooldown. */
function betweenTwoRestarts(): HeldStory {
  const held = heldStory({ obedient: true, taskId: "t-1" });
  held.prints();
  held.exits({ code: 1 });
  held.passes("10s");
  held.exits({ code: 1 });
  return held;
}

describe("a person who ends an agent that is down and will be started again", () => {
  it("cancels the start, and it is said", () => {
    const held = betweenTwoRestarts();
    expect(starts(held)).toHaveLength(1);
    const before = held.agent.record;
    held.isOrdered("stop");
    expect(told(held, "RESTART_CANCELLED")).toMatchObject([{ payload: { actor: "operator", incarnation: 2 } }]);
    expect(told(held, "TERMINATION_REFUSED")).toEqual([]);
    expect(fateOfWork(before, held.agent.record)).toEqual({ kind: "released", because: "agent-stopped" });
    held.passes("3h");
    // A late report is judged like every report before it.
    held.report([]);
    expect(starts(held)).toHaveLength(1);
    expect(held.agent.state).toBe("TERMINATED");
    expect(held.agent.record.health.findings).toEqual([]);
    expect(held.agent.record.health.alert).toBeNull();
    expect(told(held, "INCIDENT_CLOSED").at(-1)).toMatchObject({ payload: { because: "ended-by-person" } });
  });

  it("the same for one that waits for its provider's limit", () => {
    const held = heldStory({ obedient: true, hold: { structured: true } });
    held.shows({ kind: "rate-limited", pattern: "rate_limit_event", resetsInMs: 3_600_000, by: "stream" });
    held.exits({ code: 1 });
    held.passes("10m");
    held.isOrdered("stop");
    held.passes("3h");
    expect(told(held, "RESTART_CANCELLED")).toHaveLength(1);
    expect(starts(held)).toEqual([]);
    expect(held.agent.state).toBe("TERMINATED");
  });

  it("hears that one which nobody would start again is over already", () => {
    const held = heldStory();
    held.exits({ code: 0 });
    held.isOrdered("stop");
    expect(told(held, "TERMINATION_REFUSED")).toMatchObject([{ payload: { because: "already-over" } }]);
  });

  it("hears that one which is being started again is over, and cancels nothing: it is stopped once it is there", () => {
    const held = heldStory();
    held.exits({ code: 1 });
    expect(starts(held)).toHaveLength(1);
    held.isOrdered("stop", "order-1");
    expect(told(held, "RESTART_CANCELLED")).toEqual([]);
    expect(told(held, "TERMINATION_REFUSED")).toMatchObject([{ payload: { because: "already-over" } }]);
    held.startsAgain();
    held.isOrdered("stop", "order-2");
    expect(held.agent.did("stop-agent")).toHaveLength(1);
  });

  it("can have it back all the same", () => {
    const held = betweenTwoRestarts();
    held.isOrdered("stop", "order-1");
    held.passes("10m");
    held.isOrdered("restart", "order-2");
    expect(starts(held)).toHaveLength(2);
    expect(held.agent.record.seen.terminal?.exit).toBeNull();
  });
});
