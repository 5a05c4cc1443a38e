import type { KillBudget } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { brakeOf, type KillSignal, killBudgetMachine, noKills } from "./kill-budget.ts";

const usual: KillBudget = { hostInterval: 10_000, hostBurst: 2, fleetKills: 6, fleetWindow: 600_000 };

const budgets: fc.Arbitrary<KillBudget> = fc.record({
  hostInterval: fc.integer({ min: 1, max: 20 }).map((s) => s * 1000),
  hostBurst: fc.integer({ min: 1, max: 4 }),
  fleetKills: fc.integer({ min: 1, max: 8 }),
  fleetWindow: fc.integer({ min: 1, max: 90 }).map((s) => s * 1000),
});

interface Wish {
  readonly host: string;
  readonly after: number;
  /** The monitor restarts before it. */
  readonly resumed: boolean;
}

const wishes: fc.Arbitrary<readonly Wish[]> = fc.array(
  fc.record({
    host: fc.constantFrom("a", "a", "b"),
    after: fc.oneof(
      fc.constant(0),
      fc.nat(12).map((s) => s * 1000),
      fc.nat(20_000),
    ),
    resumed: fc.constantFrom(false, false, true),
  }),
  { maxLength: 80, size: "max" },
);

function keepBudget(policy: KillBudget, saved = killBudgetMachine.serialise(noKills)) {
  let record = killBudgetMachine.restore(saved);
  const step = (signal: KillSignal, now: number) => {
    const stepped = killBudgetMachine.step(record, signal, { now, policy });
    record = stepped.record;
    return stepped.events;
  };
  return {
    brake: (host: string, now: number) => brakeOf(record, host, now, policy),
    spend: (host: string, now: number) => step({ kind: "spent", host }, now),
    wakes: (now: number) => step({ kind: "wake" }, now),
    wakeAt: () => killBudgetMachine.wakeAt(record),
    kills: () => record.kills,
    save: () => killBudgetMachine.serialise(record),
  };
}

interface Attempt {
  readonly at: number;
  readonly host: string;
  readonly brake: ReturnType<typeof brakeOf>;
}

/** Every agent that may be stopped is stopped. */
function live(budget: KillBudget, wanted: readonly Wish[], mayResume: boolean): readonly Attempt[] {
  let keeper = keepBudget(budget);
  let now = 1_000_000;
  return wanted.map(({ host, after, resumed }) => {
    now += after;
    if (resumed && mayResume) keeper = keepBudget(budget, keeper.save());
    const brake = keeper.brake(host, now);
    if (brake === null) keeper.spend(host, now);
    return { at: now, host, brake };
  });
}

const killsOf = (attempts: readonly Attempt[]) => attempts.filter(({ brake }) => brake === null);

/** Whether one more kill on this host now would exceed what a bucket of this size ever gives. */
function overflows({ hostInterval, hostBurst }: KillBudget, before: readonly Attempt[], now: number): boolean {
  return before.some(({ at }, i) => before.length - i + 1 > hostBurst + (now - at) / hostInterval);
}

describe("the budget for stopping agents", () => {
  it("lets two of a host go at once, then one every ten seconds", () => {
    const keeper = keepBudget(usual);
    keeper.spend("a", 0);
    keeper.spend("a", 0);
    expect(keeper.brake("a", 0)).toEqual({ because: "host-budget", until: 10_000 });
    expect(keeper.brake("a", 9_999)).toEqual({ because: "host-budget", until: 10_000 });
    expect(keeper.brake("b", 0)).toBeNull();
    expect(keeper.brake("a", 10_000)).toBeNull();
  });

  it("lets six of the fleet go in ten minutes, then the brake takes hold until the first is ten minutes old", () => {
    const keeper = keepBudget(usual);
    for (let n = 0; n < 6; n++) keeper.spend(`host-${n}`, n * 1000);
    expect(keeper.brake("host-9", 6000)).toEqual({ because: "fleet-budget", until: 600_000 });
    expect(keeper.brake("host-9", 600_000)).toBeNull();
  });

  it("tells when the brake takes hold and when it lets go, each once", () => {
    const keeper = keepBudget(usual);
    for (let n = 0; n < 5; n++) expect(keeper.spend(`host-${n}`, 0)).toEqual([]);
    expect(keeper.wakeAt()).toBeNull();
    expect(keeper.spend("host-5", 0)).toEqual([{ type: "BRAKE_STARTED", payload: { kills: 6, windowSeconds: 600 } }]);
    expect(keeper.wakeAt()).toBe(600_000);
    expect(keeper.wakes(599_999)).toEqual([]);
    const later = keepBudget(usual, keeper.save());
    expect(later.wakes(600_000)).toEqual([{ type: "BRAKE_ENDED", payload: { lastedSeconds: 600 } }]);
    expect(later.wakes(700_000)).toEqual([]);
  });

  it("knows what an earlier version saved", () => {
    const kills = [0, 1].map(() => ({ at: 0, host: "a", fullAt: 20_000 }));
    expect(keepBudget(usual, JSON.stringify(kills)).brake("a", 0)).toEqual({ because: "host-budget", until: 10_000 });
  });

  it("is never exceeded in any window, of the fleet or of a host", () => {
    fc.assert(
      fc.property(budgets, wishes, (budget, wanted) => {
        const kills = killsOf(live(budget, wanted, true));
        for (const { at } of kills)
          expect(kills.filter((one) => one.at > at - budget.fleetWindow && one.at <= at).length).toBeLessThanOrEqual(
            budget.fleetKills,
          );
        for (const host of ["a", "b"]) {
          const own = kills.filter((one) => one.host === host);
          for (const [i, { at }] of own.entries()) expect(overflows(budget, own.slice(0, i), at)).toBe(false);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("is never refused while there is some left, and says to the millisecond when there will be", () => {
    fc.assert(
      fc.property(budgets, wishes, (budget, wanted) => {
        const attempts = live(budget, wanted, true);
        for (const [i, { at, host, brake }] of attempts.entries()) {
          if (brake === null) continue;
          const before = killsOf(attempts.slice(0, i));
          const own = before.filter((one) => one.host === host);
          const isFull = (now: number): boolean =>
            brake.because === "fleet-budget"
              ? before.filter((one) => one.at > now - budget.fleetWindow).length >= budget.fleetKills
              : overflows(budget, own, now);
          expect([isFull(at), isFull(brake.until - 1), isFull(brake.until)]).toEqual([true, true, false]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("is the same across a restart of the monitor, whenever that comes", () => {
    fc.assert(
      fc.property(budgets, wishes, (budget, wanted) => {
        expect(live(budget, wanted, true)).toEqual(live(budget, wanted, false));
      }),
    );
  });

  it("remembers no more than it needs", () => {
    const keeper = keepBudget(usual);
    for (let n = 0; n < 1000; n++) if (keeper.brake("a", n * 15_000) === null) keeper.spend("a", n * 15_000);
    expect(keeper.kills().length).toBeLessThanOrEqual(7);
  });
});
