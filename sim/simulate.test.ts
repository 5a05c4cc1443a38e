import { describe, expect, inject, it } from "vitest";
import { simulateApart } from "./sim-run.test-support.ts";
import { awaitWeeks } from "./two-weeks.test-support.ts";

/** A hang is a failure; a slow machine is not. */
const timeout = 1_800_000;

describe("everything that goes wrong", { timeout }, () => {
  it("in two whole weeks of coding agents: nobody healthy is stopped, nobody sick is left, nothing is done twice, and who dies is brought back from the right place", async () => {
    const worlds = await awaitWeeks(inject("weeks"));
    expect(worlds.reduce((sum, { agentHours }) => sum + agentHours, 0)).toBeGreaterThan(100_000);
    for (const { violations, falseVerdicts, trueVerdicts, ladder, recoveryShare } of worlds) {
      expect(violations).toEqual([]);
      expect(falseVerdicts).toBe(0);
      expect(trueVerdicts.UNRESPONSIVE).toBeGreaterThan(500);
      expect(trueVerdicts.STUCK).toBeGreaterThan(300);
      expect(trueVerdicts.FAILING).toBeGreaterThan(30);
      expect(ladder).toMatchObject({ healthyStopped: 0, auditSound: true });
      expect(ladder?.stops).toBeGreaterThan(200);
      expect(ladder?.mostStopsInWindow).toBeLessThanOrEqual(6);
      expect(ladder?.recoverable).toBeGreaterThan(300);
      expect(recoveryShare).toBeGreaterThan(0.95);
      expect(ladder?.intervention.count).toBeGreaterThan(1000);
      expect(ladder?.intervention.mean).toBeLessThan(600);
    }
  });

  it("in a fast fleet: nobody healthy is called ill, nobody sick is left, and a death at work is seen within 20 s", async () => {
    const [fleet, ...small] = await Promise.all([
      simulateApart({ seed: 1, agents: 50, hours: 48, preset: "fleet" }),
      simulateApart({ seed: 3, agents: 1, hours: 72, preset: "fleet" }),
      simulateApart({ seed: 3, agents: 2, hours: 72, preset: "fleet" }),
    ]);
    expect(fleet.violations).toEqual([]);
    expect(fleet.falseVerdicts).toBe(0);
    expect(fleet.detection.working.count).toBeGreaterThan(20);
    expect(fleet.detection.working.p95).toBeLessThan(20);
    expect(fleet.trueVerdicts.STUCK).toBeGreaterThan(0);
    expect(fleet.trueVerdicts.FAILING).toBeGreaterThan(0);
    expect(fleet.faults).toBeGreaterThan(10);
    // One or two are judged normally.
    for (const { violations, trueVerdicts } of small) {
      expect(violations).toEqual([]);
      expect(trueVerdicts.UNRESPONSIVE).toBeGreaterThan(0);
    }
  });

  it("the same seed is the same history, another seed is another", async () => {
    const world = { agents: 20, held: 12, hours: 12, preset: "fleet" } as const;
    const [first, again, other] = await Promise.all([4, 4, 5].map((seed) => simulateApart({ ...world, seed })));
    expect(again).toEqual(first);
    expect(other?.fingerprint).not.toBe(first?.fingerprint);
  });
});
