import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

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
        payload: { agentId: "worker-1", from: 1, to: 2, because: "process-exited", cause: "killed" },
      },
    ]);
    expect(held.agent.past).toEqual(["0s UNRESPONSIVE", "5s HEALTHY"]);
    expect(held.agent.reason).toBe("new-incarnation");
    expect(held.agent.record).toMatchObject({
      alert: null,
      stop: null,
      restart: null,
      terminal: { novel: 0, exit: null },
    });
    expect(held.prints().reply).toMatchObject({ status: "accepted", sequenceNumber: 1 });
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
    expect(held.agent.record).toMatchObject({ taskId: "t1", policy: "night" });
  });
});

describe("a restart that failed", () => {
  it("is told, not tried again by itself, and the alert stands", () => {
    const held = heldStory();
    held.exits({ code: 1 });
    held.handsAnswer("worker-1/1/restart", { kind: "not-restarted", problem: "the folder is gone" });
    held.passes("3h");
    held.agent.monitorDoubts({});
    expect(told(held, "RESTART_FAILED")).toMatchObject([{ payload: { problem: "the folder is gone" } }]);
    expect(orders(held)).toEqual(["restart-agent worker-1/1/restart"]);
    expect(held.agent.record.alert?.cause).toBe("process-exited");
    expect(told(held, "RESTARTS_EXHAUSTED")).toEqual([]);
  });

  it("can be ordered again by a person, as an order of its own", () => {
    const held = heldStory();
    held.exits({ code: 1 });
    held.handsAnswer("worker-1/1/restart", { kind: "not-restarted", problem: "p" });
    held.isOrdered("restart", "order-1");
    held.handsAnswer("order-1/restart", { kind: "not-restarted", problem: "p" });
    held.isOrdered("restart", "order-2");
    expect(orders(held)).toEqual([
      "restart-agent worker-1/1/restart",
      "restart-agent order-1/restart",
      "restart-agent order-2/restart",
    ]);
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
      expect(held.agent.record.restarts).toEqual([]);
      expect(orders(held)).toHaveLength(2);
    }
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
