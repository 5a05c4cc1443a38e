import { selfCheckFrom, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { story } from "../story.test-support.ts";
import { type Presence, presenceOf, watchDeaths } from "./watch-deaths.ts";

const policy = selfCheckFrom(settingsOf("fleet"));
const { massSilenceWindow: window } = policy;

/** Agents that live, and what happens to them. */
function watch({ there = 0, node = null }: { there?: number; node?: string | null } = {}) {
  const deaths = watchDeaths(() => policy);
  let now = 1000;
  const is = (agentId: string, presence: Presence, on = node) => deaths.note(agentId, on, presence, now);
  for (let i = 1; i <= there; i++) is(`w${i}`, "there");
  const passes = (duration: number) => {
    now += duration;
  };
  return { deaths, is, passes, mayBeMany: () => deaths.mayBeMany(now) };
}

describe("how an agent stands among the others", () => {
  it("one that has finished, or was ended, is gone, whatever its process says", () => {
    const done = heldStory({ taskId: "t" });
    done.exits({ code: 0 });
    expect(presenceOf(done.agent.record)).toBe("gone");
    const ended = heldStory({ taskId: "t" });
    ended.exits({ code: 7 });
    expect(presenceOf(ended.agent.record)).toBe("died");
    const { health } = ended.agent.record;
    expect(presenceOf({ ...ended.agent.record, health: { ...health, state: "TERMINATED" } })).toBe("gone");
    const { work } = done.agent.record;
    expect(presenceOf({ ...ended.agent.record, work })).toBe("gone");
  });

  it("one whose end nobody holds against it, or whose person saw it, has not died", () => {
    const stopped = heldStory({ taskId: "t" });
    stopped.exits({ signal: "SIGTERM", cause: "stopped" });
    expect(presenceOf(stopped.agent.record)).toBe("gone");
    const ended = heldStory({ taskId: "t" });
    ended.exits({ code: 7 });
    expect(presenceOf({ ...ended.agent.record, health: { ...ended.agent.record.health, findings: [] } })).toBe("gone");
    const seen = heldStory({ hold: { foreground: true } });
    seen.exits({ code: 7 });
    expect(seen.agent.record.health.findings.map(({ kind }) => kind)).toEqual(["process-exited"]);
    expect(presenceOf(seen.agent.record)).toBe("gone");
  });

  it("one that ended at its limit is neither there nor dead, until nobody brings it back after it", () => {
    const ended = heldStory({
      hold: { family: "claude-code", input: "terminal" },
      taskId: "t",
      settings: { mode: "assist" },
    });
    const limit = {
      kind: "rate-limited",
      pattern: "limit-hit",
      resetsInMs: 3 * 3_600_000,
      by: "text",
      what: "usage",
    } as const;
    ended.report([limit], { exit: { code: 1, signal: null, cause: "by-itself" } });
    expect(presenceOf(ended.agent.record)).toBe("at-limit");
    ended.passes("4h");
    expect(ended.agent.record.health.state).toBe("UNRESPONSIVE");
    expect(presenceOf(ended.agent.record)).toBe("died");
  });

  it("one that misses beats is silent", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    expect(presenceOf(agent.record)).toBe("there");
    agent.silentFor("1h");
    expect(presenceOf(agent.record)).toBe("silent");
  });
});

describe("who died lately", () => {
  it("counts for the whole window and not longer", () => {
    const { is, passes } = watch({ there: 4 });
    is("w1", "died");
    is("w2", "died");
    passes(window);
    expect(is("w3", "died").many).toMatchObject([{ agents: ["w1", "w2", "w3"] }]);
    passes(1);
    expect(is("w4", "died").many).toEqual([]);
  });

  it("is one that was there: silent or not, but neither down nor gone nor unknown", () => {
    const { is } = watch({ there: 3 });
    is("w1", "silent");
    expect(is("w1", "died").died).toBe(true);
    is("w2", "gone");
    expect(is("w2", "died").died).toBe(false);
    expect(is("w3", "died").died).toBe(true);
    expect(is("w3", "died").died).toBe(false);
    expect(is("w9", "died").died).toBe(false);
  });

  it("is one that ended at a limit and cannot be started after it", () => {
    const { is } = watch({ there: 3 });
    for (const agentId of ["w1", "w2", "w3"]) expect(is(agentId, "at-limit").died).toBe(false);
    expect(is("w1", "died").died).toBe(true);
    is("w2", "died");
    expect(is("w3", "died").many).toMatchObject([{ agents: ["w1", "w2", "w3"] }]);
  });

  it("is no incident as two of two", () => {
    const { is } = watch({ there: 2 });
    is("w1", "died");
    expect(is("w2", "died").many).toEqual([]);
  });

  it("is counted among those that are there as long as it is down, once", () => {
    // Three of ten are 30 %, of eleven not.
    const { is, passes } = watch({ there: 11 });
    is("w1", "died");
    is("w2", "died");
    expect(is("w3", "died").many).toEqual([]);
    // Two come back, one is done: ten count, with the one that is down.
    is("w1", "there");
    is("w2", "gone");
    passes(window + 1);
    is("w1", "died");
    is("w4", "died");
    // w3 has been down for longer than the window, so it does not count.
    expect(is("w5", "died").many).toMatchObject([{ agents: ["w1", "w4", "w5"], of: 9 }]);
  });

  it("that comes back and dies again died the second time", () => {
    const { is, passes } = watch({ there: 4 });
    is("w1", "died");
    passes(window - 1);
    is("w2", "died");
    is("w1", "there");
    is("w1", "died");
    passes(2);
    // The first death has aged out, and the search stops at the first that has not.
    expect(is("w3", "died").many).toMatchObject([{ agents: ["w2", "w1", "w3"], of: 4 }]);
  });

  it("and lived again when its time was over is not taken off twice", () => {
    const { is, passes } = watch({ there: 3 });
    is("w1", "died");
    is("w1", "there");
    passes(window + 1);
    is("w2", "died");
    expect(is("w3", "died").many).toEqual([]);
    expect(is("w1", "died").many).toMatchObject([{ of: 3 }]);
  });

  it("and stays down after its time is over is not taken off twice when it lives again", () => {
    const { is, passes } = watch({ there: 4 });
    is("w1", "died");
    passes(window + 1);
    is("w2", "died");
    is("w1", "there");
    is("w3", "died");
    expect(is("w4", "died").many).toMatchObject([{ of: 4 }]);
  });

  it("is forgotten with the agent", () => {
    const { is, deaths } = watch({ there: 5 });
    is("w1", "died");
    is("w2", "died");
    deaths.forget("w1");
    deaths.forget("w5");
    expect(is("w3", "died").many).toEqual([]);
    expect(is("w4", "died").many).toMatchObject([{ agents: ["w2", "w3", "w4"], of: 3 }]);
  });

  it("on one node counts there, and no more where it was before", () => {
    const { is } = watch({ there: 3, node: "a" });
    for (let i = 1; i <= 20; i++) is(`v${i}`, "there", "b");
    is("w3", "there", "b");
    is("w1", "died");
    is("w2", "died");
    is("w4", "there");
    expect(is("w4", "died").many).toMatchObject([{ agents: ["w1", "w2", "w4"], of: 3 }]);
  });

  it("and lives on another node is none that died where it was", () => {
    const { is } = watch({ there: 3, node: "a" });
    for (let i = 1; i <= 20; i++) is(`v${i}`, "there", "b");
    is("w3", "died");
    is("w3", "there", "b");
    is("w1", "died");
    expect(is("w2", "died").many).toEqual([]);
  });

  it("may be one of many where three are there or down lately", () => {
    const { is, mayBeMany } = watch({ there: 2 });
    is("w3", "silent");
    expect(mayBeMany()).toBe(true);
    is("w3", "gone");
    expect(mayBeMany()).toBe(false);
  });
});
