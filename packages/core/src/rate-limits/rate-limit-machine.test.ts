import type { Allow, Cost } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  idleFrom,
  newRateLimit,
  type RateLimitRecord,
  rateLimitMachine,
  type TakeReply,
} from "./rate-limit-machine.ts";

const perMinute: Allow = { requests: { most: 60, perMs: 60_000 } };

/** A limit on its own clock, saved and read back with every step, as a crash would find it. */
function sharedLimit(begin = 1_000_000) {
  let now = begin;
  let record: RateLimitRecord = newRateLimit("agent:a");
  return {
    passes(ms: number): void {
      now += ms;
    },
    now: () => now,
    idleIn: () => idleFrom(record) - now,
    takes(cost: Cost, allow: Allow = perMinute): TakeReply {
      const stepped = rateLimitMachine.step(record, { kind: "take", cost, allow, by: "agent:b" }, { now });
      record = rateLimitMachine.restore(rateLimitMachine.serialise(stepped.record));
      return stepped.reply;
    },
  };
}

const waits = (waitMs: number): TakeReply => ({ kind: "reserved", waitMs });

describe("a rate limit that processes share", () => {
  it("tells each caller how long to wait, one after the other", () => {
    const limit = sharedLimit();
    for (let i = 0; i < 60; i++) expect(limit.takes({ requests: 1 })).toEqual(waits(0));
    expect([1, 2, 3].map(() => limit.takes({ requests: 1 }))).toEqual([waits(1000), waits(2000), waits(3000)]);
    limit.passes(1500);
    expect(limit.takes({ requests: 1 })).toEqual(waits(2500));
  });

  it("lets nobody who needs little overtake one who needs much", () => {
    const limit = sharedLimit();
    limit.takes({ requests: 60 });
    expect(limit.takes({ requests: 30 })).toEqual(waits(30_000));
    expect(limit.takes({})).toEqual(waits(30_000));
    expect(limit.takes({ requests: 1 })).toEqual(waits(31_000));
  });

  it("refuses another allowance until nothing of the one before counts any more", () => {
    const limit = sharedLimit();
    const more: Allow = { requests: { most: 600, perMs: 60_000 } };
    limit.takes({ requests: 1 });
    limit.passes(20_000);
    expect(limit.takes({ requests: 1 }, more)).toEqual({ kind: "refused", because: "other-allowance", for: 40_000 });
    expect(limit.takes({ requests: 1 }, { ...perMinute, tokens: { most: 1, perMs: 1 } })).toMatchObject({
      because: "other-allowance",
    });
    limit.passes(39_999);
    expect(limit.takes({ requests: 1 }, more)).toMatchObject({ kind: "refused" });
    limit.passes(1);
    expect(limit.takes({ requests: 600 }, more)).toEqual(waits(0));
    expect(limit.takes({ requests: 1 })).toMatchObject({ kind: "refused" });
  });

  it("makes nobody wait for more than an hour", () => {
    const limit = sharedLimit();
    const slow: Allow = { requests: { most: 1, perMs: 1_800_000 } };
    expect([1, 2, 3].map(() => limit.takes({ requests: 1 }, slow))).toEqual([
      waits(0),
      waits(1_800_000),
      waits(3_600_000),
    ]);
    expect(limit.takes({ requests: 1 }, slow)).toEqual({ kind: "refused", because: "queue-full", for: 1_800_000 });
    limit.passes(1_800_000);
    expect(limit.takes({ requests: 1 }, slow)).toEqual(waits(3_600_000));
  });

  it("in 10,000 schedules never lets more through in any stretch than a full bucket and what flowed in, in the order they asked", () => {
    const allowance = fc.record({ most: fc.integer({ min: 1, max: 97 }), perMs: fc.integer({ min: 1, max: 2003 }) });
    const step = fc.record({ wait: fc.oneof(fc.nat(3), fc.nat(3000)), a: fc.nat(97), b: fc.nat(97) });
    fc.assert(
      fc.property(allowance, allowance, fc.array(step, { maxLength: 30 }), (a, b, steps) => {
        const limit = sharedLimit();
        const through: { at: number; cost: { a: number; b: number } }[] = [];
        for (const one of steps) {
          limit.passes(one.wait);
          const cost = { a: Math.min(one.a, a.most), b: Math.min(one.b, b.most) };
          const reply = limit.takes(cost, { a, b });
          if (reply.kind === "reserved") through.push({ at: limit.now() + reply.waitMs, cost });
        }
        expect(through.map(({ at }) => at)).toEqual(through.map(({ at }) => at).sort((x, y) => x - y));
        for (const [name, { most, perMs }] of [["a", a] as const, ["b", b] as const]) {
          for (const [n, first] of through.entries()) {
            let used = 0;
            for (const { at, cost } of through.slice(n)) {
              used += cost[name];
              expect(used * perMs).toBeLessThanOrEqual(most * (perMs + at - first.at));
            }
          }
        }
      }),
      { numRuns: 10_000 },
    );
  });
});
