import type { RestartRule } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldGiven, type HeldStory, heldStory } from "./held-story.test-support.ts";
import { endings, hangs, isAsked, startsFailing } from "./ladder-story.test-support.ts";
import { fateOfWork } from "./recover/fate-of-work.ts";

const once: RestartRule = { when: "no" };
const always: RestartRule = { when: "always" };
const upTo = (max: number): RestartRule => ({ when: "on-failure", max });

const withRule = (restart: RestartRule, given: HeldGiven = {}): HeldStory =>
  heldStory({ obedient: true, ...given, hold: { restart, ...given.hold } });

const starts = ({ agent }: HeldStory): number => agent.did("restart-agent").length;
const alerts = ({ agent }: HeldStory): string[] => agent.told("ALERT_RAISED").map(({ severity }) => severity);

describe("an agent that is not to be started again", () => {
  it.each([{ code: 7 }, { signal: "SIGKILL", cause: "killed" as const }])(
    "and fails is over: no illness, no incident, no start, and one warning (%j)",
    (exit) => {
      const held = withRule(once);
      held.prints();
      held.exits(exit);
      held.passes("1d");
      expect(held.agent.past).toEqual([]);
      expect(held.agent.record).toMatchObject({
        ladder: { incident: null, handedOver: null },
        ending: { restart: null },
      });
      expect(starts(held)).toBe(0);
      expect(alerts(held)).toEqual(["warning"]);
    },
  );

  it("is told of in words that say how it ended and that it stays so", () => {
    const held = withRule(once);
    held.exits({ code: 7 });
    expect(held.agent.told("ALERT_RAISED")).toMatchObject([
      { summary: "worker-1: its process ended with status 7; it is not started again (--restart no)" },
    ]);
  });

  it("and whose end nobody saw is over as well", () => {
    const held = withRule(once);
    held.holderIsLost("gone");
    held.passes("1h");
    expect(held.agent.state).toBe("HEALTHY");
    expect([starts(held), alerts(held)]).toEqual([0, ["warning"]]);
  });

  it("and ends well is worth no word", () => {
    const held = withRule(once);
    held.exits({ code: 0 });
    held.passes("1h");
    expect([starts(held), alerts(held)]).toEqual([0, []]);
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
  });

  it("gives its task back when it fails", () => {
    const held = withRule(once, { taskId: "t1" });
    const before = held.agent.record;
    held.exits({ code: 7 });
    expect(fateOfWork(before, held.agent.record)).toEqual({ kind: "released", because: "agent-stopped" });
  });

  it("is not brought back after its provider's limit either", () => {
    const held = withRule(once);
    held.shows({ kind: "rate-limited", pattern: "limit-hit", resetsInMs: 3_600_000, what: "usage" });
    held.exits({ code: 1 });
    held.passes("3h");
    expect([starts(held), alerts(held)]).toEqual([0, ["warning"]]);
    expect(held.agent.record.ladder.incident).toBeNull();
  });

  it("and ends while it is STUCK and asked about ends the matter", () => {
    const held = isAsked({ hold: { restart: once } });
    expect(held.agent.record.ladder.incident?.stage.kind).toBe("escalated");
    held.exits({ code: 7 });
    held.passes("1h");
    expect(endings(held)).toEqual(["recovered: ended"]);
    expect(starts(held)).toBe(0);
    expect(held.agent.told("AGENT_RECOVERED")).toEqual([]);
    expect(held.agent.record.health.alert).toBeNull();
  });

  it("and was stopped by us for an illness is a person's matter, with the reason", () => {
    const held = startsFailing({ obedient: true, hold: { restart: once } });
    held.passes("1h");
    expect(endings(held)).toEqual(["handed-to-a-person: not-started-again"]);
    expect(starts(held)).toBe(0);
    expect(held.agent.told("ALERT_RAISED").at(-1)?.summary).toContain("--restart no");
  });

  it("comes back when whoever was asked about it decides so", () => {
    const held = isAsked({ hold: { restart: once } });
    const escalation = held.agent.told("ESCALATION_TRIGGERED").at(-1)?.escalation ?? "";
    const word = { decision: "terminate_and_recover", actor: "operator", reason: "go on", more: null } as const;
    held.agent.take({ kind: "decided", escalation, ...word });
    held.passes("5m");
    expect(starts(held)).toBe(1);
  });

  it("comes back when a person orders it", () => {
    const held = withRule(once);
    held.exits({ code: 7 });
    held.isOrdered("restart");
    expect(starts(held)).toBe(1);
    expect(held.agent.told("ALERT_RESOLVED")).toHaveLength(1);
  });
});

describe("the warning of an agent that is not to be started again", () => {
  it("is over as soon as somebody starts it again", () => {
    const held = withRule(once, { obedient: false });
    held.exits({ code: 7 });
    held.isOrdered("restart");
    expect(held.agent.told("ALERT_RESOLVED")).toHaveLength(1);
  });
});

describe("an agent that is started again after failures", () => {
  it.each([1, 5])("is started again as often as its owner said, not as its policy says (%i)", (max) => {
    const held = withRule(upTo(max));
    for (let i = 0; i < max + 2; i++) {
      held.exits({ code: 1 });
      held.passes("2m");
    }
    expect(starts(held)).toBe(max);
    expect(held.agent.told("RESTARTS_EXHAUSTED")).toMatchObject([{ attempts: max }]);
  });

  it("follows its policy where no number was said", () => {
    const restart: RestartRule = { when: "on-failure", max: null };
    const held = withRule(restart, { settings: { restart: { max_attempts: 2 } } });
    for (let i = 0; i < 4; i++) {
      held.exits({ code: 1 });
      held.passes("2m");
    }
    expect(starts(held)).toBe(2);
  });

  it("has finished with status 0", () => {
    const held = withRule(upTo(3));
    held.exits({ code: 0 });
    held.passes("1h");
    expect(starts(held)).toBe(0);
  });

  it("goes on after its provider's limit", () => {
    const held = withRule(upTo(1));
    held.shows({ kind: "rate-limited", pattern: "limit-hit", resetsInMs: 3_600_000, what: "usage" });
    held.exits({ code: 1 });
    held.passes("3h");
    expect(starts(held)).toBe(1);
  });
});

describe("an agent that is to run always", () => {
  it("is started again after status 0, at once, then with the rest of the cooldown between, and no failure is counted", () => {
    const held = withRule(always);
    for (let i = 0; i < 10; i++) {
      held.exits({ code: 0 });
      held.passes("61s");
    }
    expect(starts(held)).toBe(10);
    expect(held.agent.record.recovery.restarts).toEqual([]);
    expect(alerts(held)).toEqual([]);
    expect(held.agent.told("RESTART_ORDERED")[0]).toMatchObject({ because: "kept-running" });
    expect(held.agent.did("restart-agent")[0]).toMatchObject({ fresh: true });
  });

  it("rests for the cooldown after a start", () => {
    const held = withRule(always);
    held.exits({ code: 0 });
    held.passes("10s");
    held.exits({ code: 0 });
    held.passes("49s");
    expect(starts(held)).toBe(1);
    held.passes("2s");
    expect(starts(held)).toBe(2);
  });

  it("is ordered once, however long its start takes", () => {
    const held = withRule(always, { obedient: false });
    held.exits({ code: 0 });
    held.passes("110s");
    expect(starts(held)).toBe(1);
  });

  it("goes on after a run that went well, however often it failed before", () => {
    const held = withRule(always);
    for (let i = 0; i < 3; i++) {
      held.exits({ code: 1 });
      held.passes("2m");
    }
    held.exits({ code: 0 });
    held.passes("2m");
    expect(starts(held)).toBe(4);
  });

  it("and says that it is done while its program stays is left alone", () => {
    const held = withRule(always);
    held.agent.beats({ status: "FINISHED" });
    held.passes("1h");
    expect(starts(held)).toBe(0);
  });

  it("has done its task with status 0, whether it is started at once or later", () => {
    const held = withRule(always, { taskId: "t1", obedient: false });
    const before = held.agent.record;
    held.exits({ code: 0 });
    expect(starts(held)).toBe(1);
    expect(fateOfWork(before, held.agent.record)).toEqual({ kind: "completed" });
    expect(held.agent.told("RECOVERY_INITIATED")).toEqual([]);
    const resting = withRule(always, { taskId: "t1" });
    resting.exits({ code: 0 });
    resting.passes("10s");
    resting.exits({ code: 0 });
    const ended = resting.agent.record;
    resting.passes("1m");
    expect(starts(resting)).toBe(2);
    expect(
      fateOfWork(ended, { ...ended, ending: { ...ended.ending, restart: { ...restartOf(held), key: "next" } } }),
    ).toBeNull();
  });

  it("is started again within its budget after failures", () => {
    const held = withRule(always);
    for (let i = 0; i < 6; i++) {
      held.exits({ code: 1 });
      held.passes("2m");
    }
    expect(starts(held)).toBe(3);
    expect(held.agent.told("RESTARTS_EXHAUSTED")).toHaveLength(1);
  });

  it.each(["person", "stopped"] as const)("stays down when a person ended it (%s)", (cause) => {
    const held = withRule(always);
    if (cause === "stopped") held.isOrdered("stop");
    held.exits({ code: 0, cause });
    held.passes("1h");
    expect(starts(held)).toBe(0);
  });

  it("stays down when a person wants it ended between two runs", () => {
    const held = withRule(always);
    held.exits({ code: 0 });
    held.passes("10s");
    held.exits({ code: 0 });
    held.isOrdered("stop");
    held.passes("1h");
    expect(starts(held)).toBe(1);
    expect(held.agent.told("RESTART_CANCELLED")).toHaveLength(1);
    expect(held.agent.state).toBe("TERMINATED");
  });

  it("waits for the end of a freeze, and is left alone where its policy does not act", () => {
    const held = withRule(always);
    held.agent.monitorDoubts({ frozen: true });
    held.exits({ code: 0 });
    held.passes("10m");
    expect(starts(held)).toBe(0);
    held.agent.monitorDoubts({ frozen: false });
    held.agent.take({ kind: "wake" });
    expect(starts(held)).toBe(1);
    for (const settings of [{ mode: "assist" }, { enabled: false }] as const) {
      const watched = withRule(always, { settings });
      watched.exits({ code: 0 });
      watched.passes("10m");
      expect(starts(watched)).toBe(0);
    }
  });

  it("that cannot be started is tried as often as one that fails, and somebody is told", () => {
    const held = withRule(always, { obedient: false });
    held.exits({ code: 0 });
    for (let i = 0; i < 30; i++) {
      const { key } = restartOf(held);
      held.handsAnswer(key, { kind: "not-restarted", problem: "no such folder" });
      held.passes("61s");
    }
    expect(starts(held)).toBe(4);
    expect(alerts(held)).toEqual(["critical"]);
    held.passes("40m");
    // The next hour has its own attempts.
    expect(starts(held)).toBe(7);
  });
});

describe("an agent of which nobody said what follows when it ends", () => {
  it("is started again as its policy says, as before there was such a word", () => {
    const held = heldStory({ obedient: true });
    for (let i = 0; i < 5; i++) {
      held.exits({ code: 1 });
      held.passes("2m");
    }
    expect(starts(held)).toBe(3);
  });

  it("and that hangs is stopped and brought back", () => {
    const held = hangs({ obedient: true });
    held.passes("2h");
    expect(starts(held)).toBeGreaterThan(0);
  });
});

function restartOf({ agent }: HeldStory) {
  const { restart } = agent.record.ending;
  if (restart === null) throw new Error("no start is under way");
  return restart;
}
