import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import { story } from "../story.test-support.ts";

describe("a verdict from before the monitor was blind", () => {
  it("stands until the agent is heard again: an amnesty is no recovery", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.silentFor("20s");
    expect(agent.state).toBe("UNRESPONSIVE");
    agent.monitorIsBlindFor("10m");
    agent.silentFor("5s");
    expect(agent.state).toBe("UNRESPONSIVE");
    expect(agent.told("INCIDENT_CLOSED")).toEqual([]);
    agent.beats();
    expect(agent.state).toBe("HEALTHY");
  });

  it("stands of one that went round, too, until it shows what it does now", () => {
    const held = heldStory();
    for (let i = 0; i < 5; i++) {
      held.shows({ kind: "error", pattern: "error", digest: "e1", text: "error: no such file" });
      held.passes("1m");
    }
    expect(held.agent.state).toBe("STUCK");
    held.agent.monitorIsBlindFor("30m", "suspend");
    held.agent.silentFor("10s");
    expect(held.agent.state).toBe("STUCK");
    held.prints(6);
    expect(held.agent.state).toBe("HEALTHY");
  });

  it("stands if it was a mere warning, too", () => {
    const agent = story();
    agent.beatsEvery("5s", "11m", { lastCheckpoint: "c1" });
    expect(agent.state).toBe("DEGRADED");
    agent.monitorIsBlindFor("30m");
    agent.silentFor("1s");
    expect(agent.state).toBe("DEGRADED");
    agent.beats({ lastCheckpoint: "c2" });
    expect(agent.state).toBe("HEALTHY");
  });

  it("nobody falls ill by it who was well", () => {
    const agent = story({ preset: "fleet" });
    agent.beats();
    agent.monitorIsBlindFor("10m");
    agent.silentFor("5s");
    expect(agent.state).toBe("HEALTHY");
  });
});

describe("an agent that Rouse holds, after the monitor was blind", () => {
  /** The agent has been at its context limit for nearly as long as that may last. */
  function atItsLimit() {
    const settings = { terminal: { completion_timeout_minutes: 2 } };
    const held = heldStory({ hold: { family: "claude-code" }, settings });
    held.prints();
    held.shows({ kind: "context-limit", pattern: "context" });
    held.passes("115s");
    held.agent.monitorIsBlindFor("60s");
    return held;
  }

  it("is not judged by what was known before, until its holder has told what it saw", () => {
    const wroteOn = atItsLimit();
    wroteOn.agent.silentFor("10s");
    wroteOn.prints(20);
    wroteOn.passes("10s");
    expect(wroteOn.agent.past).not.toContainEqual(expect.stringContaining("STUCK"));
    const stood = atItsLimit();
    stood.passes("30s");
    expect(stood.agent.state).toBe("STUCK");
  });

  it("is judged at once when its holder is found gone, or its end is told", () => {
    const lost = atItsLimit();
    lost.holderIsLost("alive");
    expect(lost.agent.finding("holder-lost")).toBeDefined();
    const ended = atItsLimit();
    ended.report([], { exit: { code: 7, signal: null, cause: "by-itself" } }, 30_000);
    expect(ended.agent.finding("process-exited")).toBeDefined();
  });
});
