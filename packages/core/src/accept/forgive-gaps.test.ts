import { describe, expect, it } from "vitest";
import { goesQuiet, isAsked } from "../ladder-story.test-support.ts";

describe("the time in which Rouse itself was away", () => {
  it("is no part of the time an orchestrator has to answer", () => {
    const held = isAsked();
    held.passes("1m");
    held.agent.monitorIsBlindFor("60m", "restart");
    held.passes("13m");
    expect(held.agent.told("ESCALATION_UNANSWERED")).toEqual([]);
    held.agent.decides("allow_more_time", { more: "20m" });
    expect(held.agent.told("ESCALATION_DECIDED")).toHaveLength(1);
  });

  it("that began before the question was asked gives it no more time", () => {
    const held = goesQuiet({ hold: { input: "none" } });
    const asked = held.agent.now;
    const stage = () => held.agent.record.ladder.incident?.stage;
    expect(stage()).toMatchObject({ kind: "escalated", escalation: { until: asked + 900_000 } });
    held.agent.monitorIsBlindFor("10m");
    held.passes("10s");
    expect(stage()).toMatchObject({ escalation: { until: asked + 1_500_000 } });
    held.passes("1m");
    expect(stage()).toMatchObject({ escalation: { until: asked + 1_500_000 } });
  });

  it("is no part of the time between two nudges, nor of the time to see one", () => {
    const held = goesQuiet();
    held.agent.monitorIsBlindFor("60m", "restart");
    held.passes("10s");
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    expect(held.agent.told("NUDGE_UNCONFIRMED")).toEqual([]);
    held.passes("10m");
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(2);
  });

  it("is no part of more time that was allowed, nor of the time a replacement is watched", () => {
    const allowed = isAsked();
    allowed.agent.decides("allow_more_time", { more: "20m" });
    allowed.agent.monitorIsBlindFor("60m");
    allowed.passes("19m");
    expect(allowed.agent.record.ladder.incident?.stage.kind).toBe("more-time");
    allowed.passes("2m");
    expect(allowed.agent.told("ESCALATION_TRIGGERED")).toHaveLength(2);
    const replaced = isAsked();
    replaced.passes("15m");
    expect(replaced.agent.record.ladder.incident?.stage.kind).toBe("probation");
    replaced.agent.monitorIsBlindFor("60m");
    for (let minute = 0; minute < 14; minute++) {
      replaced.passes("1m");
      replaced.prints();
    }
    expect(replaced.agent.record.ladder.incident?.stage.kind).toBe("probation");
    replaced.passes("2m");
    expect(replaced.agent.record.ladder.incident).toBeNull();
  });

  it("is counted once, however it was noticed", () => {
    const held = isAsked();
    const stage = () => held.agent.record.ladder.incident?.stage;
    const until = held.agent.now + 900_000;
    const { now } = held.agent;
    held.agent.monitorIsBlindFor("10m", "suspend");
    held.agent.monitorAlsoMissed(now, held.agent.now, "stall");
    held.passes("10s");
    expect(stage()).toMatchObject({ escalation: { until: until + 600_000 } });
  });
});
