import { availableParallelism } from "node:os";
import { beforeAll, describe, expect, it } from "vitest";
import { bundleSimulator, patience, simulateApart } from "./sim-run.test-support.ts";

// `npm run test:long`: as many worlds at once as there are cores (vitest.long.config.ts).

/** Six weeks of 300 coding agents are 302,400 agent-hours. */
const codingAgents = [2, 3, 4, 5, 6, 7].map(
  (seed) => ({ seed, agents: 300, held: 150, hours: 168, preset: "default" }) as const,
);
const fastFleet = { seed: 1, agents: 50, hours: 48, preset: "fleet" } as const;
/** One or two are judged normally. */
const fewAgents = [1, 2].map((agents) => ({ seed: 3, agents, hours: 72, preset: "fleet" }) as const);

const loudly = { progress: true };
let agentHours = 0;

beforeAll(async () => {
  process.stdout.write(`sim: ${codingAgents.length} weeks, ${availableParallelism()} at a time\n`);
  await bundleSimulator();
}, patience);

describe("everything that goes wrong", { timeout: 24 * patience }, () => {
  it.concurrent.each(codingAgents)(
    "in a week of coding agents: nobody healthy is stopped, nobody sick is left, nothing is done twice, and who dies is brought back from the right place (seed $seed)",
    async (week) => {
      const printed = await simulateApart(week, loudly);
      agentHours += printed.agentHours;
      const { violations, falseVerdicts, trueVerdicts, ladder, recoveryShare } = printed;
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
    },
  );

  it.concurrent("in two days of a fast fleet: nobody healthy is called ill, nobody sick is left, and a death at work is seen within 20 s", async () => {
    const fleet = await simulateApart(fastFleet, loudly);
    expect(fleet.violations).toEqual([]);
    expect(fleet.falseVerdicts).toBe(0);
    expect(fleet.detection.working.count).toBeGreaterThan(20);
    expect(fleet.detection.working.p95).toBeLessThan(20);
    expect(fleet.trueVerdicts.STUCK).toBeGreaterThan(0);
    expect(fleet.trueVerdicts.FAILING).toBeGreaterThan(0);
    expect(fleet.faults).toBeGreaterThan(10);
  });

  it.concurrent.each(fewAgents)(
    "in three days of so few that mass silence cannot excuse them: $agents",
    async (few) => {
      const { violations, trueVerdicts } = await simulateApart(few, loudly);
      expect(violations).toEqual([]);
      expect(trueVerdicts.UNRESPONSIVE).toBeGreaterThan(0);
    },
  );

  it.concurrent("in half a day is the same history for the same seed, and another for another", async () => {
    const world = { agents: 20, held: 12, hours: 12, preset: "fleet" } as const;
    const [first, again, other] = await Promise.all([4, 4, 5].map((seed) => simulateApart({ ...world, seed }, loudly)));
    expect(again).toEqual(first);
    expect(other?.fingerprint).not.toBe(first?.fingerprint);
  });

  it("in all 300,000 agent-hours of coding agents", () => {
    process.stdout.write(`sim: ${agentHours} agent-hours of coding agents in all\n`);
    expect(agentHours).toBeGreaterThan(300_000);
  });
});
