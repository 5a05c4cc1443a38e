import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createRateLimit } from "./rate-limit.ts";

/** Whole numbers that have nothing in common, so that nothing comes out even. */
const allowance = fc.record({
  most: fc.integer({ min: 1, max: 97 }),
  perMs: fc.oneof(fc.integer({ min: 1, max: 101 }), fc.integer({ min: 1, max: 10_007 })),
});
const share = fc.oneof(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 1));
/** Often hardly any time, because what is wrong by a fraction of a millisecond shows only then. */
const eighths = fc.oneof(fc.nat(24), fc.nat(40_000));
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("take" as const), a: share, b: share, givesUp: fc.boolean() }),
  },
  // Eighths of milliseconds are exact as floating point numbers.
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("wait" as const), eighths }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("back" as const), eighths }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("abort" as const), which: share }) },
  { weight: 1, arbitrary: fc.constant({ kind: "suspend" as const }) },
);
const world = fc.record({
  a: allowance,
  b: allowance,
  steps: fc.array(step, { minLength: 1, maxLength: 30 }),
  /** How much later, or earlier, than asked for each timer comes. */
  late: fc.array(fc.oneof(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -20, max: 200 })), {
    minLength: 1,
    maxLength: 8,
  }),
  begin: fc.nat(100_000),
});

interface Admitted {
  readonly n: number;
  readonly at: number;
  readonly cost: { readonly a: number; readonly b: number };
}

describe("a rate limit in 10,000 random schedules", () => {
  it("lets through no more in any stretch than a full bucket and what flowed in, exactly, first come first served, and leaves nobody waiting", async () => {
    await fc.assert(
      fc.asyncProperty(world, async ({ a, b, steps, late, begin }) => {
        let real = begin / 8;
        let setBack = 0;
        let timers: { due: number; call: () => void }[] = [];
        let armed = 0;
        const limit = createRateLimit({
          allow: { a, b },
          now: () => real - setBack,
          after(ms, call) {
            const timer = { due: real + Math.max(0, ms + (late[armed++ % late.length] ?? 0) / 8), call };
            timers.push(timer);
            return () => {
              timers = timers.filter((other) => other !== timer);
            };
          },
        });
        const settle = async (): Promise<void> => {
          for (let i = 0; i < 4; i++) await Promise.resolve();
        };
        const fire = async (until: number): Promise<void> => {
          for (let turns = 0; turns < 100_000; turns++) {
            await settle();
            const next = timers.filter(({ due }) => due <= until).sort((x, y) => x.due - y.due)[0];
            if (next === undefined) return;
            timers = timers.filter((timer) => timer !== next);
            // Timers that come early at once would ask again without end while the clock stands.
            real = Math.max(real + 1 / 8, next.due);
            next.call();
          }
          throw new Error("the timers never end");
        };
        const admitted: Admitted[] = [];
        const gone = new Set<number>();
        const controllers: AbortController[] = [];
        for (const one of steps) {
          switch (one.kind) {
            case "take": {
              const n = controllers.length;
              const controller = new AbortController();
              controllers.push(controller);
              const cost = { a: Math.floor(one.a * a.most), b: Math.floor(one.b * b.most) };
              void limit.take(cost, { signal: controller.signal }).then(
                () => admitted.push({ n, at: real, cost }),
                () => gone.add(n),
              );
              if (one.givesUp) controller.abort();
              break;
            }
            case "wait": {
              const until = real + one.eighths / 8;
              await fire(until);
              real = Math.max(real, until);
              break;
            }
            case "back":
              setBack += one.eighths / 8;
              break;
            case "abort":
              controllers[Math.floor(one.which * controllers.length)]?.abort();
              break;
            case "suspend":
              // Everything that was due meanwhile comes at once afterwards.
              real += 3_600_000;
              for (const timer of timers) timer.due = Math.max(timer.due, real);
              break;
          }
          await settle();
        }
        await fire(Number.POSITIVE_INFINITY);
        expect(limit.waiting()).toBe(0);
        const order = admitted.map(({ n }) => n);
        expect(order).toEqual([...order].sort((x, y) => x - y));
        expect(admitted.length + gone.size).toBe(controllers.length);
        for (const [name, { most, perMs }] of [["a", a] as const, ["b", b] as const]) {
          for (let from = 0; from < admitted.length; from++) {
            let used = 0;
            for (const { at, cost } of admitted.slice(from)) {
              used += cost[name];
              // Both sides are whole eighths: no rounding in the judgement either.
              expect(used * perMs).toBeLessThanOrEqual(most * perMs + most * (at - (admitted[from] as Admitted).at));
            }
          }
        }
      }),
      { numRuns: 10_000 },
    );
  }, 120_000);

  it("loses less than a millisecond of flow in a year of steady use, and gains nothing", async () => {
    let time = 0.25;
    const timers: { at: number; call: () => void }[] = [];
    // Nothing comes out even.
    const limit = createRateLimit({
      allow: { requests: { most: 7, perMs: 94_608_001 } },
      now: () => time,
      after(ms, call) {
        timers.push({ at: time + ms, call });
        return () => undefined;
      },
    });
    let through = 0;
    const year = 365 * 86_400_000;
    const take = async (): Promise<void> => {
      for (;;) {
        await limit.take({ requests: 1 });
        through += 1;
      }
    };
    void take();
    for (;;) {
      for (let i = 0; i < 8; i++) await Promise.resolve();
      const timer = timers.pop();
      if (timer === undefined || timer.at > year + 1.25) break;
      time = timer.at;
      timer.call();
    }
    expect(through).toBe(7 + Math.floor((year * 7) / 94_608_001));
  });
});
