import type { Question } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";

const asks = (what: Question) => ({ kind: "asks", what, pattern: "a dialog" }) as const;

describe("a need that only a person can meet", () => {
  it.each(["login", "credits", "api-key"] as const)("is told at once, and taken back when it is over: %s", (what) => {
    const held = heldStory();
    held.shows(asks(what));
    expect(held.agent.told("AGENT_NEEDS_YOU")).toMatchObject([{ what }]);
    expect(held.agent.told("ALERT_RAISED")).toMatchObject([{ severity: "critical" }]);
    expect(held.agent.did("raise-alert")).toHaveLength(1);
    held.shows(asks(what));
    held.passes("1h");
    expect(held.agent.did("raise-alert")).toHaveLength(1);
    held.shows({ kind: "asks-no-more" });
    expect(held.agent.told("ALERT_RESOLVED")).toMatchObject([{ alert: held.agent.told("ALERT_RAISED")[0]?.alert }]);
  });

  it.each(["permission", "question", "plan", "trust", "api-error", "prompt", "draft"] as const)(
    "is none of an agent that merely asks: %s",
    (what) => {
      const held = heldStory();
      held.shows(asks(what));
      expect(held.agent.did("raise-alert")).toEqual([]);
    },
  );

  it("is not told where Rouse only observes", () => {
    const held = heldStory({ settings: { mode: "observe" } });
    held.shows(asks("login"));
    expect(held.agent.did("raise-alert")).toEqual([]);
  });

  it("is over with the life that had it", () => {
    const held = heldStory();
    held.shows(asks("login"));
    held.exits({ code: 1 });
    expect(held.agent.told("ALERT_RESOLVED")).toHaveLength(1);
  });
});
