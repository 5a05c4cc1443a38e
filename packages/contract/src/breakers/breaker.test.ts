import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  admitCall,
  type Breaker,
  type BreakerRules,
  type CallEnd,
  closedBreaker,
  endCall,
  resetBreaker,
  type Ticket,
} from "./breaker.ts";

const rules: BreakerRules = { failureThreshold: 3, recoveryTimeout: 60_000, halfOpenRequests: 1 };

/** A breaker with its own clock. */
function breakerBy(own: Partial<BreakerRules> = {}) {
  const by = { ...rules, ...own };
  let now = 1_000_000;
  let breaker: Breaker = closedBreaker;
  const calls = {
    state: () => breaker.state,
    passes(ms: number): void {
      now += ms;
    },
    begins(): Ticket | null {
      const admission = admitCall(breaker, now, by);
      breaker = admission.breaker;
      return admission.admitted ? admission.ticket : null;
    },
    retryAfter(): number | null {
      const admission = admitCall(breaker, now, by);
      return admission.admitted ? null : admission.retryAt - now;
    },
    ends(ticket: Ticket | null, end: CallEnd): void {
      if (ticket === null) throw new Error("it was not admitted");
      breaker = endCall(breaker, ticket, end, now, by);
    },
    calls: (...ends: CallEnd[]): void => {
      for (const end of ends) calls.ends(calls.begins(), end);
    },
    reset(): void {
      breaker = resetBreaker(breaker);
    },
  };
  return calls;
}

describe("a closed breaker", () => {
  it("opens with the third failure in a row, and not with three among successes", () => {
    const breaker = breakerBy();
    breaker.calls("failed", "failed", "succeeded", "failed", "failed");
    expect(breaker.state()).toBe("closed");
    breaker.calls("failed");
    expect(breaker.state()).toBe("open");
  });

  it("counts no call that its caller broke off, neither for nor against", () => {
    const breaker = breakerBy();
    breaker.calls("failed", "aborted", "failed", "aborted");
    expect(breaker.state()).toBe("closed");
    breaker.calls("failed");
    expect(breaker.state()).toBe("open");
  });

  it("forgets failures while nothing is called", () => {
    const breaker = breakerBy();
    breaker.calls("failed", "failed");
    breaker.passes(10 * 60_000);
    breaker.calls("failed");
    expect(breaker.state()).toBe("closed");
  });
});

describe("an open breaker", () => {
  it("lets nobody through before its time, and says when that is", () => {
    const breaker = breakerBy();
    breaker.calls("failed", "failed", "failed");
    breaker.passes(59_999);
    expect(breaker.begins()).toBeNull();
    expect(breaker.retryAfter()).toBe(1);
    breaker.passes(1);
    expect(breaker.begins()).not.toBeNull();
  });

  it("takes no notice of calls that began before it opened", () => {
    const breaker = breakerBy();
    const late = breaker.begins();
    breaker.calls("failed", "failed", "failed");
    breaker.ends(late, "succeeded");
    expect(breaker.state()).toBe("open");
    breaker.passes(60_000);
    const trial = breaker.begins();
    breaker.ends(late, "failed");
    expect(breaker.state()).toBe("half-open");
    breaker.ends(trial, "succeeded");
    expect(breaker.state()).toBe("closed");
  });
});

describe("a half-open breaker", () => {
  const halfOpen = (own: Partial<BreakerRules> = {}) => {
    const breaker = breakerBy(own);
    for (let i = 0; i < (own.failureThreshold ?? 3); i++) breaker.calls("failed");
    breaker.passes(60_000);
    return breaker;
  };

  it("lets one try at a time, and closes when it went well", () => {
    const breaker = halfOpen();
    const trial = breaker.begins();
    expect(breaker.begins()).toBeNull();
    breaker.ends(trial, "succeeded");
    expect(breaker.state()).toBe("closed");
  });

  it("opens again when it failed", () => {
    const breaker = halfOpen();
    breaker.calls("failed");
    expect(breaker.state()).toBe("open");
    expect(breaker.retryAfter()).toBe(60_000);
  });

  it("with two trials closes after both, not after one", () => {
    const breaker = halfOpen({ halfOpenRequests: 2 });
    const [one, two] = [breaker.begins(), breaker.begins()];
    expect(breaker.begins()).toBeNull();
    breaker.ends(one, "succeeded");
    expect(breaker.state()).toBe("half-open");
    expect(breaker.begins()).toBeNull();
    breaker.ends(two, "succeeded");
    expect(breaker.state()).toBe("closed");
  });

  it("says when the place of the oldest trial is free again", () => {
    const breaker = halfOpen({ halfOpenRequests: 2 });
    breaker.begins();
    breaker.passes(10_000);
    breaker.begins();
    breaker.passes(5000);
    expect(breaker.retryAfter()).toBe(45_000);
  });

  it("with two trials counts none that was broken off as one that went well", () => {
    const breaker = halfOpen({ halfOpenRequests: 2 });
    breaker.calls("aborted", "aborted", "succeeded");
    expect(breaker.state()).toBe("half-open");
    breaker.calls("succeeded");
    expect(breaker.state()).toBe("closed");
  });

  it("is not closed by a trial that had given its place back, and is opened by it", () => {
    const breaker = halfOpen();
    const late = breaker.begins();
    breaker.passes(600_000);
    const second = breaker.begins();
    breaker.ends(late, "succeeded");
    expect(breaker.state()).toBe("half-open");
    expect(breaker.begins()).toBeNull();
    breaker.ends(late, "failed");
    expect(breaker.state()).toBe("open");
    breaker.ends(second, "succeeded");
    expect(breaker.state()).toBe("open");
  });

  it("that has closed counts no trial from before among the calls after it", () => {
    const breaker = halfOpen({ halfOpenRequests: 2, failureThreshold: 1 });
    const late = breaker.begins();
    breaker.passes(600_000);
    breaker.calls("succeeded", "succeeded");
    expect(breaker.state()).toBe("closed");
    breaker.ends(late, "failed");
    expect(breaker.state()).toBe("closed");
  });

  it("lets one try when its rules have become narrower than what has passed already", () => {
    const wider = { ...rules, halfOpenRequests: 2 };
    const passed: Breaker = { state: "half-open", period: 1, trials: [], passed: 1 };
    expect(admitCall(passed, 0, wider)).toMatchObject({ admitted: true });
    const admission = admitCall(passed, 0, rules);
    if (!admission.admitted) throw new Error("nobody is let try any more");
    expect(endCall(admission.breaker, admission.ticket, "succeeded", 1, rules).state).toBe("closed");
  });

  it("gives the place of a trial that was broken off or never ended to the next", () => {
    const breaker = halfOpen();
    breaker.calls("aborted");
    expect(breaker.begins()).not.toBeNull();
    breaker.passes(10 * 60_000);
    expect(breaker.begins()).not.toBeNull();
  });

  it("keeps the place of a trial that takes longer than the recovery time, and says when to ask again", () => {
    const breaker = halfOpen();
    const slow = breaker.begins();
    breaker.passes(59_000);
    expect([breaker.begins(), breaker.retryAfter()]).toEqual([null, 1000]);
    breaker.passes(1000);
    expect([breaker.begins(), breaker.retryAfter()]).toEqual([null, 60_000]);
    breaker.passes(9 * 60_000 - 1);
    expect([breaker.begins(), breaker.retryAfter()]).toEqual([null, 1]);
    breaker.ends(slow, "succeeded");
    expect(breaker.state()).toBe("closed");
  });
});

it("a reset breaker is closed, and what was out before says nothing any more", () => {
  const breaker = breakerBy();
  const late = breaker.begins();
  breaker.calls("failed", "failed", "failed");
  breaker.reset();
  expect(breaker.state()).toBe("closed");
  breaker.ends(late, "failed");
  breaker.calls("failed", "failed");
  expect(breaker.state()).toBe("closed");
});

it("whatever happens, never more trials are out than allowed, and nobody is locked out for good", () => {
  const happening = fc.oneof(
    fc.record({ kind: fc.constant("begin" as const) }),
    fc.record({
      kind: fc.constant("end" as const),
      which: fc.nat(20),
      end: fc.constantFrom<CallEnd>("succeeded", "failed", "aborted"),
    }),
    fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(1, 1000, 59_999, 60_000, 700_000) }),
    fc.record({ kind: fc.constant("reset" as const) }),
  );
  const given = fc.record({
    failureThreshold: fc.integer({ min: 1, max: 5 }),
    halfOpenRequests: fc.integer({ min: 1, max: 3 }),
  });
  fc.assert(
    fc.property(given, fc.array(happening, { maxLength: 60 }), (own, story) => {
      const breaker = breakerBy(own);
      const out: Ticket[] = [];
      let now = 0;
      const trialsOut = new Map<Ticket, number>();
      for (const happens of story) {
        if (happens.kind === "pass") {
          now += happens.ms;
          breaker.passes(happens.ms);
        } else if (happens.kind === "reset") {
          breaker.reset();
          trialsOut.clear();
        } else if (happens.kind === "begin") {
          const ticket = breaker.begins();
          if (ticket === null) continue;
          out.push(ticket);
          if (ticket.trial === null) continue;
          for (const [one, began] of trialsOut)
            if (began + 10 * rules.recoveryTimeout <= now || one.period !== ticket.period) trialsOut.delete(one);
          trialsOut.set(ticket, now);
          expect(trialsOut.size).toBeLessThanOrEqual(own.halfOpenRequests);
        } else {
          const [ticket] = out.splice(happens.which % Math.max(1, out.length), 1);
          if (ticket === undefined) continue;
          breaker.ends(ticket, happens.end);
          trialsOut.delete(ticket);
        }
      }
      const retryAfter = breaker.retryAfter() ?? 1;
      expect(retryAfter).toBeGreaterThan(0);
      expect(retryAfter).toBeLessThanOrEqual(rules.recoveryTimeout);
      breaker.passes(10 * 60_000);
      expect(breaker.begins()).not.toBeNull();
    }),
  );
});
