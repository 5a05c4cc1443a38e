import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";

/** It was quiet for forty minutes, nobody could say a word to it, and it came back. */
function cameBack() {
  const held = heldStory({ hold: { input: "none" } });
  held.prints();
  held.passes("40m");
  held.prints(9);
  held.passes("10s");
  return held;
}

describe("an agent that was quiet before and came back by itself", () => {
  it("is not strange until it is quiet for a quarter longer", () => {
    const held = cameBack();
    expect(held.agent.state).toBe("HEALTHY");
    held.passes("49m");
    expect(held.agent.state).toBe("HEALTHY");
    held.passes("2m");
    expect(held.agent.state).toBe("STUCK");
  });

  it("is as strange as anybody else when it was nudged meanwhile: it may have come back because of that", () => {
    const held = heldStory({ hold: { input: "terminal" } });
    held.prints();
    held.passes("40m");
    held.prints(9);
    held.passes("16m");
    expect(held.agent.state).toBe("STUCK");
  });
});
