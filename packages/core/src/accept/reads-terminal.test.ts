import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";

/** Its process waits in a read of its terminal, and then nobody can look at that any more. */
function waitsUnseen() {
  const held = heldStory();
  held.prints();
  held.processesShow({ readsTerminal: true });
  held.passes("1m");
  expect(held.agent.record.activity.kind).toBe("WAITING");
  held.processesShow({ readsTerminal: null });
  held.passes("10m");
  return held;
}

describe("an agent that waited in a read of its terminal when somebody could last look", () => {
  it("still waits while it writes nothing new", () => {
    const held = waitsUnseen();
    held.prints(0, 3);
    expect(held.agent.record.activity.kind).toBe("WAITING");
  });

  it("has got what it waited for when it writes something new, and is judged by its work again", () => {
    const held = waitsUnseen();
    held.prints(2);
    expect(held.agent.record.activity.kind).toBe("RUNNING");
    expect(held.agent.told("AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
    held.passes("16m");
    expect(held.agent.state).toBe("STUCK");
  });
});
