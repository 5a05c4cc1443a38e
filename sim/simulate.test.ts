import { beforeAll, describe, expect, it } from "vitest";
import { bundleSimulator, patience, simulateApart } from "./sim-run.test-support.ts";

// Half a day of each kind, with every `npm test`. The weeks are in long.test.ts, for `npm run test:long`.

const coding = { agents: 300, held: 150, hours: 12, preset: "default" } as const;
const fleet = { agents: 50, hours: 12, preset: "fleet" } as const;

beforeAll(bundleSimulator, patience);

describe("everything that goes wrong in half a day", { timeout: patience }, () => {
  it.each([2, 3])(
    "of coding agents and tasks: nobody healthy is stopped, nobody sick is left, nothing is done twice or lost, and who dies is brought back from the right place (seed %i)",
    async (seed) => {
      const { violations, falseVerdicts, trueVerdicts, ladder, recoveryShare, tasks } = await simulateApart({
        ...coding,
        seed,
      });
      expect(violations).toEqual([]);
      expect(falseVerdicts).toBe(0);
      expect(trueVerdicts.UNRESPONSIVE).toBeGreaterThan(20);
      expect(trueVerdicts.STUCK).toBeGreaterThan(10);
      expect(trueVerdicts.FAILING).toBeGreaterThan(0);
      expect(ladder).toMatchObject({ healthyStopped: 0, auditSound: true });
      expect(ladder?.stops).toBeGreaterThan(5);
      expect(ladder?.mostStopsInWindow).toBeLessThanOrEqual(6);
      expect(ladder?.recoverable).toBeGreaterThan(10);
      expect(recoveryShare).toBeGreaterThan(0.95);
      expect(ladder?.intervention.count).toBeGreaterThan(50);
      expect(ladder?.intervention.mean).toBeLessThan(600);
      expect(tasks?.completed).toBeGreaterThan(100);
      expect(tasks?.givenBack).toMatchObject({ "agent-gone": expect.any(Number), "timed-out": expect.any(Number) });
      expect(Math.min(...Object.values(tasks?.told ?? {}))).toBeGreaterThan(20);
      expect(tasks?.fewerAssignments).toBeGreaterThan(3);
    },
  );

  it("of a fast fleet: nobody healthy is called ill, nobody sick is left, and a death at work is seen within 20 s", async () => {
    const { violations, falseVerdicts, detection, faults } = await simulateApart({ ...fleet, seed: 1 });
    expect(violations).toEqual([]);
    expect(falseVerdicts).toBe(0);
    expect(detection.working.count).toBeGreaterThan(5);
    expect(detection.working.p95).toBeLessThan(20);
    expect(faults).toBeGreaterThan(3);
  });

  it("is the same history for the same seed, and another for another", async () => {
    const world = { agents: 100, held: 50, hours: 6, preset: "default" } as const;
    const first = await simulateApart({ ...world, seed: 4 });
    expect(await simulateApart({ ...world, seed: 4 })).toEqual(first);
    expect((await simulateApart({ ...world, seed: 5 })).fingerprint).not.toBe(first.fingerprint);
  });
});
