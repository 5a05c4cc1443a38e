import { describe, expect, it } from "vitest";
import { eyesOn } from "./eyes.ts";
import { type HeldStory, heldStory } from "./held-story.test-support.ts";

const says = ({ agent }: HeldStory): Record<string, string> =>
  Object.fromEntries(eyesOn(agent.record, agent.now).map(({ eye, says: word }) => [eye, word]));

describe("what an agent is seen through", () => {
  it("says of one that never wrote and only sleeps that it is quiet, also right after the first look", () => {
    const held = heldStory();
    held.passes("20s");
    expect(says(held)).toEqual({
      output: "quiet",
      cpu: "quiet",
      disk: "quiet",
      network: "quiet",
      files: "quiet",
      children: "quiet",
      "terminal-read": "quiet",
    });
  });

  it("names the eye that saw it at work, and those that could not look", () => {
    const held = heldStory();
    held.passes("20s");
    held.processesShow({ network: { sockets: 1, bytes: 7 }, files: null, readsTerminal: null });
    held.passes("10s");
    expect(says(held)).toMatchObject({ network: "at-work", files: "unseen", "terminal-read": "unseen", cpu: "quiet" });
  });

  it("knows nothing of processes that were not looked at lately", () => {
    const held = heldStory();
    held.passes("20s");
    held.processesAre("unknown");
    held.passes("3m");
    expect(says(held)).toMatchObject({ cpu: "unseen", network: "unseen", children: "unseen" });
  });
});
