import { describe, expect, it } from "vitest";
import { whatHoldsBack } from "../decide/choose-way-back.ts";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { startsFailing } from "../ladder-story.test-support.ts";
import { readRecord } from "../read-record.ts";

const failures = ({ agent }: HeldStory) => {
  const breaker = agent.record.recovery.gate?.breaker;
  return breaker?.state === "closed" ? breaker.failures.length : breaker?.state;
};
const starts = ({ agent }: HeldStory): number => agent.did("restart-agent").length;
const gate = ({ agent }: HeldStory): string => agent.record.recovery.gate?.breaker.state ?? "none";
const changes = ({ agent }: HeldStory): string[] =>
  agent.told("CIRCUIT_BREAKER_STATE_CHANGED").map(({ name, from, to }) => {
    expect(name).toBe("worker-1/recovery_attempt");
    return `${from} → ${to}`;
  });
const heldBy = ({ agent }: HeldStory) => {
  const held = whatHoldsBack(agent.record, agent.context);
  return held === null ? null : [held.because, held.until === null ? null : (held.until - agent.now) / 1000];
};

/** Restarts are not limited, so that only the breaker holds them back. */
const patient = {
  restart: { max_attempts: 50, cooldown_seconds: 1 },
  recovery: { max_attempts_per_task: 50 },
} as const;
const bounded = { restart: { max_attempts: 3, cooldown_seconds: 1 } } as const;
const slow = { default: { recovery_timeout_seconds: 600 } };

/** It ended so many times, each a moment after it was started. */
function crashes(times: number, given: HeldGiven = {}): HeldStory {
  const held = heldStory({ settings: { ...patient, circuit_breaker: slow }, ...given });
  held.exits({ code: 1 });
  for (let i = 0; i < times; i++) {
    held.startsAgain();
    held.passes("2s");
    held.exits({ code: 1 });
  }
  return held;
}

describe("attempts to bring an agent back", () => {
  it("wait after the third that failed, and say why and until when", () => {
    const held = crashes(3);
    expect([starts(held), gate(held), heldBy(held)]).toEqual([3, "open", ["breaker-open", 600]]);
    held.passes("599s");
    expect(starts(held)).toBe(3);
    held.passes("1s");
    expect(starts(held)).toBe(4);
    expect(changes(held)).toEqual(["CLOSED → OPEN", "OPEN → HALF_OPEN"]);
  });

  it("are let through one at a time after it, and wait as long again when that fails", () => {
    const held = crashes(3);
    held.passes("10m");
    held.startsAgain();
    held.passes("2s");
    held.exits({ code: 1 });
    expect([starts(held), heldBy(held)]).toEqual([4, ["breaker-open", 600]]);
    expect(held.agent.record.recovery.gate?.trips).toBe(2);
  });

  it("count as one that went well when the new life stood its probation, not before", () => {
    const held = crashes(3);
    held.passes("10m");
    held.startsAgain();
    held.passes("14m");
    expect(gate(held)).toBe("half-open");
    held.passes("1m");
    expect(gate(held)).toBe("closed");
    expect(changes(held).at(-1)).toBe("HALF_OPEN → CLOSED");
  });

  it("count as one that went well when the new life finishes", () => {
    const held = crashes(3);
    held.passes("10m");
    held.startsAgain();
    held.passes("5s");
    held.exits({ code: 0 });
    expect(gate(held)).toBe("closed");
  });

  it("fail when nothing was started", () => {
    const hands: HeldGiven["hands"] = ({ kind }) =>
      kind === "restart-agent" ? { kind: "not-restarted", problem: "no such program" } : null;
    const held = heldStory({ settings: { ...patient, circuit_breaker: slow }, hands });
    held.exits({ code: 1 });
    held.agent.silentFor("1m");
    expect([starts(held), gate(held)]).toEqual([3, "open"]);
    expect(heldBy(held)?.[0]).toBe("breaker-open");
    held.agent.silentFor("10m");
    expect(starts(held)).toBe(4);
  });

  it("fail with a relapse, which is a person's matter as ever", () => {
    const held = startsFailing({ obedient: true });
    expect(gate(held)).toBe("closed");
    held.passes("5m");
    held.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    expect(held.agent.record.ladder.handedOver?.because).toBe("relapse");
    const { breaker, attempt } = held.agent.record.recovery.gate ?? {};
    expect([breaker?.state === "closed" && breaker.failures.length, attempt]).toEqual([1, null]);
  });

  it("do not count when a person ended the new life, its provider's limit did, or it died with many others", () => {
    const counted = (dies: (held: HeldStory) => void) => {
      const held = crashes(2);
      held.startsAgain();
      held.passes("2s");
      dies(held);
      const { breaker, attempt } = held.agent.record.recovery.gate ?? {};
      return [breaker?.state === "closed" ? breaker.failures.length : breaker?.state, attempt];
    };
    expect(counted((held) => held.exits({ code: 1 }))[0]).toBe("open");
    expect(counted((held) => held.exits({ code: 130, cause: "person" }))).toEqual([2, null]);
    const limit = { kind: "rate-limited", pattern: "l", resetsInMs: 3_600_000, by: "stream", what: "usage" } as const;
    const atLimit = { exit: { code: 1, signal: null, cause: "by-itself" } } as const;
    expect(counted((held) => held.report([limit], atLimit))).toEqual([2, null]);
    const withOthers = (held: HeldStory) => {
      held.agent.monitorDoubts({ diedWith: "rouse.fleet/2" });
      held.exits({ code: 1 });
    };
    expect(counted(withOthers)[0]).toBe(2);
    const ordered = (held: HeldStory) => {
      held.isOrdered("stop");
      held.exits({ signal: "SIGTERM", cause: "stopped" });
    };
    expect(counted(ordered)).toEqual([2, null]);
  });

  it("have not failed while the new life is still to come, however long that takes", () => {
    const held = heldStory({ settings: { ...patient, circuit_breaker: slow } });
    for (let i = 0; i < 4; i++) {
      held.exits({ code: 1 });
      held.agent.silentFor("20s");
      expect(failures(held)).toBe(0);
      held.startsAgain();
      held.passes("20m");
    }
    expect([starts(held), failures(held)]).toEqual([4, 0]);
  });

  it("have gone well when the new life says that it is done, before it ends", () => {
    const held = crashes(2);
    held.startsAgain();
    held.agent.beats({ status: "FINISHED" });
    held.passes("1m");
    expect([failures(held), held.agent.record.recovery.gate?.attempt]).toEqual([0, null]);
  });

  it("have neither failed nor gone well while the new life is on probation", () => {
    const held = startsFailing({ obedient: true });
    held.passes("5m");
    expect(held.agent.record.ladder.incident?.stage.kind).toBe("probation");
    expect([failures(held), held.agent.record.recovery.gate?.attempt?.after]).toEqual([0, 1]);
    held.passes("20m");
    expect([failures(held), held.agent.record.recovery.gate?.attempt]).toEqual([0, null]);
  });

  it("are counted over the lives that a person starts between them", () => {
    const held = heldStory({ settings: { ...patient, circuit_breaker: slow } });
    held.exits({ code: 1 });
    held.startsAgain();
    held.passes("3h");
    const { since } = held.agent.record.recovery.gate ?? {};
    for (let i = 0; i < 3; i++) {
      held.exits({ code: 1 });
      held.startsAgain();
      held.passes("2s");
    }
    held.exits({ code: 130, cause: "person" });
    held.startsAgain();
    held.passes("2s");
    expect([failures(held), held.agent.record.recovery.gate]).toMatchObject([2, { attempt: null, since }]);
    held.exits({ code: 1 });
    held.startsAgain();
    held.passes("2s");
    held.exits({ code: 1 });
    expect(gate(held)).toBe("open");
  });

  it("are known to have gone well by the clock alone, when nothing is reported meanwhile", () => {
    const held = crashes(3, {
      settings: { ...patient, recovery: { probation_seconds: 20 }, circuit_breaker: slow },
    });
    held.passes("10m");
    held.startsAgain();
    held.agent.silentFor("25s");
    expect([held.agent.state, gate(held)]).toEqual(["HEALTHY", "closed"]);
  });

  it("wait for whichever is later, the breaker or the pause between attempts", () => {
    const held = crashes(1, {
      settings: {
        restart: { max_attempts: 50, cooldown_seconds: 300 },
        circuit_breaker: { default: { recovery_timeout_seconds: 60, failure_threshold: 1 } },
      },
    });
    expect(starts(held)).toBe(1);
    expect(heldBy(held)).toEqual(["cooldown", 298]);
  });

  it("are given up with their budget, whatever the breaker says, and handed to a person", () => {
    const held = crashes(3, { settings: { ...bounded, circuit_breaker: slow } });
    expect([starts(held), gate(held)]).toEqual([3, "open"]);
    expect(held.agent.eventTypes()).toContain("RESTARTS_EXHAUSTED");
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "restarts-exhausted" }]);
  });

  it("are let through at once by a person's word, after which earlier failures say nothing", () => {
    const ordered = crashes(3);
    ordered.isOrdered("restart");
    expect([starts(ordered), gate(ordered)]).toEqual([4, "closed"]);
    const reset = crashes(3);
    reset.agent.take({ kind: "recovery-reset" });
    expect([starts(reset), changes(reset)]).toEqual([4, ["CLOSED → OPEN", "OPEN → CLOSED"]]);
  });

  it("are let through by the orchestrator's decision", () => {
    const held = crashes(3, { settings: { ...bounded, circuit_breaker: slow } });
    held.agent.decides("terminate_and_recover");
    expect([starts(held), gate(held)]).toEqual([4, "closed"]);
  });

  it("wait in a freeze, and say so", () => {
    const held = crashes(3);
    held.agent.monitorDoubts({ frozen: true });
    held.passes("3h");
    expect([starts(held), heldBy(held)]).toEqual([3, ["frozen", null]]);
    held.agent.monitorDoubts({ frozen: false });
    // What failed before is not forgotten while it is down: one is let through, and not three.
    expect([starts(held), gate(held)]).toEqual([4, "half-open"]);
  });

  it("are remembered in the record, and unknown in one of an earlier version", () => {
    const { record } = crashes(3).agent;
    expect(readRecord(JSON.stringify(record)).recovery.gate).toEqual(record.recovery.gate);
    const { gate: _, ...earlier } = record.recovery;
    const { breakers: __, ...seen } = record.seen;
    const read = readRecord(JSON.stringify({ ...record, recovery: earlier, seen }));
    expect([read.recovery.gate, read.seen.breakers]).toEqual([null, []]);
  });

  it("of an agent that is up say nothing any more after a while", () => {
    const held = crashes(3);
    held.isOrdered("stop");
    held.holdOf();
    expect(gate(held)).toBe("open");
    held.startsAgain();
    // It opens again after 600 s, and is forgotten ten times as long after that.
    held.agent.beatsEvery("10s", "6590s");
    expect(gate(held)).toBe("open");
    held.agent.beatsEvery("10s", "20s");
    expect(gate(held)).toBe("closed");
  });

  it("that were let try and broken off are forgotten, too", () => {
    const held = crashes(3);
    held.passes("10m");
    held.startsAgain();
    held.exits({ code: 130, cause: "person" });
    held.startsAgain();
    held.passes("90m");
    expect(gate(held)).toBe("half-open");
    held.passes("20m");
    expect(gate(held)).toBe("closed");
  });
});
