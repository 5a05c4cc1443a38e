import type { PresetName } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { Findings } from "./judge.ts";
import { simulate } from "./simulate.ts";

/** In a hurry or not, a run prints its seed: `npm run sim -- --seed N …` shows the same world again. */
async function run(seed: number, agents: number, hours: number, preset: PresetName): Promise<Findings> {
  const findings = await simulate({ seed, agents, hours, preset });
  process.stdout.write(
    `sim: seed ${seed}, ${preset}, ${agents} agents × ${hours} h = ${findings.agentHours} agent-hours, ` +
      `${findings.trueVerdicts.UNRESPONSIVE + findings.trueVerdicts.STUCK + findings.trueVerdicts.FAILING} right verdicts, ` +
      `P95 at work ${findings.detection.working.p95} s\n`,
  );
  return findings;
}

const noFalseVerdicts = { UNRESPONSIVE: 0, STUCK: 0, FAILING: 0 };

describe("everything that goes wrong", { timeout: 600_000 }, () => {
  it("in a fast fleet: nobody healthy is called ill, nobody sick is left, and a death at work is seen within 20 s", async () => {
    const findings = await run(1, 50, 48, "fleet");
    expect(findings.violations).toEqual([]);
    expect(findings.falseVerdicts).toEqual(noFalseVerdicts);
    expect(findings.detection.working.count).toBeGreaterThan(20);
    expect(findings.detection.working.p95).toBeLessThan(20);
    expect(findings.trueVerdicts.STUCK).toBeGreaterThan(0);
    expect(findings.trueVerdicts.FAILING).toBeGreaterThan(0);
    expect(findings.faults).toBeGreaterThan(10);
  });

  it("over fifty thousand agent-hours of coding agents: nobody healthy is called ill, nobody sick is left", async () => {
    const findings = await run(2, 300, 168, "default");
    expect(findings.agentHours).toBeGreaterThanOrEqual(50_000);
    expect(findings.violations).toEqual([]);
    expect(findings.falseVerdicts).toEqual(noFalseVerdicts);
    expect(findings.trueVerdicts.UNRESPONSIVE).toBeGreaterThan(500);
    expect(findings.trueVerdicts.STUCK).toBeGreaterThan(100);
  });

  it("a fleet of one or two is judged normally", async () => {
    for (const agents of [1, 2]) {
      const findings = await run(3, agents, 72, "fleet");
      expect(findings.violations).toEqual([]);
      expect(findings.trueVerdicts.UNRESPONSIVE).toBeGreaterThan(0);
    }
  });

  it("the same seed is the same history, another seed is another", async () => {
    const [first, again, other] = [
      await run(4, 10, 12, "fleet"),
      await run(4, 10, 12, "fleet"),
      await run(5, 10, 12, "fleet"),
    ];
    expect(again).toEqual(first);
    expect(other.fingerprint).not.toBe(first.fingerprint);
  });
});
