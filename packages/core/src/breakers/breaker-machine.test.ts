import type { BreakerRules } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type BreakerRecord, type BreakerSignal, breakerMachine, failuresOf, newBreaker } from "./breaker-machine.ts";
import type { BreakerChanged } from "./open-breakers.ts";

const rules: BreakerRules = { failureThreshold: 3, recoveryTimeout: 60_000, halfOpenRequests: 1 };

/** One breaker on its own clock, woken when it asks to be. */
function breakerNamed(name: string, own: Partial<BreakerRules> = {}) {
  let now = 1_000_000;
  let record: BreakerRecord = newBreaker(name, "observed", now);
  const changes: string[] = [];
  const letters: BreakerChanged[] = [];
  const step = (signal: BreakerSignal): void => {
    const stepped = breakerMachine.step(record, signal, { now, rules: { ...rules, ...own } });
    record = breakerMachine.restore(breakerMachine.serialise(stepped.record));
    for (const letter of stepped.letters ?? []) {
      expect([letter.machine, letter.id]).toEqual(["agent", record.agentId]);
      letters.push(letter.signal as BreakerChanged);
    }
    for (const { payload } of stepped.events) {
      const { name: whose, from, to } = payload as { name: string; from: string; to: string };
      expect(whose).toBe(name);
      changes.push(`${from} → ${to}`);
    }
  };
  const breaker = {
    step,
    changes,
    letters,
    record: () => record,
    callsOf(tool: string, ...outcomes: ("well" | "failed")[]): void {
      for (const outcome of outcomes) step({ kind: "called", tool, failed: outcome === "failed" });
    },
    calls: (...outcomes: ("well" | "failed")[]): void => breaker.callsOf("grep", ...outcomes),
    passes(ms: number): void {
      const until = now + ms;
      const due = breakerMachine.wakeAt(record);
      if (due !== null && due <= until) {
        now = due;
        step({ kind: "wake" });
      }
      now = until;
    },
  };
  return breaker;
}

describe("a breaker that Rouse runs over what it sees", () => {
  it("opens after three failed calls in a row, waits, and is closed by the first that goes well", () => {
    const breaker = breakerNamed("worker-1/tool_execution/grep");
    breaker.calls("failed", "failed", "well", "failed", "failed", "failed");
    expect(breaker.record()).toMatchObject({ agentId: "worker-1", operation: "tool_execution/grep", trips: 1 });
    // Nobody keeps the agent from calling: what it does meanwhile says nothing.
    breaker.calls("well", "failed");
    expect(breaker.changes).toEqual(["CLOSED → OPEN"]);
    breaker.passes(60_000);
    breaker.calls("well");
    expect(breaker.changes).toEqual(["CLOSED → OPEN", "OPEN → HALF_OPEN", "HALF_OPEN → CLOSED"]);
  });

  it("opens again when the trial fails, and counts it", () => {
    const breaker = breakerNamed("w/tool_execution");
    breaker.calls("failed", "failed", "failed");
    breaker.passes(60_000);
    breaker.calls("failed");
    expect(breaker.changes.at(-1)).toBe("HALF_OPEN → OPEN");
    expect(breaker.record().trips).toBe(2);
  });
});

describe("a wake-up that comes early, or for nothing", () => {
  it("lets nobody try before the time", () => {
    const breaker = breakerNamed("w/tool_execution");
    breaker.calls("failed", "failed", "failed");
    breaker.passes(59_999);
    breaker.step({ kind: "wake" });
    expect(breaker.record().breaker.state).toBe("open");
    breaker.passes(1);
    breaker.passes(599_999);
    breaker.step({ kind: "wake" });
    expect(breaker.record().breaker.state).toBe("half-open");
  });

  it("forgives no failure", () => {
    const breaker = breakerNamed("w/tool_execution");
    breaker.calls("failed", "failed");
    breaker.step({ kind: "wake" });
    breaker.calls("failed");
    expect(breaker.record().breaker.state).toBe("open");
  });

  it("moves no breaker that has become its agent's own", () => {
    const breaker = breakerNamed("w/tool_execution");
    breaker.step({ kind: "reported", state: "OPEN", failures: 3, retryIn: 30_000 });
    expect(breakerMachine.wakeAt(breaker.record())).toBeNull();
    breaker.passes(30_000);
    breaker.step({ kind: "wake" });
    expect(breaker.record().breaker.state).toBe("open");
  });
});

it("a breaker that needs two trials closes after both", () => {
  const breaker = breakerNamed("w/tool_execution", { halfOpenRequests: 2 });
  breaker.calls("failed", "failed", "failed");
  breaker.passes(60_000);
  breaker.calls("well");
  expect(breaker.record().breaker.state).toBe("half-open");
  breaker.calls("well");
  expect(breaker.record().breaker.state).toBe("closed");
});

describe("the breaker of all tools that Rouse runs", () => {
  const tools = () => breakerNamed("w/tool_execution");

  it("counts no failures of one tool beside another that is used, and those of two", () => {
    const breaker = tools();
    breaker.callsOf("Read", "well");
    breaker.callsOf("Bash", "failed", "failed", "failed", "failed");
    expect(breaker.record().breaker).toMatchObject({ state: "closed", failures: [] });
    breaker.callsOf("Read", "failed", "failed", "failed");
    expect(breaker.record().breaker.state).toBe("open");
  });

  it("opens again when another tool fails after the pause, and not when the same does that failed between others", () => {
    const [two, one] = [tools(), tools()];
    for (const breaker of [two, one]) {
      breaker.callsOf("Bash", "failed", "failed");
      breaker.callsOf("Read", "failed");
    }
    one.callsOf("Read", "well");
    for (const breaker of [two, one]) {
      breaker.passes(60_000);
      breaker.callsOf("Bash", "failed");
    }
    expect([two.record().breaker.state, one.record().breaker.state]).toEqual(["open", "half-open"]);
    one.callsOf("Read", "well");
    expect(one.record().breaker.state).toBe("closed");
  });

  it("knows of no tools any more after a new life or a reset", () => {
    const breaker = tools();
    breaker.callsOf("Read", "well");
    breaker.step({ kind: "life-began" });
    expect(breaker.record()).not.toHaveProperty("tools");
    breaker.callsOf("Read", "failed");
    breaker.callsOf("Bash", "failed");
    breaker.step({ kind: "reset", command: null });
    expect(breaker.record().tools?.failed).toEqual([]);
    breaker.callsOf("Bash", "failed", "failed", "failed");
    expect(breaker.record().breaker.state).toBe("closed");
  });
});

describe("a breaker that nobody tries any more", () => {
  it("waits half open for ten recovery times, and then is closed", () => {
    const breaker = breakerNamed("w/tool_execution/grep");
    breaker.calls("failed", "failed", "failed");
    breaker.passes(60_000);
    breaker.passes(599_999);
    expect(breaker.record().breaker.state).toBe("half-open");
    breaker.passes(1);
    expect(breaker.changes.at(-1)).toBe("HALF_OPEN → CLOSED");
    breaker.calls("failed", "failed");
    expect(breaker.record().breaker.state).toBe("closed");
  });

  it("of an earlier version is closed after ten minutes", () => {
    const { unsettled: _, ...saved } = {
      ...newBreaker("w/tool_execution", "observed", 5000),
      breaker: { state: "half-open", period: 1, trials: [], passed: 0 },
    };
    expect(breakerMachine.wakeAt(breakerMachine.restore(JSON.stringify(saved)))).toBe(605_000);
    const { unsettled: __, ...closed } = newBreaker("w/tool_execution", "observed", 5000);
    expect(breakerMachine.wakeAt(breakerMachine.restore(JSON.stringify(closed)))).toBeNull();
  });
});

describe("what an agent's own record is told", () => {
  const told = (breaker: ReturnType<typeof breakerNamed>) => breaker.letters.map(({ state }) => state);

  it("is every change, the same once, and nothing of calls that change nothing", () => {
    const breaker = breakerNamed("w/tool_execution");
    breaker.calls("failed", "failed", "failed", "failed", "well");
    breaker.passes(60_000);
    breaker.calls("well", "well");
    expect(told(breaker)).toEqual(["OPEN", "HALF_OPEN", "CLOSED"]);
    expect(breaker.letters[0]).toEqual({
      kind: "breaker-changed",
      operation: "tool_execution",
      state: "OPEN",
      source: "observed",
      since: 1_000_000,
      failingSince: 1_000_000,
      unsettledSince: 1_000_000,
      retryAt: 1_060_000,
      agesOutAt: 1_660_000,
    });
  });

  it("of one that opens anew is since when it was not closed, and when it began to fail again", () => {
    const breaker = breakerNamed("w/checkpoint_write");
    breaker.calls("failed", "failed", "failed");
    breaker.passes(60_000);
    breaker.calls("failed");
    expect(breaker.letters.at(-1)).toMatchObject({ unsettledSince: 1_000_000, failingSince: 1_060_000 });
  });
});

describe("since when an agent's tools fail", () => {
  it("is since the first of the failures that opened their breaker, also while it is half open", () => {
    const breaker = breakerNamed("w/tool_execution");
    for (let i = 0; i < 3; i++) {
      breaker.calls("failed");
      breaker.passes(1000);
    }
    breaker.passes(60_000);
    expect(breaker.letters).toMatchObject([
      { state: "OPEN", failingSince: 1_000_000, unsettledSince: 1_002_000 },
      { state: "HALF_OPEN", failingSince: 1_000_000, unsettledSince: 1_002_000, retryAt: null },
    ]);
  });

  it("is told anew when it had closed meanwhile: it did not fail all that time", () => {
    const breaker = breakerNamed("w/tool_execution");
    breaker.calls("failed", "failed", "failed");
    breaker.passes(60_000);
    breaker.calls("well", "failed", "failed", "failed");
    expect(breaker.letters.at(-1)).toMatchObject({ state: "OPEN", failingSince: 1_060_000, unsettledSince: 1_060_000 });
  });

  it("is what the agent says now, not what it said earlier of failures", () => {
    const breaker = breakerNamed("w/tool_execution");
    breaker.step({ kind: "reported", state: "CLOSED", failures: 2, retryIn: null });
    breaker.passes(3_600_000);
    breaker.step({ kind: "reported", state: "OPEN", failures: 3, retryIn: null });
    expect(breaker.letters.at(-1)).toMatchObject({ failingSince: 4_600_000 });
  });
});

describe("a new life of its agent", () => {
  it("begins with closed breakers, whoever kept them", () => {
    const seen = breakerNamed("w/tool_execution");
    seen.calls("failed", "failed");
    seen.step({ kind: "life-began" });
    seen.calls("failed", "failed");
    expect(seen.record().breaker).toMatchObject({ state: "closed", failures: { length: 2 } });
    const once = breakerNamed("w/tool_execution");
    once.calls("failed");
    once.step({ kind: "life-began" });
    expect(once.record().breaker).toMatchObject({ state: "closed", failures: [] });
    const reported = breakerNamed("w/external_api");
    reported.step({ kind: "reported", state: "OPEN", failures: 3, retryIn: null });
    reported.step({ kind: "life-began" });
    expect(reported.changes).toEqual(["CLOSED → OPEN", "OPEN → CLOSED"]);
  });

  it("still has to hear of a reset that the former one did not", () => {
    const breaker = breakerNamed("w/external_api");
    breaker.step({ kind: "reported", state: "OPEN", failures: 3, retryIn: null });
    breaker.step({ kind: "reset", command: "reset/1" });
    breaker.step({ kind: "life-began" });
    breaker.step({ kind: "reported", state: "OPEN", failures: 3, retryIn: null });
    expect(breaker.record()).toMatchObject({ breaker: { state: "closed" }, reset: "reset/1" });
  });
});

describe("a breaker inside an agent", () => {
  const open = { kind: "reported", state: "OPEN", failures: 3, retryIn: 30_000 } as const;

  it("is as its agent says, whatever Rouse sees, and by no clock of ours", () => {
    const breaker = breakerNamed("w/external_api/github");
    breaker.step(open);
    breaker.calls("well", "failed", "failed", "failed", "failed");
    breaker.passes(3_600_000);
    expect(breaker.record()).toMatchObject({ source: "agent", breaker: { state: "open" }, trips: 1 });
    breaker.step({ kind: "reported", state: "HALF_OPEN", failures: 0, retryIn: null });
    breaker.step({ kind: "reported", state: "CLOSED", failures: 2, retryIn: null });
    expect(breaker.changes).toEqual(["CLOSED → OPEN", "OPEN → HALF_OPEN", "HALF_OPEN → CLOSED"]);
  });

  it("stays closed when its agent says so, however many calls Rouse sees fail", () => {
    const breaker = breakerNamed("w/tool_execution");
    breaker.step({ kind: "reported", state: "CLOSED", failures: 2, retryIn: null });
    breaker.calls("failed", "failed", "failed");
    expect(breaker.record().breaker).toMatchObject({ state: "closed", failures: { length: 2 } });
  });

  it("ages out when it should have let something through long ago, and never when it named no time", () => {
    const breaker = breakerNamed("w/external_api");
    breaker.step({ kind: "reported", state: "OPEN", failures: 3, retryIn: null });
    expect(breaker.letters.at(-1)).toMatchObject({ state: "OPEN", agesOutAt: null });
    breaker.step(open);
    expect(breaker.letters.at(-1)).toMatchObject({ state: "OPEN", retryAt: 1_030_000, agesOutAt: 1_630_000 });
    breaker.passes(1000);
    breaker.step(open);
    expect(breaker.letters.at(-1)).toMatchObject({
      ...{ retryAt: 1_031_000, agesOutAt: 1_631_000 },
      ...{ failingSince: 1_000_000, unsettledSince: 1_000_000 },
    });
    const half = breakerNamed("w/external_api");
    half.step({ kind: "reported", state: "HALF_OPEN", failures: 0, retryIn: null });
    expect(half.letters).toMatchObject([{ state: "HALF_OPEN", failingSince: 1_000_000, agesOutAt: 1_600_000 }]);
  });

  it("fills no memory by the failures that its agent says it counts", () => {
    const breaker = breakerNamed("w/external_api");
    breaker.step({ kind: "reported", state: "CLOSED", failures: 1_000_000, retryIn: null });
    expect(breaker.record().breaker).toMatchObject({ failures: { length: 1000 } });
  });

  it("said twice is one change", () => {
    const breaker = breakerNamed("w/external_api");
    breaker.step(open);
    breaker.step(open);
    expect([breaker.changes.length, breaker.record().trips]).toEqual([1, 1]);
  });

  it("that is reset is closed at once, and its agent is told until it has heard of it", () => {
    const breaker = breakerNamed("w/external_api");
    breaker.step(open);
    breaker.step({ kind: "reset", command: "reset/1" });
    expect(breaker.record()).toMatchObject({ breaker: { state: "closed" }, reset: "reset/1" });
    breaker.step(open);
    expect(breaker.record().breaker.state).toBe("closed");
    breaker.step({ kind: "heard", commands: ["another"] });
    expect(breaker.record().reset).toBe("reset/1");
    breaker.step({ kind: "heard", commands: ["another", "reset/1"] });
    expect(breaker.record().reset).toBeNull();
    breaker.step(open);
    expect(breaker.record().breaker.state).toBe("open");
  });
});

describe("how many failures opened a breaker", () => {
  it("stays known while it is not closed: as its agent said, and as Rouse counted", () => {
    const own = breakerNamed("w/external_api");
    own.step({ kind: "reported", state: "OPEN", failures: 7, retryIn: 1000 });
    expect(failuresOf(own.record())).toBe(7);
    own.step({ kind: "reported", state: "HALF_OPEN", failures: 0, retryIn: null });
    expect(failuresOf(own.record())).toBe(7);
    own.step({ kind: "reported", state: "CLOSED", failures: 0, retryIn: null });
    expect(failuresOf(own.record())).toBe(0);
    const seen = breakerNamed("w/tool_execution");
    seen.calls("failed", "failed", "failed");
    expect(failuresOf(seen.record())).toBe(3);
    seen.passes(60_000);
    seen.calls("failed");
    expect(failuresOf(seen.record())).toBe(4);
    seen.passes(60_000);
    seen.calls("well");
    expect(failuresOf(seen.record())).toBe(0);
  });
});
