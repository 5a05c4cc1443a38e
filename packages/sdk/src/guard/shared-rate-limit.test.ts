import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { createSharedRateLimit } from "./shared-rate-limit.ts";

type Answer = { status: number; body: object } | "hangs";
const reserved = (waitMs: number): Answer => ({ status: 200, body: { waitMs } });
const refused = (retryable: boolean): Answer => ({
  status: 409,
  body: { code: "rate-limit-refused", detail: "no", retryable },
});

/** A limit whose Rouse answers what the test says, one answer after the other, the last again and again. */
function limitWith(...answers: Answer[]) {
  const asked: unknown[] = [];
  const warnings: string[] = [];
  const limit = createSharedRateLimit({
    ...{ url: "http://127.0.0.1:1", token: "t", name: "github", timeout: 20 },
    allow: { requests: { most: 1000, perMs: 1000 } },
    onWarning(text) {
      warnings.push(text);
      throw new Error("of the listener");
    },
    async fetch(_, { body, signal }) {
      const answer = answers[Math.min(asked.push(JSON.parse(body ?? "")), answers.length) - 1] as Answer;
      if (answer !== "hangs") return new Response(JSON.stringify(answer.body), { status: answer.status });
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  return { limit, asked, warnings };
}

describe("a shared rate limit", () => {
  it("asks in the order of the calls and lets through in that order, after as long as it is told", async () => {
    const { limit, asked, warnings } = limitWith(reserved(30), reserved(0), reserved(5));
    const done: number[] = [];
    const begin = performance.now();
    await Promise.all([1, 2, 3].map((n) => limit.take({ requests: n }).then(() => done.push(n))));
    expect(performance.now() - begin).toBeGreaterThanOrEqual(30);
    expect(done).toEqual([1, 2, 3]);
    expect(asked).toMatchObject([1, 2, 3].map((n) => ({ cost: { requests: n } })));
    expect([limit.waiting(), warnings]).toEqual([0, []]);
  });

  it("goes on by itself where Rouse hangs, refuses its token, knows another allowance or says what no Rouse says, and asks no more for a while", async () => {
    for (const answer of [
      "hangs",
      { status: 401, body: {} },
      { status: 200, body: {} },
      reserved(3_600_001),
      refused(false),
    ] as const) {
      const { limit, asked, warnings } = limitWith(answer);
      for (let i = 0; i < 50; i++) await limit.take({ requests: 1 });
      expect([asked.length, warnings.length]).toEqual([1, 1]);
    }
  });

  it("asks again where the queue is full, instead of letting everybody through", async () => {
    const { limit, asked, warnings } = limitWith(refused(true), reserved(0));
    await limit.take({ requests: 1 });
    expect([asked.length, warnings.length]).toEqual([2, 1]);
  });

  it("lets go of a call that is broken off, at every place in the queue", async () => {
    const { limit, asked } = limitWith("hangs", reserved(3_600_000), reserved(0));
    const gaveUp = [1, 2, 3].map(() => new AbortController());
    const calls = gaveUp.map(({ signal }) => limit.take({ requests: 1 }, { signal }));
    const ends = Promise.allSettled(calls);
    const last = limit.take({ requests: 1 });
    gaveUp[2]?.abort(new Error("not asked for yet"));
    await expect(calls[2]).rejects.toThrow("not asked for yet");
    gaveUp[0]?.abort(new Error("asked for"));
    await expect(calls[0]).rejects.toThrow("asked for");
    await expect.poll(() => asked.length).toBe(3);
    gaveUp[1]?.abort(new Error("promised"));
    await expect(calls[1]).rejects.toThrow("promised");
    await Promise.all([last, ends]);
    expect([asked.length, limit.waiting()]).toEqual([3, 0]);
    await expect(limit.take({ requests: 1 }, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow(
      "before",
    );
    expect(asked.length).toBe(3);
  });

  it("refuses what can never be, at once", () => {
    const { limit, asked } = limitWith(reserved(0));
    expect(() => limit.take({ requests: 1001 })).toThrow(RangeError);
    expect(() => limit.take({ constructor: 1 } as never)).toThrow(/knows no constructor/);
    expect(() => createSharedRateLimit({ url: "http://x", token: "t", name: "../x", allow: {} })).toThrow(RangeError);
    expect(asked).toEqual([]);
  });
});

it("a shared rate limit leaves nothing behind at a signal that outlives those who wait", async () => {
  const { limit } = limitWith(reserved(5));
  const { signal } = new AbortController();
  await Promise.all([1, 2, 3].map(() => limit.take({ requests: 1 }, { signal })));
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("a shared rate limit needs a name that Rouse can keep", () => {
  const options = { url: "http://127.0.0.1:1", token: "t", allow: { requests: { most: 1, perMs: 1000 } } };
  for (const name of ["", "a/b", "x".repeat(500)])
    expect(() => createSharedRateLimit({ ...options, name })).toThrow("the name of a rate limit");
});
