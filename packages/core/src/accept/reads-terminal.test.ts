import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";

/** The process waits in a read of its terminal; then nobody can look at that any more. */
function waitsUnseen() {
  const held = heldStory();
  held.prints();
  held.processesShow({ readsTerminal: true });
  held.passes("1m");
  expect(held.agent.record.work.activity.kind).toBe("WAITING");
  held.processesShow({ readsTerminal: null });
  held.passes("10m");
  return held;
}

describe("an agent that waited in a read of its terminal when somebody could last look", () => {
  it("still waits while it writes nothing new", () => {
    const held = waitsUnseen();
    held.prints(0, 3);
    expect(held.agent.record.work.activity.kind).toBe("WAITING");
  });

  it("has got what it waited for when it writes something new, and is judged by its work again", () => {
    const held = waitsUnseen();
    held.prints(2);
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
    expect(held.agent.told("AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
    held.passes("16m");
    expect(held.agent.state).toBe("STUCK");
  });
});

describe("an agent of whose limit a person was told, which named no reset", () => {
  function toldOfLimit() {
    const held = heldStory();
    held.shows({ kind: "rate-limited", pattern: "limit-hit", resetsInMs: null, what: "usage" });
    held.passes("10m");
    expect(held.agent.told("AGENT_NEEDS_YOU")).toMatchObject([{ what: "limit" }]);
    return held;
  }

  it("has another question when it wrote and then waits in a read of its terminal, and that one's time counts from there", () => {
    const held = toldOfLimit();
    held.passes("20h");
    held.prints(2);
    held.processesShow({ readsTerminal: true });
    held.passes("23h");
    expect(held.agent.told("AGENT_NEEDS_YOU")).toMatchObject([{ what: "limit" }, { what: "input" }]);
    expect(held.agent.past).toEqual([]);
  });

  it("has the same one as long as it wrote nothing", () => {
    const held = toldOfLimit();
    held.processesShow({ readsTerminal: true });
    held.passes("10m");
    expect(held.agent.told("AGENT_NEEDS_YOU")).toMatchObject([{ what: "limit" }]);
  });
});
