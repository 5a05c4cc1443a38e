import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { goesQuiet } from "../ladder-story.test-support.ts";
import { kindsOfEvidence } from "./evidence.ts";

/** The agent gets nowhere, is nudged with an acknowledgement, and confirms it. */
function hasReadNudge(seenBy: "agent" | "program") {
  const { agent, passes, prints } = heldStory({
    hold: { input: "none" },
    settings: { intervention: { nudge: { max_attempts: 1 } } },
  });
  let sequenceNumber = 0;
  const beat = (said = {}, skips = 0): void => {
    sequenceNumber += 1 + skips;
    agent.beats({ sequenceNumber, toolCallCount: 1, ...said });
  };
  prints();
  for (let beats = 0; beats < 4; beats++) {
    beat();
    passes("5m");
  }
  const nudge = agent.told("NUDGE_SENT").at(-1)?.nudge;
  expect(nudge).toBeDefined();
  beat({ seen: [nudge], seenBy });
  const kinds = () => [...kindsOfEvidence(agent.record, agent.context)].toSorted();
  return { agent, passes, beat, kinds };
}

/** The agent has confirmed its nudge and beats on as before. `says`: its next beat. */
function readsNudge(seenBy: "agent" | "program", lost: number, says: object = {}): readonly string[] {
  const { passes, beat, kinds } = hasReadNudge(seenBy);
  passes("5m");
  beat(says, lost);
  passes("4m");
  beat();
  passes("4m");
  return kinds();
}

describe("a nudge that was read and not answered in its time", () => {
  it("speaks against the agent that read it", () => {
    expect(readsNudge("agent", 0)).toEqual(["absence", "unanswered-nudge"]);
  });

  it("says nothing of an agent around which a program read it", () => {
    expect(readsNudge("program", 0)).toEqual(["absence"]);
  });

  it("says nothing of an agent that has answered, whatever it does then", () => {
    expect(readsNudge("agent", 0, { answer: { kind: "update" } })).toEqual(["absence"]);
  });

  it("says nothing of an agent that went on before its program showed that it had the words", () => {
    const { agent, passes, prints, shows } = goesQuiet({ hold: { input: "stdin", structured: true } });
    passes("10s");
    prints(3);
    shows({ kind: "nudge-read", nudge: agent.told("NUDGE_SENT")[0]?.nudge ?? "none" });
    passes("14m");
    expect(agent.record.ladder.nudge).toMatchObject({ state: "seen", receipt: true });
    expect([...kindsOfEvidence(agent.record, agent.context)]).toEqual([]);
  });

  it("says nothing before its time is up without the part of it that we were blind for", () => {
    const { agent, passes, beat, kinds } = hasReadNudge("agent");
    agent.monitorIsBlindFor("9m");
    passes("2m");
    expect(kinds()).not.toContain("unanswered-nudge");
    beat();
    passes("9m");
    expect(kinds()).toContain("unanswered-nudge");
  });

  it("says nothing when a beat was lost since, which may have held the answer", () => {
    expect(readsNudge("agent", 1)).toEqual(["absence"]);
  });
});
