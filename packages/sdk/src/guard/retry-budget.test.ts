import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fetchWithRetry, retry } from "./retry.ts";
import { createRetryBudget, type RetryBudgetOptions } from "./retry-budget.ts";

function budgetBy(options: RetryBudgetOptions = {}) {
  let time = 0;
  const budget = createRetryBudget({ ...options, now: () => time });
  return {
    ...budget,
    passes(ms: number): void {
      time += ms;
    },
    calls(times: number): void {
      for (let i = 0; i < times; i++) budget.noteCall();
    },
    /** How many retries are let through in a row. */
    lets(): number {
      let n = 0;
      while (n < 1000 && budget.takeRetry()) n += 1;
      return n;
    },
  };
}

describe("a retry budget", () => {
  it("lets a share of the calls be retries, and a few where there are few calls", () => {
    const budget = budgetBy({ share: 0.2, least: 10 });
    expect(budget.lets()).toBe(10);
    budget.calls(50);
    expect(budget.lets()).toBe(0);
    budget.calls(50);
    expect(budget.lets()).toBe(10);
    expect(budget.lets()).toBe(0);
  });

  it("forgets what is over before it counts", () => {
    const budget = budgetBy({ least: 2, perMs: 1000 });
    budget.calls(1000);
    budget.passes(1000);
    expect(budget.lets()).toBe(2);
    budget.passes(999);
    expect(budget.lets()).toBe(0);
    budget.passes(101);
    expect(budget.lets()).toBe(2);
  });

  it("has no time pass while its clock is set back", () => {
    let time = 1_000_000;
    const budget = createRetryBudget({ least: 1, now: () => time });
    expect(budget.takeRetry()).toBe(true);
    time = 0;
    expect(budget.takeRetry()).toBe(false);
    time = 11_001;
    expect(budget.takeRetry()).toBe(true);
  });

  it("refuses rules that make no sense", () => {
    for (const wrong of [{ share: -0.1 }, { share: 2 }, { least: 1.5 }, { perMs: 0 }, { perMs: Number.NaN }])
      expect(() => createRetryBudget(wrong)).toThrow(RangeError);
  });

  it("never lets more through before a retry than it may, whatever happens when", () => {
    const [share, least, perMs] = [0.25, 2, 1000];
    const happening = fc.record({ call: fc.boolean(), after: fc.constantFrom(0, 1, 7, 50, 99, 100, 101, 400, 999) });
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 200 }), (story) => {
        let time = 0;
        const budget = createRetryBudget({ share, least, perMs, now: () => time });
        const [calls, retries]: [number[], number[]] = [[], []];
        const recent = (all: number[]) => all.filter((at) => at > time - perMs).length;
        for (const { call, after } of story) {
          time += after;
          if (call) {
            budget.noteCall();
            calls.push(time);
          } else if (budget.takeRetry()) {
            retries.push(time);
            expect(recent(retries)).toBeLessThanOrEqual(Math.max(least, share * recent(calls)));
          }
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("retries of many calls", () => {
  const quick = { firstMs: 1, longestMs: 1, random: () => 0 };

  it("end together where the service is down, each with its own error, and leave those alone that go well", async () => {
    const budget = createRetryBudget({ share: 0.1, least: 3 });
    let tries = 0;
    const down = () => {
      tries += 1;
      return Promise.reject(new Error("down"));
    };
    const ended = await Promise.allSettled(Array.from({ length: 20 }, () => retry(down, { ...quick, budget })));
    expect(ended.every(({ status }) => status === "rejected")).toBe(true);
    expect(tries).toBe(20 + 3);
    expect(await retry(() => "fine", { ...quick, budget })).toBe("fine");
  });

  it("of fetch get the last answer", async () => {
    const budget = createRetryBudget({ least: 1 });
    let asked = 0;
    const ask = fetchWithRetry({ ...quick, budget }, async () => {
      asked += 1;
      return new Response("later", { status: 503 });
    });
    expect((await ask("http://api.test")).status).toBe(503);
    expect((await ask("http://api.test")).status).toBe(503);
    expect(asked).toBe(3);
  });
});
