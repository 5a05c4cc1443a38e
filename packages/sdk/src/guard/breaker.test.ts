import { describe, expect, it } from "vitest";
import { type BreakerChange, BreakerOpenError, type BreakerOptions, createBreaker } from "./breaker.ts";

function breakerBy(options: Partial<BreakerOptions<string>> = {}) {
  let time = 0;
  const changes: string[] = [];
  const breaker = createBreaker<string>({
    name: "external_api/github",
    now: () => time,
    onChange: ({ from, to }: BreakerChange) => changes.push(`${from} → ${to}`),
    ...options,
  });
  return {
    breaker,
    changes,
    passes(ms: number): void {
      time += ms;
    },
    fails: (n = 1): Promise<unknown> =>
      Promise.all(
        Array.from({ length: n }, () => breaker.run(() => Promise.reject(new Error("down"))).catch(() => null)),
      ),
  };
}

describe("a breaker around calls", () => {
  it("passes on what they return and what they throw", async () => {
    const { breaker } = breakerBy();
    expect(await breaker.run(async () => "fine")).toBe("fine");
    await expect(breaker.run(() => Promise.reject(new Error("down")))).rejects.toThrow("down");
    await expect(
      breaker.run(() => {
        throw new Error("at once");
      }),
    ).rejects.toThrow("at once");
  });

  it("says in whole milliseconds when it may be tried again, never too early", async () => {
    const { breaker, passes, fails } = breakerBy();
    await fails(3);
    passes(0.7);
    await expect(breaker.run(() => "x")).rejects.toMatchObject({ retryAfterMs: 60_000 });
  });

  it("calls nothing while it is open, says when it may be tried again, and tells of each change", async () => {
    const { breaker, changes, passes, fails } = breakerBy();
    await fails(3);
    let called = false;
    const refused = breaker.run(() => {
      called = true;
      return "x";
    });
    await expect(refused).rejects.toMatchObject({ name: "BreakerOpenError", retryAfterMs: 60_000 });
    expect(called).toBe(false);
    passes(60_000);
    expect(await breaker.run(() => "well")).toBe("well");
    expect(changes).toEqual(["CLOSED → OPEN", "OPEN → HALF_OPEN", "HALF_OPEN → CLOSED"]);
  });

  it("gives the fallback instead where there is one", async () => {
    const { breaker, fails } = breakerBy({ fallback: (refused) => `cached, ${refused.retryAfterMs}` });
    await fails(3);
    expect(await breaker.run(() => "new")).toBe("cached, 60000");
  });

  it("counts what its owner calls a failure, returned or thrown, and nothing else", async () => {
    const { breaker } = breakerBy({
      isFailure: (outcome) => ("value" in outcome ? outcome.value === "bad" : outcome.error instanceof TypeError),
    });
    for (let i = 0; i < 5; i++) await breaker.run(() => Promise.reject(new RangeError("mine"))).catch(() => null);
    expect(breaker.state()).toBe("CLOSED");
    for (let i = 0; i < 3; i++) await breaker.run(() => "bad");
    expect(breaker.state()).toBe("OPEN");
  });

  it("does not hold against it what its caller broke off", async () => {
    const { breaker } = breakerBy();
    for (let i = 0; i < 5; i++) {
      const gaveUp = new AbortController();
      const call = breaker.run(
        () => new Promise<string>((_, reject) => gaveUp.signal.addEventListener("abort", reject)),
        {
          signal: gaveUp.signal,
        },
      );
      gaveUp.abort();
      await expect(call).rejects.toBeDefined();
    }
    expect(breaker.state()).toBe("CLOSED");
    let called = false;
    const call = () => {
      called = true;
      return "x";
    };
    const late = breaker.run(call, { signal: AbortSignal.abort() });
    await expect(late).rejects.toBeDefined();
    expect(called).toBe(false);
  });

  it("holds against it that it took longer than its caller gave it", async () => {
    const { breaker } = breakerBy();
    for (let i = 0; i < 3; i++) {
      const ranOut = new AbortController();
      const call = breaker.run(
        () => new Promise<string>((_, reject) => ranOut.signal.addEventListener("abort", reject)),
        { signal: ranOut.signal },
      );
      ranOut.abort(new DOMException("it took too long", "TimeoutError"));
      await expect(call).rejects.toBeDefined();
    }
    expect(breaker.state()).toBe("OPEN");
  });

  it("passes on what came of a call, whatever its judge and its listener throw", async () => {
    const { breaker, passes } = breakerBy({
      failureThreshold: 1,
      isFailure: () => {
        throw new Error("the judge");
      },
      onChange: () => {
        throw new Error("the listener");
      },
    });
    expect(await breaker.run(() => "well")).toBe("well");
    await expect(breaker.run(() => Promise.reject(new Error("down")))).rejects.toThrow("down");
    expect(breaker.state()).toBe("OPEN");
    passes(60_000);
    // The listener hears of HALF_OPEN and of CLOSED: neither keeps the trial.
    expect(await breaker.run(() => "well again")).toBe("well again");
    expect(breaker.state()).toBe("CLOSED");
  });

  it("takes back no trial that its fallback, or its caller, breaks", async () => {
    const { breaker, passes, fails } = breakerBy({
      fallback: () => {
        throw new Error("no older answer either");
      },
    });
    await fails(3);
    await expect(breaker.run(() => "x")).rejects.toThrow("no older answer either");
    passes(60_000);
    const gaveUp = new AbortController();
    const trial = breaker.run(
      () => new Promise<string>((_, reject) => gaveUp.signal.addEventListener("abort", reject)),
      { signal: gaveUp.signal },
    );
    gaveUp.abort();
    await expect(trial).rejects.toBeDefined();
    expect(await breaker.run(() => "well")).toBe("well");
  });

  it("calls whatever can be waited for, and counts one that cannot", async () => {
    const { breaker } = breakerBy();
    // biome-ignore lint/suspicious/noThenProperty: a thenable is the case
    expect(await breaker.run(() => ({ then: (done: (value: string) => void) => done("later") }) as never)).toBe(
      "later",
    );
    for (let i = 0; i < 3; i++) {
      const broken = {
        // biome-ignore lint/suspicious/noThenProperty: a thenable is the case
        get then(): never {
          throw new Error("cannot be waited for");
        },
      };
      await expect(breaker.run(() => broken as never)).rejects.toThrow("cannot be waited for");
    }
    expect(breaker.state()).toBe("OPEN");
  });

  it("forgets failures while nobody calls", async () => {
    const { breaker, passes, fails } = breakerBy();
    await fails(2);
    passes(600_000);
    await fails(2);
    expect(breaker.state()).toBe("CLOSED");
    await fails(1);
    expect(breaker.state()).toBe("OPEN");
  });

  it("stays open no longer because its clock was set back", async () => {
    const { breaker, passes, fails } = breakerBy();
    passes(3_600_000);
    await fails(3);
    passes(-3_600_000);
    await expect(breaker.run(() => "x")).rejects.toMatchObject({ retryAfterMs: 60_000 });
    passes(60_000);
    expect(await breaker.run(() => "well")).toBe("well");
  });

  it("lets one of many try at once when it is half open", async () => {
    const { breaker, passes, fails } = breakerBy();
    await fails(3);
    passes(60_000);
    let finish: (value: string) => void = () => undefined;
    const trial = breaker.run(() => new Promise<string>((resolve) => (finish = resolve)));
    const others = await Promise.allSettled(Array.from({ length: 10 }, () => breaker.run(() => "x")));
    expect(others.every(({ status }) => status === "rejected")).toBe(true);
    finish("well");
    await trial;
    expect(breaker.state()).toBe("CLOSED");
  });

  it("goes on after a restart of its process as it was, also when that took long", async () => {
    const first = breakerBy();
    await first.fails(3);
    first.passes(20_000);
    const saved = JSON.parse(JSON.stringify(first.breaker.save()));
    const second = breakerBy();
    second.breaker.restore(saved, 10_000);
    await expect(second.breaker.run(() => "x")).rejects.toMatchObject({ retryAfterMs: 30_000 });
    second.passes(30_000);
    expect(await second.breaker.run(() => "x")).toBe("x");
  });

  it("is closed by a reset", async () => {
    const { breaker, fails } = breakerBy();
    await fails(3);
    breaker.reset();
    expect(await breaker.run(() => "x")).toBe("x");
  });

  it("takes other rules as it stands: what failed counts, an open one waits no longer and no less, one is let try", async () => {
    const { breaker, passes, fails } = breakerBy({ halfOpenRequests: 2 });
    await fails(2);
    breaker.setRules({ failureThreshold: 2, halfOpenRequests: 2 });
    expect(breaker.state()).toBe("CLOSED");
    await fails();
    expect(breaker.state()).toBe("OPEN");
    breaker.setRules({ recoveryTimeout: 1, halfOpenRequests: 2 });
    passes(59_999);
    await expect(breaker.run(() => "early")).rejects.toThrow(BreakerOpenError);
    passes(1);
    expect(await breaker.run(() => "one")).toBe("one");
    expect(breaker.state()).toBe("HALF_OPEN");
    breaker.setRules({ halfOpenRequests: 1 });
    expect(await breaker.run(() => "two")).toBe("two");
    expect(breaker.state()).toBe("CLOSED");
    expect(() => breaker.setRules({ failureThreshold: 0 })).toThrow(RangeError);
  });

  it("refuses rules that make no sense", () => {
    expect(() => breakerBy({ failureThreshold: 0 })).toThrow(
      /failureThreshold of a breaker is a whole number above 0, not 0/,
    );
    expect(() => breakerBy({ recoveryTimeout: Number.NaN })).toThrow(RangeError);
    expect(() => breakerBy({ halfOpenRequests: 1.5 })).toThrow(RangeError);
    expect(new BreakerOpenError("a", 1500).message).toBe("a is open: nothing is called for another 2 s");
  });
});

describe("a breaker that has closed", () => {
  it("opens again after as many failures as the first time", async () => {
    const { breaker, changes, passes, fails } = breakerBy();
    await fails(3);
    passes(60_000);
    await breaker.run(() => "well");
    await fails(2);
    expect(breaker.state()).toBe("CLOSED");
    await fails(1);
    expect(changes.at(-1)).toBe("CLOSED → OPEN");
    breaker.reset();
    await fails(3);
    expect(breaker.state()).toBe("OPEN");
  });

  it("counts failures in a row: one call that goes well between them is enough", async () => {
    const { breaker, fails } = breakerBy();
    for (let i = 0; i < 4; i++) {
      await fails(2);
      await breaker.run(() => "well");
    }
    expect(breaker.state()).toBe("CLOSED");
  });
});

it("a breaker inside a call that is open says nothing about what is around it", async () => {
  const inner = breakerBy({ failureThreshold: 1 });
  await inner.fails(1);
  const { breaker } = breakerBy();
  for (let i = 0; i < 5; i++) await breaker.run(() => inner.breaker.run(() => "x")).catch(() => null);
  expect(breaker.save()).toMatchObject({ state: "closed", failures: [] });
});

describe("a breaker that an earlier process saved", () => {
  it("remembers its failures for as long as they would have counted", async () => {
    for (const [elapsed, state] of [
      [599_999, "OPEN"],
      [600_000, "CLOSED"],
    ] as const) {
      const first = breakerBy();
      first.passes(5000);
      await first.fails(2);
      const second = breakerBy();
      second.passes(9_000_000);
      second.breaker.restore(first.breaker.save(), elapsed);
      await second.fails(1);
      expect(second.breaker.state()).toBe(state);
    }
  });

  it("gives the place of a trial that never ended to the next, once its time is over", async () => {
    const first = breakerBy();
    await first.fails(3);
    first.passes(60_000);
    first.breaker.enter();
    const second = breakerBy();
    second.passes(9_000_000);
    second.breaker.restore(first.breaker.save(), 599_999);
    expect(second.breaker.enter()).toBeInstanceOf(BreakerOpenError);
    second.passes(1);
    expect(second.breaker.enter()).not.toBeInstanceOf(BreakerOpenError);
  });
});

it("rules that would never let anything through, or never open, are refused", () => {
  const by = (options: Partial<BreakerOptions<string>>) => () => createBreaker({ name: "x", ...options });
  for (const recoveryTimeout of [0, -1, Number.POSITIVE_INFINITY, Number.NaN])
    expect(by({ recoveryTimeout })).toThrow("recoveryTimeout of a breaker is a number above 0");
  for (const failureThreshold of [0, 1.5, Number.POSITIVE_INFINITY])
    expect(by({ failureThreshold })).toThrow("failureThreshold of a breaker is a whole number above 0");
  expect(by({ recoveryTimeout: 0.5 })).not.toThrow();
});
