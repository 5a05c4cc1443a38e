import { getEventListeners } from "node:events";
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
    /** In how many milliseconds it wants to be called. */
    asked: () => later.map(({ at }) => at - time),
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

  it("lets nobody wait longer because its clock was set back", async () => {
    let [time, fire]: [number, () => void] = [3_600_000, () => undefined];
    const limit = createRateLimit({
      allow: { requests: { most: 1, perMs: 1000 } },
      now: () => time,
      after(_, call) {
        fire = call;
        return () => undefined;
      },
    });
    await limit.take({ requests: 1 });
    let isThrough = false;
    const next = limit.take({ requests: 1 }).then(() => {
      isThrough = true;
    });
    time = 0;
    fire();
    time = 999;
    fire();
    await Promise.resolve();
    expect(isThrough).toBe(false);
    time = 1000;
    fire();
    await next;
  });

  it("does not wait for the timer of one that was broken off, nor serve twice when one comes late", async () => {
    const { limit, passes } = limitBy(perMinute);
    await limit.take({ tokens: 1000 });
    const gaveUp = Array.from({ length: 5 }, () => new AbortController());
    const broken = gaveUp.map(({ signal }) => limit.take({ tokens: 1000 }, { signal }).catch(() => "gave up"));
    const last = limit.take({ tokens: 10 });
    for (const one of gaveUp.toReversed()) one.abort();
    expect(await Promise.all(broken)).toEqual(new Array(5).fill("gave up"));
    await passes(600);
    await last;
    expect(limit.left()).toEqual({ requests: 3, tokens: 0 });
  });

  it("counts what it was asked for, whatever its caller makes of it afterwards", async () => {
    const allow = { requests: { most: 2, perMs: 1000 } };
    const limit = createRateLimit({ allow, now: () => 0, after: () => () => undefined });
    allow.requests.most = 1_000_000;
    const cost = { requests: 2 };
    await limit.take(cost);
    const waiting = { requests: 1 };
    void limit.take(waiting);
    waiting.requests = 0;
    expect([limit.waiting(), limit.left()]).toEqual([1, { requests: 0 }]);
    expect(() => limit.take({ requests: 3 })).toThrow(RangeError);
  });

  it("knows no names that every object has, and no fractions, which add up to more than they are", () => {
    const { limit } = limitBy(perMinute);
    for (const name of ["constructor", "toString", "__proto__"])
      expect(() => limit.take(JSON.parse(`{"${name}":1}`))).toThrow(/knows no/);
    expect(() => limit.take({ tokens: 0.1 })).toThrow(/a whole number from 0, not 0.1/);
    for (const cost of [Number.NaN, Number.POSITIVE_INFINITY, -0.5, "1" as never, null as never])
      expect(() => limit.take({ tokens: cost })).toThrow(RangeError);
    for (const [most, perMs] of [
      [1.5, 1000],
      [1, 0.5],
      [2 ** 40, 2 ** 40],
      [Number.NaN, 1],
      [1, Number.POSITIVE_INFINITY],
    ] as const)
      expect(() => createRateLimit({ allow: { requests: { most, perMs } } })).toThrow(RangeError);
    expect(() => createRateLimit({ allow: {} })).toThrow(RangeError);
  });

  it("lets a cost of nothing through in its turn", async () => {
    const { limit, passes } = limitBy(perMinute);
    const done: string[] = [];
    await limit.take({ tokens: 1000 });
    void limit.take({ tokens: 1 }).then(() => done.push("one"));
    void limit.take({ tokens: 0 }).then(() => done.push("nothing"));
    void limit.take({}).then(() => done.push("nothing at all"));
    await passes(59);
    expect(done).toEqual([]);
    await passes(1);
    expect(done).toEqual(["one", "nothing", "nothing at all"]);
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

describe("a rate limit whose waiters give up", () => {
  it("asks to be called once, for whoever is first then", async () => {
    const { limit, asked } = limitBy(perMinute);
    void limit.take({ tokens: 1000 });
    const gaveUp = new AbortController();
    const first = limit.take({ tokens: 1000 }, { signal: gaveUp.signal });
    const second = limit.take({ tokens: 500 });
    expect(asked()).toEqual([minute]);
    gaveUp.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    expect([asked(), limit.waiting()]).toEqual([[minute / 2], 1]);
    void second;
  });

  it("gives nothing to one that had given up before it asked", async () => {
    const { limit } = limitBy(perMinute);
    await expect(limit.take({ tokens: 1000 }, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow(
      "before",
    );
    expect(limit.left()).toMatchObject({ tokens: 1000 });
  });

  it("leaves nothing behind at a signal that outlives those who wait", async () => {
    const { limit, passes } = limitBy(perMinute);
    const { signal } = new AbortController();
    const taken = [1, 2, 3, 4, 5, 6].map(() => limit.take({ requests: 1 }, { signal }));
    expect(getEventListeners(signal, "abort").length).toBeGreaterThan(0);
    await passes(minute);
    await Promise.all(taken);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

it("a wait of months is no timer that goes off at once", () => {
  const { limit, asked } = limitBy({ ...perMinute, requests: { most: 1, perMs: 90 * 86_400_000 } });
  void limit.take({ requests: 1 });
  void limit.take({ requests: 1 });
  expect(asked()).toEqual([2 ** 31 - 1]);
});
