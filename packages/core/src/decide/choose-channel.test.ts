import type { NudgeChannel, NudgeState } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import type { AgentRecord } from "../record.ts";
import { story } from "../story.test-support.ts";
import { chooseChannel } from "./choose-channel.ts";

type Input = "stdin" | "hook" | "steer" | "terminal" | "none";

/** A held agent that beats or not, and has shown that it reads commands or not. */
function held(input: Input, speaks: "no" | "beats" | "reads"): AgentRecord {
  const { agent } = heldStory({ hold: { input } });
  if (speaks !== "no") agent.beats(speaks === "reads" ? { seen: ["earlier"] } : {});
  return agent.record;
}

const after = (record: AgentRecord, channel: NudgeChannel, state: NudgeState): AgentRecord => ({
  ...record,
  ladder: {
    ...record.ladder,
    nudge: {
      id: "n1",
      attempt: 1,
      channel,
      template: "reminder",
      cause: null,
      text: "t",
      actor: "rouse",
      queuedAt: 0,
      state,
      receipt: false,
      sent: null,
      unseen: 0,
      expiresAt: 0,
    },
  },
});

describe("the way to an agent", () => {
  it.each<[string, AgentRecord, NudgeChannel | null]>([
    ["one that was seen to read them", held("stdin", "reads"), "acknowledgement"],
    ["one that only beats and takes messages", held("stdin", "beats"), "stdin"],
    ["one that only beats and has a terminal", held("terminal", "beats"), "acknowledgement"],
    ["one that takes messages", held("stdin", "no"), "stdin"],
    ["one in a turn that words can be put into", held("steer", "no"), "steer"],
    ["one that only beats and is in such a turn", held("steer", "beats"), "steer"],
    ["one that has nothing but a terminal", held("terminal", "no"), "terminal"],
    ["one that has no input and never beat", held("none", "no"), null],
  ])("%s", (_, record, channel) => {
    expect(chooseChannel(record)).toBe(channel);
  });

  it("an agent that Rouse does not hold is reached by its beats, or not at all", () => {
    const agent = story();
    expect(chooseChannel(agent.record)).toBeNull();
    agent.beats();
    expect(chooseChannel(agent.record)).toBe("acknowledgement");
  });

  it("one that read them in its last life is not reached by them before it has beaten in this one", () => {
    const again = heldStory({ hold: { input: "terminal" } });
    again.agent.beats({ seen: ["earlier"] });
    again.exits({ code: 1 });
    again.startsAgain();
    expect(chooseChannel(again.agent.record)).toBe("terminal");
    again.agent.beats();
    expect(chooseChannel(again.agent.record)).toBe("acknowledgement");
  });

  it("there is none through a holder that is gone, and none to an agent that is over", () => {
    for (const input of ["stdin", "hook", "steer", "terminal"] as const) {
      const lost = heldStory({ hold: { input } });
      expect(chooseChannel(lost.agent.record)).toBe(input);
      lost.holderIsLost("alive");
      expect(chooseChannel(lost.agent.record)).toBeNull();
    }
    const over = heldStory({ hold: { input: "terminal" } });
    over.agent.beats();
    over.exits({ code: 1 });
    expect(chooseChannel(over.agent.record)).toBeNull();
  });

  it.each<NudgeState>(["unconfirmed", "not-sent"])("one that led nowhere (%s) is left for last", (state) => {
    const record = held("stdin", "reads");
    expect(chooseChannel(after(record, "acknowledgement", state))).toBe("stdin");
    expect(chooseChannel(after(record, "stdin", state))).toBe("acknowledgement");
    expect(chooseChannel(after(held("stdin", "no"), "stdin", state))).toBe("stdin");
  });

  it.each<NudgeState>(["seen", "acted"])("one that reached it (%s) is taken again", (state) => {
    expect(chooseChannel(after(held("stdin", "reads"), "acknowledgement", state))).toBe("acknowledgement");
  });
});
