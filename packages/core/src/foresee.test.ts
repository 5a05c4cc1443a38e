import { describe, expect, it } from "vitest";
import { foresee } from "./foresee.ts";
import { type HeldStory, heldStory } from "./held-story.test-support.ts";
import { hangs } from "./ladder-story.test-support.ts";
import { dawn, story } from "./story.test-support.ts";

const ahead = ({ agent }: Pick<HeldStory, "agent">): string[] =>
  foresee(agent.record, agent.context).map(({ what, at }) => `${what} ${(at - dawn) / 1000}s`);

describe("what would be done if nothing changed", () => {
  it("of a quiet agent is to nudge it and to ask, and never to stop it; and that is what happens", () => {
    const held = heldStory({ hold: { input: "terminal" } });
    held.prints();
    held.passes("12m");
    expect(ahead(held)).toEqual(["nudge 900s", "ask 2700s"]);
    held.passes("40m");
    expect(held.agent.when("NUDGE_SENT", "ESCALATION_TRIGGERED")).toEqual([
      "900s NUDGE_SENT",
      "1500s NUDGE_SENT",
      "2100s NUDGE_SENT",
      "2700s ESCALATION_TRIGGERED",
    ]);
  });

  it("of one whose request hangs is to stop it in the end", () => {
    const held = hangs();
    expect(ahead(held)).toEqual(["nudge 1500s", "ask 2700s", "stop 3600s"]);
  });

  it("of one with its owner's rule is to stop it when that is due", () => {
    const held = heldStory({ hold: { idleKillMs: 30 * 60_000 } });
    held.prints();
    held.passes("5m");
    expect(ahead(held)).toEqual(["stop 1800s"]);
  });

  it("of one that only beats is to ask when it has fallen silent", () => {
    const agent = story();
    agent.beats();
    expect(ahead({ agent })[0]).toMatch(/^ask /);
  });
});
