import { expect } from "vitest";
import type { Findings } from "./judge.ts";
import { type SimulationOptions, simulate } from "./simulate.ts";

/** In a hurry or not, a run prints its seed: `npm run sim -- --seed N …` shows the same world again. */
export async function run(options: SimulationOptions): Promise<Findings> {
  const findings = await simulate(options);
  const { seed, preset, agents, held = 0, hours } = options;
  const { trueVerdicts: right, detection, ladder } = findings;
  const done =
    ladder === null
      ? ""
      : `, ${ladder.stops} stops, ${ladder.broughtBack} of ${ladder.recoverable} brought back, done after ${ladder.intervention.mean} s on average`;
  process.stdout.write(
    `sim: seed ${seed}, ${preset}, ${agents} agents (${held} held) × ${hours} h = ${findings.agentHours} agent-hours, ` +
      `${right.UNRESPONSIVE + right.STUCK + right.FAILING} right verdicts, P95 at work ${detection.working.p95} s${done}\n`,
  );
  return findings;
}

export const noFalseVerdicts = { UNRESPONSIVE: 0, STUCK: 0, FAILING: 0 };

/** A week of three hundred coding agents, half of them held, with everything that goes wrong. */
export async function expectAGoodWeek(seed: number): Promise<void> {
  const findings = await run({ seed, agents: 300, held: 150, hours: 168, preset: "default" });
  expect(findings.violations).toEqual([]);
  expect(findings.agentHours).toBeGreaterThanOrEqual(50_400);
  expect(findings.falseVerdicts).toEqual(noFalseVerdicts);
  expect(findings.trueVerdicts.UNRESPONSIVE).toBeGreaterThan(500);
  expect(findings.trueVerdicts.STUCK).toBeGreaterThan(300);
  expect(findings.trueVerdicts.FAILING).toBeGreaterThan(20);
  const { ladder } = findings;
  if (ladder === null) throw new Error("nobody was held");
  expect(ladder.healthyStopped).toBe(0);
  expect(ladder.stops).toBeGreaterThan(200);
  expect(ladder.mostStopsInWindow).toBeGreaterThanOrEqual(5);
  expect(ladder.recoverable).toBeGreaterThan(300);
  expect(ladder.broughtBack / ladder.recoverable).toBeGreaterThan(0.95);
  expect(ladder.intervention.count).toBeGreaterThan(1000);
  expect(ladder.intervention.mean).toBeLessThan(600);
  expect(ladder.auditSound).toBe(true);
}
