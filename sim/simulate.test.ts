import { describe, expect, it } from "vitest";
import { noFalseVerdicts, run } from "./sim-run.test-support.ts";

describe("everything that goes wrong", { timeout: 1_800_000 }, () => {
  it("in a fast fleet: nobody healthy is called ill, nobody sick is left, and a death at work is seen within 20 s", async () => {
    const findings = await run({ seed: 1, agents: 50, hours: 48, preset: "fleet" });
    expect(findings.violations).toEqual([]);
    expect(findings.falseVerdicts).toEqual(noFalseVerdicts);
    expect(findings.detection.working.count).toBeGreaterThan(20);
    expect(findings.detection.working.p95).toBeLessThan(20);
    expect(findings.trueVerdicts.STUCK).toBeGreaterThan(0);
    expect(findings.trueVerdicts.FAILING).toBeGreaterThan(0);
    expect(findings.faults).toBeGreaterThan(10);
  });

  it("a fleet of one or two is judged normally", async () => {
    for (const agents of [1, 2]) {
      const findings = await run({ seed: 3, agents, hours: 72, preset: "fleet" });
      expect(findings.violations).toEqual([]);
      expect(findings.trueVerdicts.UNRESPONSIVE).toBeGreaterThan(0);
    }
  });

  it("the same seed is the same history, another seed is another", async () => {
    const world = { agents: 20, held: 12, hours: 12, preset: "fleet" } as const;
    const [first, again, other] = [
      await run({ ...world, seed: 4 }),
      await run({ ...world, seed: 4 }),
      await run({ ...world, seed: 5 }),
    ];
    expect(again).toEqual(first);
    expect(other.fingerprint).not.toBe(first.fingerprint);
  });
});
