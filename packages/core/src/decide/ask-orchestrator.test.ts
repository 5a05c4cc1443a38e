import { describe, expect, it } from "vitest";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { openEscalation } from "../intervene/escalation-life.ts";
import { goesQuiet, isAsked } from "../ladder-story.test-support.ts";
import { policyOf } from "../story.test-support.ts";
import { unanswered } from "./ask-orchestrator.ts";
import { kindsOfEvidence } from "./evidence.ts";

/** The agent is out of reach, so somebody is asked at once. */
const outOfReach = (given: HeldGiven = {}): HeldStory =>
  heldStory({ processes: "busy", ...given, hold: { input: "none" } });

function calls(held: HeldStory, args: string, result: string): void {
  held.agent.take({ kind: "stepped", events: [{ kind: "tool_call", tool: "shell", args_digest: args }] });
  held.agent.take({ kind: "stepped", events: [{ kind: "error", text_digest: result }] });
  held.agent.silentFor(5000);
}

/** The same call with the same failure. */
function repeatsItself(held: HeldStory): void {
  for (let i = 0; i < 6; i++) calls(held, "same", "same");
}

/** Several calls in turn, and round again. */
function goesInCycles(held: HeldStory): void {
  for (let i = 0; i < 12; i++) calls(held, `${"abc"[i % 3]}`, `${"abc"[i % 3]}`);
}

/** The agent does something new and is well. */
function goesOn(held: HeldStory): void {
  const fresh = `new at ${held.agent.now}`;
  held.agent.take({ kind: "stepped", events: [{ kind: "tool_call", tool: "edit", args_digest: fresh }] });
  held.agent.take({ kind: "stepped", events: [{ kind: "tool_result", text_digest: fresh }] });
  held.passes("30s");
}

const kindsOf = ({ agent }: HeldStory): string[] =>
  [...kindsOfEvidence(agent.record, { ...agent.context, policy: policyOf("default") })].sort();
const asked = ({ agent }: HeldStory) => agent.when("ESCALATION_TRIGGERED");
const causes = ({ agent }: HeldStory) => agent.told("INCIDENT_OPENED").map(({ cause }) => cause);

describe("whoever was asked about an agent", () => {
  const hour = { intervention: { nudge: { enabled: false }, escalation: { timeout_seconds: 3600 } } };

  it("is not asked about the same at once when it was well for a moment", () => {
    const held = goesQuiet({ hold: { input: "none" }, settings: hour });
    held.prints(9);
    held.passes("59m");
    expect(causes(held)).toEqual(["no-output", "no-output"]);
    expect(asked(held)).toEqual(["900s ESCALATION_TRIGGERED"]);
    held.passes("2m");
    expect(asked(held)).toEqual(["900s ESCALATION_TRIGGERED", "4500s ESCALATION_TRIGGERED"]);
  });

  it("nor when it goes round in another way", () => {
    const held = outOfReach({ settings: hour });
    repeatsItself(held);
    goesOn(held);
    goesInCycles(held);
    held.passes("10m");
    expect(causes(held)).toEqual(["identical-step", "error-streak"]);
    expect(asked(held)).toHaveLength(1);
  });

  it("is asked at once about something else", () => {
    const held = outOfReach({ settings: hour });
    repeatsItself(held);
    goesOn(held);
    held.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    expect(causes(held)).toEqual(["identical-step", "consecutive-failures"]);
    expect(asked(held)).toHaveLength(2);
    held.agent.beats({ healthMetrics: { consecutiveFailures: 0 } });
    goesOn(held);
    repeatsItself(held);
    expect(asked(held)).toHaveLength(3);
  });

  it("is asked again as soon as the time is over that they gave", () => {
    const held = goesQuiet({ hold: { input: "none" } });
    held.agent.decides("allow_more_time", { more: "1m" });
    held.passes("1m");
    expect(asked(held)).toEqual(["900s ESCALATION_TRIGGERED", "960s ESCALATION_TRIGGERED"]);
  });
});

describe("what is announced to follow without an answer", () => {
  const stream = { structured: true, input: "stdin" } as const;
  const otherwise = ({ agent }: HeldStory) => openEscalation(agent.record)?.otherwise;

  /** The agent confirms every nudge and does nothing about it. */
  function ignores(held: HeldStory, minutes: number): void {
    for (let i = 0; i < minutes; i++) {
      const { nudge } = held.agent.record.ladder;
      if (nudge?.state === "sent") held.shows({ kind: "nudge-read", nudge: nudge.id });
      held.passes("1m");
    }
  }

  it("is a stop where two kinds of evidence speak against it", () => {
    expect(otherwise(isAsked())).toEqual({ kind: "stop" });
  });

  it("is that a person gets it where its policy protects it", () => {
    expect(otherwise(isAsked({ settings: { protected: true } }))).toEqual({ kind: "hand-over", because: "protected" });
  });

  it("is that it runs on where it is only quiet, although it has read what it was told and did nothing", () => {
    const held = goesQuiet({ hold: stream });
    ignores(held, 50);
    expect(asked(held)).toHaveLength(2);
    expect(kindsOf(held)).toEqual(["absence", "unanswered-nudge"]);
    expect(otherwise(held)).toEqual({ kind: "keep" });
    // The same holds where the incident was opened for another cause, which is over.
    const { record, context } = held.agent;
    const { incident } = record.ladder;
    if (incident === null) return expect.fail("nothing is the matter with it");
    expect(unanswered(record, { ...incident, cause: "no-progress" }, context)).toEqual({ kind: "keep" });
  });
});
