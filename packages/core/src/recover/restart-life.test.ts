import type { RecoveryContext } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";
import { endings, startsFailing } from "../ladder-story.test-support.ts";
import type { Reply } from "../signal.ts";

const orders = ({ agent }: HeldStory) =>
  agent.actions
    .filter(({ kind }) => kind === "stop-agent" || kind === "restart-agent")
    .map(({ kind, key }) => `${kind} ${key}`);
const told = ({ agent }: HeldStory, type: string) => agent.events.filter((event) => event.type === type);

describe("a new life", () => {
  it("that we asked for is HEALTHY, told with its cause, ends the alert, and its holder counts from one", () => {
    const held = heldStory();
    held.prints(5);
    held.exits({ signal: "SIGSEGV", cause: "killed" });
    held.passes("5s");
    held.startsAgain();
    expect(told(held, "AGENT_RESTARTED")).toEqual([
      {
        type: "AGENT_RESTARTED",
        payload: {
          agentId: "worker-1",
          from: 1,
          to: 2,
          because: "process-exited",
          cause: "killed",
          chain: ["UNRESPONSIVE: process-exited", "exit: killed SIGSEGV", "started again: process-exited"],
        },
      },
    ]);
    expect(held.agent.past).toEqual(["0s UNRESPONSIVE", "5s HEALTHY"]);
    expect(held.agent.reason).toBe("new-incarnation");
    expect(held.agent.record).toMatchObject({
      health: { alert: null },
      ending: { stop: null, restart: null },
      seen: { terminal: { novel: 0, exit: null } },
    });
    expect(held.prints().reply).toMatchObject({ status: "accepted", sequenceNumber: 1 });
  });

  it("that we ask for is ordered under a key that names the life before it and what it is for", () => {
    const held = startsFailing({ obedient: true });
    held.passes("1m");
    held.exits({ code: 1 });
    expect(held.agent.did("restart-agent").map(({ key }) => key)).toEqual(["worker-1/1/recovery/1"]);
    const crashed = heldStory({ obedient: true });
    crashed.exits({ code: 1 });
    crashed.passes("2m");
    crashed.exits({ code: 1 });
    expect(crashed.agent.did("restart-agent").map(({ key }) => key)).toEqual([
      "worker-1/1/restart/1",
      "worker-1/2/restart/2",
    ]);
  });

  it("that a person asked for waits for the end of a freeze, and is nobody's matter until then", () => {
    const held = startsFailing();
    held.isOrdered("restart");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.agent.monitorDoubts({ frozen: true });
    held.handsStopped("worker-1/1/stop/consecutive-failures/1");
    held.passes("10m");
    expect(endings(held)).toEqual([]);
    held.agent.monitorDoubts({ frozen: false });
    held.passes("10s");
    expect(held.agent.did("restart-agent")).toMatchObject([{ reason: "a person asked for it" }]);
  });

  it("after a recovery is charged to the recoveries, and after a crash to the restarts", () => {
    const recovered = startsFailing({ obedient: true });
    expect(recovered.agent.record).toMatchObject({ recovery: { restarts: [], restartedAt: null } });
    expect(recovered.agent.record.recovery.attempts).toHaveLength(1);
    const crashed = heldStory();
    crashed.exits({ code: 1 });
    expect(crashed.agent.record).toMatchObject({ recovery: { attempts: [], restartedAt: crashed.agent.now } });
    expect(crashed.agent.record.recovery.restarts).toHaveLength(1);
  });

  it("is told as a recovery that begins, with the newest checkpoint, whatever it is started for", () => {
    const initiated = (held: HeldStory) => held.agent.told("RECOVERY_INITIATED").map(({ because }) => because);
    const crashed = heldStory();
    crashed.agent.take({ kind: "checkpointed", checkpoint: "c7" });
    crashed.exits({ code: 1 });
    expect(initiated(crashed)).toEqual(["UNRESPONSIVE: process-exited, by-itself"]);
    expect(crashed.agent.told("RECOVERY_INITIATED")).toMatchObject([{ fromCheckpoint: "c7", taskId: null }]);
    const atWork = heldStory({ taskId: "t1" });
    atWork.exits({ code: 1 });
    expect(initiated(atWork)).toEqual(["UNRESPONSIVE: process-exited, by-itself"]);
    const stopped = heldStory({ obedient: true });
    stopped.passes("5m");
    stopped.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    expect(initiated(stopped)).toEqual(["FAILING: consecutive-failures, stopped: consecutive-failures"]);
  });

  it("that nobody asked for is not our restart", () => {
    const held = heldStory();
    held.exits({ code: 0 });
    held.startsAgain();
    expect(told(held, "AGENT_RESTARTED")).toEqual([]);
    expect(told(held, "AGENT_INCARNATION_STARTED")).toHaveLength(1);
  });

  it("keeps its task and its policy", () => {
    const held = heldStory({ taskId: "t1", hold: { policy: "night" } });
    held.exits({ code: 1 });
    held.agent.take({
      kind: "held",
      hold: held.holdOf({ incarnation: 2, taskId: null, policy: null }),
      adopted: false,
    });
    expect(held.agent.record).toMatchObject({ task: { id: "t1" }, identity: { policy: "night" } });
  });
});

describe("a restart that failed", () => {
  const failed = { kind: "not-restarted", problem: "the folder is gone" } as const;

  it("is told and counts: it is tried again after the cooldown, and given up like any other", () => {
    const held = heldStory({ taskId: "t1" });
    held.exits({ code: 1 });
    for (let n = 1; n <= 3; n++) {
      expect(orders(held)).toHaveLength(n);
      held.handsAnswer(`worker-1/1/restart/${n}`, failed);
      held.passes("59s");
      expect(orders(held)).toHaveLength(n);
      held.passes("1s");
    }
    expect(orders(held)).toHaveLength(3);
    expect(held.agent.told("RESTART_FAILED")).toMatchObject(
      [failed, failed, failed].map(({ problem }) => ({ problem })),
    );
    expect(held.agent.when("RESTARTS_EXHAUSTED", "ESCALATION_TRIGGERED")).toEqual([
      "120s RESTARTS_EXHAUSTED",
      "120s ESCALATION_TRIGGERED",
    ]);
    held.passes("15m");
    expect(endings(held)).toEqual(["handed-to-a-person: restarts-exhausted"]);
    expect(held.agent.record.health.alert?.severity).toBe("critical");
    held.passes("3h");
    expect(orders(held)).toHaveLength(3);
  });

  it("has a key of its own each time, however long ago the ones before were", () => {
    const held = heldStory({ hands: ({ kind }) => (kind === "restart-agent" ? failed : null) });
    held.exits({ code: 1 });
    for (let n = 0; n < 2; n++) {
      held.passes("2m");
      held.agent.decides("allow_more_time", { more: "2h" });
      held.passes("2h");
    }
    expect(held.agent.did("restart-agent").length).toBeGreaterThan(4);
    expect(new Set(orders(held)).size).toBe(orders(held).length);
  });

  it("that a person asked for, after a stop, is their matter", () => {
    const held = startsFailing();
    held.isOrdered("restart");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("worker-1/1/stop/consecutive-failures/1");
    expect(endings(held)).toEqual([]);
    held.handsAnswer("worker-1/1/stop/consecutive-failures/1/restart", failed);
    expect(endings(held)).toEqual(["handed-to-a-person: restart-failed"]);
  });

  it("can be ordered again by a person, as an order of its own", () => {
    const held = heldStory({ hold: { foreground: true } });
    held.exits({ code: 1 });
    held.isOrdered("restart", "order-1");
    held.handsAnswer("order-1/restart", failed);
    held.isOrdered("restart", "order-2");
    expect(orders(held)).toEqual(["restart-agent order-1/restart", "restart-agent order-2/restart"]);
  });

  it("is not the failure of the next one when the answer to it comes again", () => {
    const held = heldStory({ taskId: "t1" });
    held.exits({ code: 1 });
    held.handsAnswer("worker-1/1/restart/1", failed);
    held.passes("1m");
    expect(orders(held)).toHaveLength(2);
    held.handsAnswer("worker-1/1/restart/1", failed);
    expect(held.agent.told("RESTART_FAILED")).toHaveLength(1);
    held.startsAgain();
    expect(told(held, "AGENT_RESTARTED")).toHaveLength(1);
  });

  it("has nothing to do with a life that somebody else began", () => {
    const held = heldStory();
    held.exits({ code: 1 });
    held.handsAnswer("worker-1/1/restart/1", failed);
    held.startsAgain();
    expect(told(held, "AGENT_RESTARTED")).toEqual([]);
  });

  it("is not tried again because the same order came twice", () => {
    const held = heldStory({ hold: { foreground: true } });
    held.exits({ code: 1 });
    held.isOrdered("restart", "order-1");
    held.handsAnswer("order-1/restart", failed);
    held.isOrdered("restart", "order-1");
    expect(orders(held)).toEqual(["restart-agent order-1/restart"]);
  });

  it("of one that a person has in hand leaves it in their hands", () => {
    const held = heldStory({ settings: { mode: "assist" } });
    held.exits({ code: 1 });
    expect(endings(held)).toEqual(["handed-to-a-person: mode"]);
    held.isOrdered("restart", "order-1");
    held.handsAnswer("order-1/restart", failed);
    held.passes("1h");
    expect(endings(held)).toHaveLength(1);
    expect(held.agent.record.health.alert?.severity).toBe("critical");
  });
});

describe("a replacement", () => {
  const context: RecoveryContext = {
    taskId: "t1",
    checkpoint: "c4",
    step: 4,
    stepName: "build",
    reason: "FAILING: consecutive-failures, stopped: consecutive-failures",
    lost: { checkpoints: 0, steps: 0, flaws: [], startsOver: false },
    attempt: 1,
    stateFile: null,
    workspace: null,
  };

  function isStopped(): HeldStory {
    const held = startsFailing();
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("worker-1/1/stop/consecutive-failures/1");
    return held;
  }

  const restarted = { kind: "restarted", incarnation: 2, recovery: context } as const;
  const recoveryOf = (reply: Reply) => reply.commands.filter(({ kind }) => kind === "recovery");

  it("is asked for with the reason of its predecessor's end", () => {
    expect(isStopped().agent.did("restart-agent")).toMatchObject([
      { taskId: "t1", attempt: 1, reason: "FAILING: consecutive-failures, stopped: consecutive-failures" },
    ]);
  });

  it("is told once where to go on, whether the hands or its holder spoke first", () => {
    const handsFirst = isStopped();
    handsFirst.handsAnswer("worker-1/1/recovery/1", restarted);
    handsFirst.startsAgain();
    const holderFirst = isStopped();
    holderFirst.startsAgain();
    holderFirst.handsAnswer("worker-1/1/recovery/1", restarted);
    for (const { agent } of [handsFirst, holderFirst]) {
      expect(recoveryOf(agent.beats({ sequenceNumber: 1 }))).toMatchObject([
        { recovery: { checkpoint: "c4", step: 4 } },
      ]);
      expect(recoveryOf(agent.beats({ sequenceNumber: 2 }))).toEqual([]);
      expect(agent.told("RECOVERY_COMPLETED")).toMatchObject([{ incarnation: 2, fromCheckpoint: "c4", step: 4 }]);
    }
  });

  it("took as long as it was down, however long the monitor was away and whoever spoke first", () => {
    for (const answersFirst of [true, false]) {
      const held = isStopped();
      held.agent.silentFor("4s");
      held.agent.monitorIsBlindFor("10m");
      if (answersFirst) held.handsAnswer("worker-1/1/recovery/1", restarted);
      held.startsAgain(4343, "597s");
      held.agent.silentFor("20s");
      if (!answersFirst) held.handsAnswer("worker-1/1/recovery/1", restarted);
      expect(held.agent.told("RECOVERY_COMPLETED")).toMatchObject([{ tookSeconds: 7 }]);
    }
  });

  it("is told once also when the hands say it twice, or say it of a life that is over", () => {
    const held = isStopped();
    held.startsAgain();
    held.handsAnswer("worker-1/1/recovery/1", restarted);
    expect(recoveryOf(held.agent.beats({ sequenceNumber: 1 }))).toHaveLength(1);
    held.handsAnswer("worker-1/1/recovery/1", restarted);
    expect(recoveryOf(held.agent.beats({ sequenceNumber: 2 }))).toEqual([]);
    const late = isStopped();
    late.startsAgain();
    late.startsAgain();
    late.handsAnswer("worker-1/1/recovery/1", restarted);
    expect(late.agent.record.recovery.recovered).toBeNull();
  });

  it("that starts over although there were checkpoints is somebody's matter, and no other", () => {
    const alerts = (startsOver: boolean, checkpoints: number): string[] => {
      const held = isStopped();
      const lost = { ...context.lost, startsOver, checkpoints };
      held.handsAnswer("worker-1/1/recovery/1", { ...restarted, recovery: { ...context, lost } });
      return held.agent.did("raise-alert").flatMap(({ key }) => (key.endsWith("/starts-over") ? [key] : []));
    };
    expect(alerts(true, 3)).toEqual(["worker-1/2/starts-over"]);
    expect(alerts(true, 0)).toEqual([]);
    expect(alerts(false, 3)).toEqual([]);
  });

  it("took as long as there was nobody", () => {
    const held = isStopped();
    held.agent.silentFor("5s");
    held.handsAnswer("worker-1/1/recovery/1", restarted);
    held.startsAgain();
    expect(held.agent.told("RECOVERY_COMPLETED")).toMatchObject([{ tookSeconds: 5 }]);
  });

  it("is who is told, not its predecessor's last word that came late", () => {
    const held = isStopped();
    held.handsAnswer("worker-1/1/recovery/1", restarted);
    expect(recoveryOf(held.agent.beats())).toEqual([]);
    held.startsAgain();
    expect(recoveryOf(held.agent.beats({ sequenceNumber: 1 }))).toHaveLength(1);
  });

  it("that ends at its provider's limit on probation has not relapsed: it is started again when the limit is over", () => {
    const held = isStopped();
    held.startsAgain();
    held.report(
      [{ kind: "rate-limited", pattern: "rate_limit_event", resetsInMs: 3_600_000, by: "stream", what: "usage" }],
      { exit: { code: 1, signal: null, cause: "by-itself" } },
    );
    expect(endings(held)).toEqual(["recovered: well-again"]);
    held.passes("62m");
    expect(held.agent.did("restart-agent").map(({ reason }) => reason)).toContain("its provider's limit is over");
  });

  it("that falls ill on probation goes to a person; one that ends its work has recovered", () => {
    const relapsed = isStopped();
    relapsed.startsAgain();
    relapsed.passes("14m");
    relapsed.agent.beats({ sequenceNumber: 1, healthMetrics: { consecutiveFailures: 9 } });
    expect(endings(relapsed)).toEqual(["handed-to-a-person: relapse"]);
    expect(relapsed.agent.told("RECOVERY_FAILED")).toMatchObject([{ taskId: "t1", attempts: 1 }]);
    const crashed = isStopped();
    crashed.startsAgain();
    crashed.exits({ code: 1 });
    expect(endings(crashed)).toEqual(["handed-to-a-person: relapse"]);
    expect(crashed.agent.did("restart-agent")).toHaveLength(1);
    const finished = isStopped();
    finished.startsAgain();
    finished.exits({ code: 0 });
    expect(endings(finished)).toEqual(["recovered: finished"]);
  });
});

describe("a person's order to start it again", () => {
  it("stops it first, and starts it when the outcome and the exit are both in, whichever came first", () => {
    const outcomeFirst = heldStory();
    outcomeFirst.isOrdered("restart");
    outcomeFirst.handsStopped("order-1");
    expect(orders(outcomeFirst)).toEqual(["stop-agent order-1"]);
    outcomeFirst.exits({ signal: "SIGTERM", cause: "stopped" });
    const exitFirst = heldStory();
    exitFirst.isOrdered("restart");
    exitFirst.exits({ signal: "SIGTERM", cause: "stopped" });
    expect(orders(exitFirst)).toEqual(["stop-agent order-1"]);
    exitFirst.handsStopped("order-1");
    for (const held of [outcomeFirst, exitFirst]) {
      expect(orders(held)).toEqual(["stop-agent order-1", "restart-agent order-1/restart"]);
      held.passes("1m");
      held.startsAgain();
      expect(told(held, "AGENT_RESTARTED")).toMatchObject([{ payload: { because: "ordered", cause: "stopped" } }]);
      expect(held.agent.state).toBe("HEALTHY");
      expect(held.agent.record.recovery.restarts).toEqual([]);
      expect(orders(held)).toHaveLength(2);
    }
  });

  it("that comes twice while it is stopped does not start it before that is answered", () => {
    const held = heldStory();
    held.isOrdered("restart");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.isOrdered("restart");
    expect(orders(held)).toEqual(["stop-agent order-1"]);
  });

  it("starts it also when it ended by itself just before it was to be stopped", () => {
    const held = heldStory();
    held.isOrdered("restart");
    held.exits({ code: 1 });
    held.handsStopped("order-1", { kind: "already-over" });
    expect(orders(held)).toEqual(["stop-agent order-1", "restart-agent order-1/restart"]);
  });

  it("of one that is over starts it at once, also one that finished or ran in their terminal", () => {
    for (const held of [heldStory(), heldStory({ hold: { foreground: true }, settings: { mode: "assist" } })]) {
      held.exits({ code: 0 });
      held.isOrdered("restart");
      expect(orders(held)).toEqual(["restart-agent order-1/restart"]);
      expect(told(held, "RESTART_ORDERED")).toMatchObject([{ payload: { because: "ordered", attempt: 0 } }]);
    }
  });

  it("that failed is not tried again with every report", () => {
    const held = heldStory();
    held.isOrdered("restart");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("order-1");
    held.handsAnswer("order-1/restart", { kind: "not-restarted", problem: "p" });
    held.agent.monitorDoubts({});
    held.passes("2h");
    expect(orders(held)).toEqual(["stop-agent order-1", "restart-agent order-1/restart"]);
    held.isOrdered("restart", "order-2");
    held.handsAnswer("order-2/restart", { kind: "not-restarted", problem: "p" });
    held.passes("2h");
    expect(orders(held)).toEqual([
      "stop-agent order-1",
      "restart-agent order-1/restart",
      "restart-agent order-2/restart",
    ]);
  });

  it("starts nothing beside survivors, until they order it again", () => {
    const held = heldStory();
    held.isOrdered("restart");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("order-1", { kind: "termination_incomplete", survivors: [{ pid: 7, name: "x" }] });
    held.agent.monitorDoubts({});
    expect(orders(held)).toEqual(["stop-agent order-1"]);
    held.isOrdered("restart", "order-2");
    expect(orders(held)).toEqual(["stop-agent order-1", "restart-agent order-2/restart"]);
  });

  it("waits for the thaw when the freeze came between", () => {
    const held = heldStory();
    held.isOrdered("restart");
    held.agent.monitorDoubts({ frozen: true });
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("order-1");
    expect(orders(held)).toEqual(["stop-agent order-1"]);
    held.agent.monitorDoubts({ frozen: false });
    expect(orders(held)).toEqual(["stop-agent order-1", "restart-agent order-1/restart"]);
  });
});
