import type { ProcessFacts } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";

/** A stream opens a tool with a timeout of two minutes, then half an hour passes with these processes. */
function toolThatTakesLong(processes: (openedAt: number) => Partial<ProcessFacts>): readonly string[] {
  const { agent, passes, shows, processesShow } = heldStory({ hold: { family: "claude-code", structured: true } });
  passes("20m");
  shows({ kind: "tool-started", id: "t", name: "build", argsDigest: "a", timeoutSeconds: 120 });
  processesShow(processes(agent.now));
  passes("30m");
  return agent.record.health.findings.map(({ kind }) => kind);
}

describe("a request that goes on while nobody can look at its sockets", () => {
  /** Bytes trickle all the time; nobody looks for twenty minutes, then somebody looks again. */
  function looksAgain(bytes: number): readonly string[] {
    const { agent, passes, shows, processesShow } = heldStory({ hold: { family: "claude-code", structured: true } });
    passes("20m");
    shows({ kind: "model-asked" });
    processesShow({ network: null });
    passes("20m");
    processesShow({ network: { sockets: 1, bytes } });
    passes("10s");
    return agent.record.health.findings.map(({ kind }) => kind);
  }

  it("is not overdue at the first look in which they have moved since the last", () => {
    expect(looksAgain(5000)).not.toContain("overdue-call");
  });

  it("is overdue when they have not moved since the last", () => {
    expect(looksAgain(0)).toContain("overdue-call");
  });

  it("nor is it at the first look of all, which shows no rate", () => {
    const { agent, passes, shows, processesShow } = heldStory({ hold: { family: "claude-code", structured: true } });
    processesShow({ network: null });
    agent.silentFor(1000);
    shows({ kind: "model-asked" });
    passes("20m");
    processesShow({ network: { sockets: 1, bytes: 5000 } });
    passes("10s");
    expect(agent.record.seen.terminal?.tree?.busyAt).toBe(agent.now);
    expect(agent.record.health.findings.map(({ kind }) => kind)).not.toContain("overdue-call");
  });
});

describe("a tool that an agent told of in a heartbeat", () => {
  const beat = { status: "RUNNING", open: { kind: "tool", name: "build", timeoutSeconds: 120 } } as const;

  it("is not overdue by the agent's silence since: it may have ended long ago", () => {
    const { agent, passes, prints } = heldStory();
    prints();
    agent.beats(beat);
    passes("1h");
    expect(agent.finding("missed-beats")?.level).toBe("unresponsive");
    expect(agent.finding("overdue-call")).toBeUndefined();
  });

  it("is not overdue by its silence where hooks tell of other steps: they never told of this one", () => {
    const { agent, passes, report } = heldStory();
    report([], { eyes: [{ eye: "hooks", sees: true, because: null }] });
    agent.beats(beat);
    passes("15m");
    expect(agent.finding("overdue-call")).toBeUndefined();
  });

  it("is overdue when the agent says after its time that it is still open, and nothing of it lives", () => {
    const { agent, passes, prints } = heldStory();
    prints();
    for (let beats = 0; beats < 6; beats++) {
      agent.beats(beat);
      passes("5m");
    }
    expect(agent.finding("overdue-call")?.level).toBe("stuck");
  });
});

describe("a tool that is open beyond the time-out it declared", () => {
  it("is overdue when nothing of it lives any more", () => {
    expect(toolThatTakesLong(() => ({}))).toContain("overdue-call");
  });

  it("is not while a child lives that was started with it, though its holder told of the call a moment later", () => {
    const child = (openedAt: number) => ({ processes: 2, youngestChildAt: openedAt - 2000 });
    expect(toolThatTakesLong(child)).not.toContain("overdue-call");
  });

  it("is overdue when the only children are much older than it", () => {
    const server = (openedAt: number) => ({ processes: 2, youngestChildAt: openedAt - 600_000 });
    expect(toolThatTakesLong(server)).toContain("overdue-call");
  });

  it("is not while there are children and nobody could see when they were started", () => {
    expect(toolThatTakesLong(() => ({ processes: 2, youngestChildAt: null }))).not.toContain("overdue-call");
  });
});

describe("a tool that was found overdue", () => {
  it("is so still when the agent beats and its holder has not been heard for a while: nobody saw it end", () => {
    const held = heldStory({ hold: { family: "claude-code", structured: true } });
    held.shows({ kind: "tool-started", id: "t", name: "build", argsDigest: "a", timeoutSeconds: 60 });
    held.processesShow({ network: { sockets: 1, bytes: 0 } });
    held.passes("15m");
    expect(held.agent.state).toBe("STUCK");
    held.agent.silentFor("4m");
    held.agent.beats();
    expect(held.agent.state).toBe("STUCK");
    expect(held.agent.told("AGENT_RECOVERED")).toEqual([]);
  });
});
