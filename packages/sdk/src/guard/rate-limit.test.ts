import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimit } from "./rate-limit.ts";

/** A limit on a clock that only the test moves. */
function limitBy(allow: { requests: { most: number; perMs: number }; tokens: { most: number; perMs: number } }) {
  let time = 0;
  let later: { at: number; call: () => void }[] = [];
  const limit = createRateLimit({
    allow,
    now: () => time,
    after(ms, call) {
      const entry = { at: time + ms, call };
      later.push(entry);
      return () => {
        later = later.filter((other) => other !== entry);
      };
    },
  });
  return {
    limit,
    time: () => time,
    async passes(ms: number): Promise<void> {
      const until = time + ms;
      for (;;) {
        await Promise.resolve();
        const next = later.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) break;
        later = later.filter((entry) => entry !== next);
        time = next.at;
        next.call();
      }
      time = until;
      await Promise.resolve();
    },
  };
}

const minute = 60_000;
const perMinute = { requests: { most: 3, perMs: minute }, tokens: { most: 1000, perMs: minute } };

describe("a rate limit", () => {
  it("lets a full bucket through at once, and the next when as much has flowed in", async () => {
    const { limit, passes } = limitBy(perMinute);
    const done: number[] = [];
    for (const n of [1, 2, 3, 4]) void limit.take({ requests: 1 }).then(() => done.push(n));
    await passes(19_999);
    expect(done).toEqual([1, 2, 3]);
    await passes(1);
    expect(done).toEqual([1, 2, 3, 4]);
  });

  it("does not let those who need little overtake one who needs much", async () => {
    const { limit, passes } = limitBy(perMinute);
    const done: string[] = [];
    void limit.take({ tokens: 900 }).then(() => done.push("first"));
    void limit.take({ tokens: 1000 }).then(() => done.push("much"));
    void limit.take({ tokens: 1 }).then(() => done.push("little"));
    await passes(53_000);
    expect(done).toEqual(["first"]);
    await passes(minute);
    expect(done).toEqual(["first", "much", "little"]);
  });

  it("gives the place of one that was broken off to the next", async () => {
    const { limit, passes } = limitBy(perMinute);
    await limit.take({ tokens: 1000 });
    const gaveUp = new AbortController();
    const much = limit.take({ tokens: 1000 }, { signal: gaveUp.signal });
    const little = limit.take({ tokens: 10 });
    gaveUp.abort(new Error("no longer"));
    await expect(much).rejects.toThrow("no longer");
    await passes(600);
    await little;
    expect(limit.waiting()).toBe(0);
  });

  it("refuses what it would never let through, and what it does not know", () => {
    const { limit } = limitBy(perMinute);
    expect(() => limit.take({ tokens: 1001 })).toThrow(/1001 are never let through at once, 1000 are/);
    expect(() => limit.take({ tokens: -1 })).toThrow(RangeError);
    expect(() => limit.take({ words: 1 } as never)).toThrow(/knows no words/);
    expect(() => createRateLimit({ allow: { requests: { most: 0, perMs: 1 } } })).toThrow(RangeError);
  });

  it("in 10,000 schedules never lets more through in any stretch than a full bucket and what flowed in, first come first served", async () => {
    const step = fc.record({ wait: fc.nat(30_000), cost: fc.integer({ min: 0, max: 1000 }), requests: fc.nat(3) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const { limit, passes, time } = limitBy(perMinute);
        const through: { n: number; at: number; cost: number; requests: number }[] = [];
        for (const [n, { wait, cost, requests }] of steps.entries()) {
          await passes(wait);
          void limit.take({ tokens: cost, requests }).then(() => through.push({ n, at: time(), cost, requests }));
        }
        await passes(60 * minute);
        expect(through.map(({ n }) => n)).toEqual(steps.map((_, n) => n));
        let most = 0;
        for (let from = 0; from < through.length; from++) {
          let [tokens, requests] = [0, 0];
          for (let to = from; to < through.length; to++) {
            tokens += through[to]?.cost ?? 0;
            requests += through[to]?.requests ?? 0;
            const stretch = (through[to]?.at ?? 0) - (through[from]?.at ?? 0);
            most = Math.max(most, tokens / 1000 - stretch / minute, requests / 3 - stretch / minute);
          }
        }
        expect(most).toBeLessThanOrEqual(1 + 1e-9);
      }),
      { numRuns: 10_000 },
    );
  }, 60_000);
});
