import { describe, expect, it } from "vitest";
import { noDoubt } from "../doubt.ts";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { endings, startsFailing } from "../ladder-story.test-support.ts";
import { newRecord } from "../record.ts";
import { policyOf } from "../story.test-support.ts";
import { chooseRecovery, type Revival } from "./choose-way-back.ts";

const restarts = ({ agent }: HeldStory) => agent.did("restart-agent");
const told = ({ agent }: HeldStory, type: string) => agent.events.filter((event) => event.type === type);

const crashed = (given: HeldGiven = {}): HeldStory => {
  const held = heldStory(given);
  held.exits({ code: 1 });
  return held;
};

describe("a process that is gone", () => {
  it("is started again at once", () => {
    const held = crashed();
    expect(restarts(held)).toEqual([
      {
        kind: "restart-agent",
        key: "worker-1/1/restart/1",
        agentId: "worker-1",
        incarnation: 1,
        taskId: null,
        reason: "UNRESPONSIVE: process-exited, by-itself",
        attempt: 1,
        afterLimit: false,
      },
    ]);
    expect(told(held, "RESTART_ORDERED")).toMatchObject([{ payload: { because: "process-exited", attempt: 1 } }]);
    held.passes("119s");
    held.agent.monitorDoubts({});
    expect(restarts(held)).toHaveLength(1);
  });

  it("also when it had been UNRESPONSIVE before for another reason", () => {
    const held = heldStory({ preset: "fleet" });
    held.agent.beats();
    held.passes("1m");
    expect(held.agent.reason).toBe("missed-beats");
    held.exits({ signal: "SIGSEGV", cause: "killed" });
    expect(restarts(held)).toHaveLength(1);
  });

  it("and when nobody saw its end", () => {
    const held = heldStory();
    held.holderIsLost("gone");
    expect(restarts(held)).toHaveLength(1);
  });

  it("the next time no sooner than a minute later, three times in the hour, then never by itself", () => {
    const held = crashed();
    held.startsAgain();
    held.exits({ code: 1 });
    held.passes("59s");
    expect(restarts(held)).toHaveLength(1);
    held.passes("1s");
    expect(restarts(held)).toHaveLength(2);
    held.startsAgain();
    held.passes("2m");
    held.exits({ code: 1 });
    expect(restarts(held)).toHaveLength(3);
    held.startsAgain();
    held.passes("2m");
    held.exits({ code: 1 });
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([
      { reason: "restarts-exhausted", severity: "SEV-2" },
    ]);
    held.passes("5h");
    held.agent.monitorDoubts({});
    expect(restarts(held)).toHaveLength(3);
    expect(endings(held).at(-1)).toBe("handed-to-a-person: restarts-exhausted");
    expect(told(held, "RESTARTS_EXHAUSTED")).toEqual([
      { type: "RESTARTS_EXHAUSTED", payload: { agentId: "worker-1", attempts: 3, windowSeconds: 3600 } },
    ]);
    expect(held.agent.record.health.alert).not.toBeNull();
  });

  it("after a person has looked at it, as often again, but not without a rest", () => {
    const held = crashed();
    for (let i = 0; i < 2; i++) {
      held.startsAgain();
      held.passes("2m");
      held.exits({ code: 1 });
    }
    expect(restarts(held)).toHaveLength(3);
    held.startsAgain();
    held.passes("2s");
    held.exits({ code: 1 });
    held.isOrdered("restart");
    held.startsAgain();
    held.exits({ code: 1 });
    expect(restarts(held)).toHaveLength(4);
    held.passes("57s");
    expect(restarts(held)).toHaveLength(4);
    held.passes("1s");
    expect(restarts(held)).toHaveLength(5);
    for (let i = 0; i < 2; i++) {
      held.startsAgain();
      held.passes("2m");
      held.exits({ code: 1 });
    }
    expect(restarts(held)).toHaveLength(7);
    expect(
      held.agent.told("ESCALATION_TRIGGERED").filter(({ reason }) => reason === "restarts-exhausted"),
    ).toHaveLength(1);
  });

  it("restarts of more than an hour ago are not counted", () => {
    const held = crashed();
    for (let i = 0; i < 5; i++) {
      held.startsAgain();
      held.passes("31m");
      held.exits({ code: 1 });
    }
    expect(restarts(held)).toHaveLength(6);
    expect(told(held, "RESTARTS_EXHAUSTED")).toEqual([]);
    expect(held.agent.record.recovery.restarts.length).toBeLessThanOrEqual(3);
  });

  it.each<[string, HeldStory, string]>([
    ["that ran in a person's terminal", crashed({ hold: { foreground: true } }), "HEALTHY"],
    ["in mode assist", crashed({ settings: { mode: "assist" } }), "UNRESPONSIVE"],
    ["in mode observe", crashed({ settings: { mode: "observe" } }), "UNRESPONSIVE"],
  ])("%s is not started again by us", (_, held, state) => {
    held.passes("1h");
    held.agent.monitorDoubts({});
    expect(held.agent.state).toBe(state);
    expect(restarts(held)).toEqual([]);
  });

  it.each([
    ["with status 0", { code: 0 }],
    ["by a person", { code: 130, cause: "person" }],
    ["by our own stop", { signal: "SIGKILL", cause: "stopped" }],
  ] as const)("%s is not started again", (_, exit) => {
    const held = heldStory();
    held.exits(exit);
    held.agent.monitorDoubts({});
    expect(restarts(held)).toEqual([]);
  });

  it("during a freeze waits for the thaw, and is not forgotten", () => {
    const held = crashed({ doubt: { frozen: true } });
    held.passes("1h");
    expect(restarts(held)).toEqual([]);
    held.agent.monitorDoubts({ frozen: false });
    expect(restarts(held)).toHaveLength(1);
  });
});

describe("an agent that we stopped", () => {
  const policy = policyOf("default");
  const minute = 60_000;

  /** Attempts for the task, each so long ago, asked at ten hours. */
  function after(attempts: readonly { readonly taskId: string | null; readonly ago: number }[], agentId = "worker-1") {
    const now = 600 * minute;
    const born = newRecord({ agentId, agentType: null, node: null, incarnation: 1, taskId: "t1", gapsSeen: 0 }, 0);
    const recoveries = attempts.map(({ taskId, ago }) => ({ taskId, at: now - ago }));
    const revive = (taskId: string | null): Revival =>
      chooseRecovery(
        { ...born, task: { ...born.task, id: taskId }, recovery: { ...born.recovery, attempts: recoveries } },
        { now, policy, doubt: noDoubt },
      );
    return { now, revive };
  }

  it("is brought back at once the first time", () => {
    expect(after([]).revive("t1")).toEqual({ kind: "start", attempt: 1 });
  });

  it.each([
    [1, 60],
    [2, 120],
  ])("after %s attempts rests %s seconds, a tenth more or less, and not the same for everybody", (count, seconds) => {
    const tried = Array.from({ length: count }, () => ({ taskId: "t1", ago: 0 }));
    const rests = Array.from({ length: 50 }, (_, n) => {
      const { now, revive } = after(tried, `worker-${n}`);
      const revival = revive("t1");
      return revival.kind === "wait" ? revival.until - now : 0;
    });
    for (const rest of rests) expect(Math.abs(rest - seconds * 1000)).toBeLessThanOrEqual(seconds * 100);
    expect(new Set(rests).size).toBeGreaterThan(10);
    expect(rests.every(Number.isInteger)).toBe(true);
  });

  it("is brought back three times for one task, however long that takes", () => {
    const tried = [300, 200, 100].map((ago) => ({ taskId: "t1", ago: ago * minute }));
    expect(after(tried).revive("t1")).toEqual({ kind: "exhausted", attempts: 3 });
    expect(after(tried).revive("t2")).toEqual({ kind: "start", attempt: 1 });
  });

  it("is brought back five times in an hour, for whatever tasks, and again when the first is an hour ago", () => {
    const tried = [59, 50, 40, 30, 20].map((ago, n) => ({ taskId: `t${n + 2}`, ago: ago * minute }));
    expect(after(tried).revive("t1")).toEqual({ kind: "exhausted", attempts: 5 });
    const older = tried.map(({ taskId, ago }) => ({ taskId, ago: ago + minute }));
    expect(after(older).revive("t1")).toEqual({ kind: "start", attempt: 1 });
  });

  it("without a task is counted by the hour", () => {
    const tried = [59, 50, 40].map((ago) => ({ taskId: null, ago: ago * minute }));
    expect(after(tried).revive(null)).toEqual({ kind: "exhausted", attempts: 3 });
    const older = tried.map(({ taskId, ago }) => ({ taskId, ago: ago + minute }));
    expect(after(older).revive(null)).toEqual({ kind: "start", attempt: 3 });
  });

  it("and could not be started is tried again after the rest, three times, and then somebody is asked", () => {
    const held = startsFailing();
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("worker-1/1/stop/consecutive-failures/1");
    for (let n = 1; n <= 3; n++) {
      expect(restarts(held)).toHaveLength(n);
      held.handsAnswer(`worker-1/1/recovery/${n}`, { kind: "not-restarted", problem: "no such program" });
      held.passes("3m");
    }
    expect(restarts(held).map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([
      { reason: "recoveries-exhausted", severity: "SEV-2" },
    ]);
    held.passes("20m");
    expect(endings(held)).toEqual(["handed-to-a-person: recoveries-exhausted"]);
    expect(held.agent.told("RECOVERY_FAILED")).toEqual([
      { taskId: "t1", agentId: "worker-1", reason: "recoveries-exhausted", attempts: 3 },
    ]);
  });

  it("counts anew after a person brought it back: they have looked at it", () => {
    const held = startsFailing();
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("worker-1/1/stop/consecutive-failures/1");
    held.handsAnswer("worker-1/1/recovery/1", { kind: "not-restarted", problem: "p" });
    held.isOrdered("restart");
    expect(held.agent.record.recovery.attempts).toEqual([]);
  });
});
