import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { heldStory } from "../held-story.test-support.ts";
import type { Signal } from "../signal.ts";
import { type Story, story } from "../story.test-support.ts";
import { endedCalls } from "./ended-calls.ts";

const started = (id: string, name: string): Sight => ({
  kind: "tool-started",
  ...{ id, name, argsDigest: `a${id}`, timeoutSeconds: null },
});
const ended = (id: string, failed: boolean, more: Partial<Extract<Sight, { kind: "tool-ended" }>> = {}): Sight => ({
  kind: "tool-ended",
  ...{ id, failed, resultDigest: `r${id}`, ...more },
});

/** What each signal ended, as the monitor would tell the breakers. */
function listen(agent: Story) {
  const told: string[] = [];
  const hear = (signal: Signal): void => {
    told.push(...endedCalls(agent.record, signal).map(({ tool, failed }) => `${tool} ${failed ? "failed" : "well"}`));
    agent.take(signal);
  };
  return { told, hear };
}

function heldAgent(structured: boolean) {
  const held = heldStory({ hold: { structured } });
  const { told, hear } = listen(held.agent);
  return {
    ...{ held, told, hear },
    shows(...sights: Sight[]): void {
      const before = held.agent.record;
      const { signal } = held.shows(...sights);
      told.push(...endedCalls(before, signal).map(({ tool, failed }) => `${tool} ${failed ? "failed" : "well"}`));
    },
  };
}

describe("calls that ended", () => {
  it("are those of the program's stream, by the names they were started with", () => {
    const { shows, told } = heldAgent(true);
    shows(started("1", "Bash"), started("2", "Read"));
    shows(ended("1", true));
    shows(ended("2", false), started("3", "Bash"), ended("3", true));
    expect(told).toEqual(["Bash failed", "Read well", "Bash failed"]);
  });

  it("count once when the agent tells of its steps beside its stream", () => {
    const { shows, hear, told } = heldAgent(true);
    shows(started("1", "Bash"), ended("1", true));
    hear({ kind: "stepped", events: [{ kind: "tool_result", id: "1", tool: "Bash", failed: true }] });
    expect(told).toEqual(["Bash failed"]);
  });

  it("are what the agent tells of its steps, where its program is not seen at work", () => {
    const { shows, hear, told } = heldAgent(false);
    shows(started("1", "Bash"), ended("1", true));
    hear({ kind: "stepped", events: [{ kind: "tool_call", id: "1", tool: "grep" }] });
    hear({ kind: "stepped", events: [{ kind: "tool_result", id: "1", failed: true }] });
    expect(told).toEqual(["grep failed"]);
  });

  it("are known by their id, or by being the only one open; otherwise by no name", () => {
    const toldOf = (open: readonly string[], result: object) => {
      const { told, hear } = listen(story());
      for (const tool of open)
        hear({ kind: "stepped", events: [{ kind: "tool_call", id: `of ${tool}`, tool, failed: true }] });
      hear({ kind: "stepped", events: [{ kind: "tool_result", failed: true, ...result }] });
      return told;
    };
    expect(toldOf([], {})).toEqual(["null failed"]);
    expect(toldOf(["grep"], {})).toEqual(["grep failed"]);
    expect(toldOf(["grep"], { id: "another" })).toEqual(["null failed"]);
    expect(toldOf(["grep", "ls"], { id: "of ls" })).toEqual(["ls failed"]);
    expect(toldOf(["grep", "ls"], {})).toEqual(["null failed"]);
  });

  it("are none that were called off, that nobody could read, or that came after the end", () => {
    const { held, shows, told } = heldAgent(true);
    shows(ended("1", true, { cancelled: true }), ended("2", true, { resultDigest: "" }));
    held.exits({ code: 1 });
    shows(ended("3", true));
    const agent = story();
    const { told: steps, hear } = listen(agent);
    hear({ kind: "stepped", events: [{ kind: "tool_result", tool: "a", failed: true, cancelled: true }] });
    hear({ kind: "stepped", events: [{ kind: "tool_result", tool: "a" }] });
    expect([...told, ...steps]).toEqual([]);
  });

  it("of many told at once are those since the last that went well: what failed before it is over", () => {
    const { shows, told } = heldAgent(true);
    shows(...[1, 2, 3, 4, 5, 6].map((n) => ended(String(n), true)), ended("7", false), ended("8", true));
    expect(told).toEqual(["null well", "null failed"]);
    shows(ended("9", true), ended("10", true));
    expect(told.slice(2)).toEqual(["null failed", "null failed"]);
  });
});
