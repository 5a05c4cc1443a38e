import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { goesQuiet, repeatsError, startsFailing } from "../ladder-story.test-support.ts";
import { type StoryGiven, story, type Witnessed } from "../story.test-support.ts";
import { type Fate, fateOfWork } from "./fate-of-work.ts";

/** What each turn of a life meant for its tasks. */
function noteFates() {
  const fates: string[] = [];
  const note = (fate: Fate): string => ("because" in fate ? `${fate.kind}: ${fate.because}` : fate.kind);
  const witness = ({ before, turn }: Witnessed): void => {
    const fate = fateOfWork(before, turn.record);
    if (fate !== null) fates.push(note(fate));
  };
  const given: StoryGiven = { witness, taskId: "t1" };
  return { fates, given };
}

const noNudges = { intervention: { nudge: { enabled: false } } };

describe("the work of an agent", () => {
  it("that is being brought back is kept for it", () => {
    const { fates, given } = noteFates();
    startsFailing({ ...given, obedient: true });
    expect(fates).toEqual(["recovering: being-recovered", "recovered"]);
  });

  it("that finished is done", () => {
    const { fates, given } = noteFates();
    heldStory(given).exits({ code: 0 });
    expect(fates).toEqual(["completed"]);
  });

  it.each([
    ["in the middle", [], 0, "released: agent-stopped"],
    ["in the middle, and it says so", [], 130, "released: agent-stopped"],
    ["at its prompt", [{ kind: "asks", what: "prompt", pattern: "p" }], 0, "completed"],
    ["at its prompt, and it failed", [{ kind: "asks", what: "prompt", pattern: "p" }], 130, "released: agent-stopped"],
  ] as const)("that a person left is done unless it was broken off: %s", (_, sights, code, fate) => {
    const { fates, given } = noteFates();
    const held = heldStory({ ...given, hold: { family: "claude-code", foreground: true } });
    held.prints();
    held.report(sights);
    held.exits({ code, cause: "person" });
    expect(fates).toEqual([fate]);
  });

  it.each([
    ["in the middle", [], "released: agent-stopped"],
    ["at its prompt", [{ kind: "asks", what: "prompt", pattern: "p" }], "completed"],
  ] as const)(
    "of one that ends properly because somebody sent it a signal is done only after its turn: %s",
    (_, sights, fate) => {
      const { fates, given } = noteFates();
      const held = heldStory({ ...given, hold: { family: "claude-code", foreground: true } });
      held.prints();
      held.report(sights);
      held.exits({ code: 0, cause: "killed" });
      expect(fates).toEqual([fate]);
    },
  );

  it("that a person stopped can be taken up by others, once", () => {
    const { fates, given } = noteFates();
    const held = heldStory(given);
    held.isOrdered("stop");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("order-1");
    held.passes("1h");
    expect(fates).toEqual(["released: agent-stopped"]);
  });

  it("that repeated an error is blocked: somebody has to look", () => {
    const { fates, given } = noteFates();
    const settings = { terminal: { auto_kill_on_repeated_error: true } };
    const held = heldStory({ ...given, settings, obedient: true });
    held.prints();
    repeatsError(held, 5);
    expect(fates).toEqual(["blocked: repeated-error"]);
  });

  it("whose attempts are used up is blocked", () => {
    const { fates, given } = noteFates();
    const held = heldStory(given);
    for (let n = 1; n <= 3; n++) {
      held.exits({ code: 1 });
      held.handsAnswer(`worker-1/1/restart/${n}`, { kind: "not-restarted", problem: "p" });
      held.passes("1m");
    }
    held.passes("20m");
    expect(fates.at(-1)).toBe("blocked: recoveries-exhausted");
  });

  it("that was handed off goes to others when the agent was stopped", () => {
    const { fates, given } = noteFates();
    const held = goesQuiet({ ...given, settings: noNudges, obedient: true });
    held.agent.decides("force_handoff");
    expect(fates).toEqual(["released: handed-off"]);
  });

  it("also of an agent that Rouse does not hold, and of one that was down already", () => {
    const unheld = noteFates();
    const agent = story(unheld.given);
    agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    agent.decides("force_handoff");
    expect(unheld.fates).toEqual(["released: handed-off"]);
    const down = noteFates();
    const held = heldStory({ ...down.given, settings: { restart: { max_attempts: 1 } } });
    held.exits({ code: 1 });
    held.handsAnswer("worker-1/1/restart/1", { kind: "not-restarted", problem: "p" });
    held.agent.decides("force_handoff");
    expect(down.fates.at(-1)).toBe("released: handed-off");
  });

  it("is let go of as well by an agent that was told so and is well again, or ends, before it could be stopped: that it ended does not make it done", () => {
    const well = noteFates();
    const held = goesQuiet({ ...well.given, settings: noNudges, work: null });
    held.agent.decides("force_handoff");
    held.prints(3);
    held.handsAnswer("worker-1/1/stop/decided/1/work", { kind: "work", work: { kind: "nothing-to-save" } });
    expect(well.fates).toEqual(["released: handed-off"]);
    const done = noteFates();
    const finishing = goesQuiet({ ...done.given, settings: noNudges, work: null });
    finishing.agent.decides("force_handoff");
    finishing.exits({ code: 0 });
    expect(done.fates).toEqual(["released: handed-off"]);
  });

  it("of an agent that is silent, not ours and a person's matter does not wait for it", () => {
    const { fates, given } = noteFates();
    const agent = story(given);
    agent.beats();
    agent.silentFor("1h");
    expect(fates).toEqual(["released: agent-gone"]);
  });
});
