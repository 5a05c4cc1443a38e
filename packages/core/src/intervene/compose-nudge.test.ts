import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { goesQuiet, startsFailing } from "../ladder-story.test-support.ts";
import { runStory, times } from "../run-story.test-support.ts";
import { type Story, story } from "../story.test-support.ts";

const textsOf = (agent: Story): string[] => agent.told("NUDGE_SENT").map(({ message }) => message);

/** Agents that get nowhere in every possible way, with these words in every text they can send. */
const stories: Readonly<Record<string, (word: string) => Story>> = {
  "stands still"(word) {
    const agent = story();
    for (const n of [1, 2]) agent.beats({ phase: word, progressIndicator: `${word}${n}`, lastCheckpoint: word });
    agent.beatsEvery("5s", "31m");
    return agent;
  },
  "calls no tool"(word) {
    const agent = story();
    agent.beats({ phase: word, lastToolCall: word, progressIndicator: word });
    agent.beatsEvery("5s", "16m");
    return agent;
  },
  "writes nothing": (word) => goesQuiet({ hold: { agentType: word } }).agent,
  "repeats an error"(word) {
    const held = heldStory({ hold: { input: "terminal" } });
    times(5, () => {
      held.shows({ kind: "error", pattern: word, digest: word, text: word });
      held.passes("1m");
    });
    return held.agent;
  },
  "goes round in circles"(word) {
    const run = runStory({ preset: "fleet" });
    run.agent.beats({ phase: word });
    times(5, () => run.does(word, word, word, { text: word }));
    run.agent.beats();
    return run.agent;
  },
  "says the same over and over"(word) {
    const run = runStory({ preset: "fleet" });
    run.agent.beats({ phase: word });
    times(8, () => run.says(word));
    run.agent.beats({ phase: word });
    return run.agent;
  },
  "is told to hand over"(word) {
    const { agent, shows } = startsFailing({ hold: { input: "stdin" }, settings: { protected: true } });
    shows({ kind: "error", pattern: word, digest: word, text: word });
    agent.decides("force_handoff");
    return agent;
  },
};

describe("what an agent is told", () => {
  it.each(Object.keys(stories))("holds nothing that an agent wrote, when it %s", (name) => {
    const tell = stories[name] as (word: string) => Story;
    const plain = textsOf(tell("x"));
    expect(plain.length).toBeGreaterThan(0);
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }), (word) => {
        expect(textsOf(tell(word))).toEqual(plain);
      }),
      { numRuns: 15 },
    );
  });

  it("is the reminder of old, with what was found as a fact", () => {
    expect(textsOf(stories["writes nothing"]?.("x") as Story)).toEqual([
      "REMINDER: You have been working for 15 min without checkpoint update (no new output in 15 min and its processes are quiet). Please either:\n- Update your progress\n- Request handoff if stuck\n- Report blockers",
    ]);
  });

  it("to one that has work on its hook and is idle says so, and nothing of work", () => {
    const agent = story({ settings: { health_check: { task_not_started_seconds: 60 } } });
    agent.beats({ taskId: "fix-42", status: "IDLE" });
    agent.beatsEvery("5s", "4m", { taskId: "fix-42", status: "IDLE" });
    const [text] = textsOf(agent);
    expect(text).toMatch(/^REMINDER: Task fix-42 has waited for you for 3 min and you are idle\. Start it, or else:\n/);
    expect(text).not.toContain("working");
  });

  it("to one that rests or waits, when a person asks for it, says nothing of work either", () => {
    for (const said of [{ status: "IDLE" }, { status: "WAITING", waitingFor: "input" }] as const) {
      const agent = story();
      agent.beats();
      agent.beats(said);
      agent.isNudgedBy("ada");
      expect(agent.record.ladder.nudge?.text).toMatch(/^REMINDER: You are asked how it goes\. Please either:\n/);
    }
  });

  it("does not say that nothing changed where a shell command may have changed something", () => {
    const run = runStory({ preset: "fleet" });
    run.agent.beats();
    for (const n of [1, 2, 3, 4, 5]) {
      run.does("Bash", `echo try ${n} >> notes.txt`, "");
      run.does("Bash", "npm test", "1 failed", { failed: true });
    }
    run.agent.beats();
    const [text] = textsOf(run.agent);
    expect(text).toContain("and no edit was seen in between.");
    expect(text).not.toContain("nothing changed");
  });

  it("does not say that nothing came of what may have brought something each time", () => {
    const run = runStory({ preset: "fleet" });
    run.agent.beats();
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      run.does("Bash", `try ${n}`, `another error ${"x".repeat(n)}`, { failed: true });
    run.agent.beats();
    const [text] = textsOf(run.agent);
    expect(text).toMatch(/^FACT: \d+ failures in a row\.\nPlease either:/);
  });

  it("names a loop as what it is", () => {
    expect(textsOf(stories["goes round in circles"]?.("x") as Story)[0]).toContain(
      "FACT: The same call with the same result 5 times, and no edit was seen in between. Nothing new has come of it.",
    );
  });
});
