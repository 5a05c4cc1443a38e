import { describe, expect, it } from "vitest";
import type { Doubt } from "../doubt.ts";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { endings, startsFailing } from "../ladder-story.test-support.ts";

const starts = ({ agent }: HeldStory) => agent.did("restart-agent").map(({ key }) => key);

/** The process is over and a start was ordered. */
function isGone(given: HeldGiven = {}): HeldStory {
  const held = heldStory({ taskId: "t1", ...given });
  held.exits({ code: 1 });
  return held;
}

describe("a new life that does not come", () => {
  it("after two minutes has failed: it is ordered again, then a question, then a person's matter", () => {
    const held = isGone();
    for (let n = 1; n <= 3; n++) {
      held.handsAnswer(`worker-1/1/restart/${n}`, { kind: "restarted", incarnation: 2, recovery: null });
      held.passes("119s");
      expect(starts(held)).toHaveLength(n);
      held.passes("1s");
    }
    expect(held.agent.when("RESTART_FAILED", "RESTARTS_EXHAUSTED")).toEqual([
      "120s RESTART_FAILED",
      "240s RESTART_FAILED",
      "360s RESTART_FAILED",
      "360s RESTARTS_EXHAUSTED",
    ]);
    expect(held.agent.told("RESTART_FAILED")[0]?.problem).toBe("nothing was heard of its new life within 120 s");
    expect(starts(held)).toEqual(["worker-1/1/restart/1", "worker-1/1/restart/2", "worker-1/1/restart/3"]);
    held.passes("15m");
    expect(endings(held)).toEqual(["handed-to-a-person: restarts-exhausted"]);
    expect(held.agent.record.health.alert?.severity).toBe("critical");
  });

  it("has failed also when the hands say nothing at all, and what they say later is not told twice", () => {
    const held = isGone({ settings: { restart: { cooldown_seconds: 600 } } });
    held.passes("2m");
    held.handsAnswer("worker-1/1/restart/1", { kind: "not-restarted", problem: "the folder is gone" });
    expect(held.agent.told("RESTART_FAILED")).toHaveLength(1);
  });

  it("can be ordered by a person from then on", () => {
    const held = isGone({ hold: { foreground: true } });
    held.isOrdered("restart", "order-1");
    held.passes("119s");
    held.isOrdered("restart", "order-2");
    expect(starts(held)).toEqual(["order-1/restart"]);
    held.passes("1s");
    held.isOrdered("restart", "order-3");
    expect(starts(held)).toEqual(["order-1/restart", "order-3/restart"]);
  });

  it("after a person's order is their matter", () => {
    const held = startsFailing();
    held.isOrdered("restart");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("worker-1/1/stop/consecutive-failures/1");
    held.passes("2m");
    expect(endings(held)).toEqual(["handed-to-a-person: restart-failed"]);
  });
});

describe("a new life that is late", () => {
  const failures = ({ agent }: HeldStory) => agent.told("RESTART_FAILED");

  it("within two minutes is simply there, and no clock of its order runs on", () => {
    const held = isGone();
    held.passes("119s");
    held.startsAgain();
    held.passes("10m");
    expect(failures(held)).toEqual([]);
    expect(held.agent.told("AGENT_RESTARTED")).toHaveLength(1);
    expect(starts(held)).toHaveLength(1);
  });

  it("because we were blind has the whole time again, after each gap", () => {
    const held = isGone();
    for (let gap = 0; gap < 3; gap++) {
      held.passes("119s");
      held.agent.monitorIsBlindFor("3h", gap === 0 ? "restart" : "suspend");
    }
    held.passes("119s");
    expect(failures(held)).toEqual([]);
    held.passes("1s");
    expect(failures(held)).toHaveLength(1);
  });

  it("is not waited for for ever by a monitor that stumbles again and again", () => {
    const held = isGone();
    for (let gap = 0; gap < 6 && failures(held).length === 0; gap++) {
      held.passes("110s");
      held.agent.monitorIsBlindFor("3s");
    }
    expect(failures(held)).toHaveLength(1);
  });

  it.each<[string, Partial<Doubt>, Partial<Doubt>]>([
    ["we doubt our own path", { hold: { because: "mass-silence", since: 0, provenAt: null } }, { hold: null }],
    ["nothing may be started", { frozen: true }, { frozen: false }],
  ])("while %s has not failed, and has the whole time again when that is over", (_, doubted, trusted) => {
    const held = isGone();
    held.passes("119s");
    held.agent.monitorDoubts(doubted);
    held.passes("1h");
    expect(failures(held)).toEqual([]);
    held.agent.monitorDoubts(trusted);
    held.passes("119s");
    expect(failures(held)).toEqual([]);
    held.passes("1s");
    expect(failures(held)).toHaveLength(1);
  });

  it("is looked for every ten seconds, so that a freeze nobody wakes it for is noticed", () => {
    const held = isGone();
    for (let looks = 0; looks < 12; looks++) {
      expect(held.agent.record.wakeAt).toBe(held.agent.now + 10_000);
      held.passes("10s");
    }
  });

  it("because our own turns run late has that much longer", () => {
    const held = isGone({ doubt: { lag: 30_000 } });
    held.passes("149s");
    expect(failures(held)).toEqual([]);
    held.passes("1s");
    expect(failures(held)).toHaveLength(1);
  });

  it("and comes when it was ordered for the second time is the agent's next life like any other", () => {
    const held = isGone();
    held.passes("130s");
    expect(starts(held)).toHaveLength(2);
    held.startsAgain();
    held.handsAnswer("worker-1/1/restart/2", { kind: "restarted", incarnation: 2, recovery: null });
    held.passes("5m");
    expect(held.agent.record).toMatchObject({
      life: { incarnation: 2 },
      ending: { restart: null },
      ladder: { incident: null },
    });
    expect(held.agent.told("AGENT_RESTARTED")).toHaveLength(1);
    expect(starts(held)).toHaveLength(2);
  });
});
