import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";

const error: Sight = { kind: "error", pattern: "error", digest: "e1", text: "e" };
const key = "worker-1/1/stop/repeated-error";

function isStoppedForErrors(taskId?: string): HeldStory {
  const held = heldStory({
    settings: { terminal: { auto_kill_on_repeated_error: true } },
    ...(taskId === undefined ? {} : { taskId }),
  });
  for (let i = 0; i < 5; i++) {
    held.prints();
    held.shows(error);
    held.passes("1m");
  }
  return held;
}

const told = (held: HeldStory, type: string) => held.agent.events.filter((event) => event.type === type);
const orders = ({ agent }: HeldStory) =>
  agent.actions.filter(({ kind }) => kind === "stop-agent" || kind === "restart-agent").map(({ kind }) => kind);

describe("an order to stop", () => {
  it("that was carried out is told, and a task that ran in circles is blocked", () => {
    const held = isStoppedForErrors("t1");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped(key, { kind: "stopped", forced: true, processes: 3 });
    expect(told(held, "AGENT_TERMINATED")).toMatchObject([{ payload: { because: "repeated-error", forced: true } }]);
    expect(told(held, "TASK_BLOCKED")).toMatchObject([{ payload: { taskId: "t1", because: "repeated-error" } }]);
    expect(held.agent.state).toBe("TERMINATED");
    held.passes("2h");
    expect(orders(held)).toEqual(["stop-agent"]);
  });

  it("blocks nothing where there was no task", () => {
    const held = isStoppedForErrors();
    held.handsStopped(key);
    expect(told(held, "AGENT_TERMINATED")).toHaveLength(1);
    expect(told(held, "TASK_BLOCKED")).toEqual([]);
  });

  it("with survivors is never called done", () => {
    const held = isStoppedForErrors("t1");
    held.handsStopped(key, { kind: "termination_incomplete", survivors: [{ pid: 77, name: "build" }] });
    expect(told(held, "TERMINATION_INCOMPLETE")).toMatchObject([
      { payload: { survivors: [{ pid: 77, name: "build" }] } },
    ]);
    expect(told(held, "AGENT_TERMINATED")).toEqual([]);
    expect(told(held, "TASK_BLOCKED")).toEqual([]);
  });

  it("refused at the last moment says so", () => {
    const held = isStoppedForErrors("t1");
    held.handsStopped(key, { kind: "refused", because: "identity-changed" });
    expect(told(held, "TERMINATION_REFUSED")).toMatchObject([{ payload: { because: "identity" } }]);
    expect(told(held, "AGENT_TERMINATED")).toEqual([]);
  });

  it("that came too late says so", () => {
    const held = isStoppedForErrors();
    held.handsStopped(key, { kind: "already-over" });
    expect(told(held, "TERMINATION_REFUSED")).toMatchObject([{ payload: { because: "already-over" } }]);
  });

  it("the answer to another order is not taken for its own", () => {
    const held = isStoppedForErrors("t1");
    held.handsStopped("worker-1/1/stop/other");
    expect(held.agent.record.stop?.outcome).toBeNull();
    expect(told(held, "AGENT_TERMINATED")).toEqual([]);
  });
});

describe("a person's order", () => {
  it("to stop is obeyed at once, in every mode and with them attached", () => {
    const held = heldStory({ taskId: "t1", settings: { mode: "observe" }, hold: { foreground: true } });
    held.isOrdered("stop");
    expect(held.agent.actions).toMatchObject([{ kind: "stop-agent", key: "order-1" }]);
    expect(told(held, "TERMINATION_ORDERED")).toMatchObject([{ payload: { actor: "operator", because: "ordered" } }]);
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("order-1");
    held.passes("1h");
    expect(held.agent.past).toEqual(["0s TERMINATED"]);
    expect(told(held, "TASK_BLOCKED")).toEqual([]);
    expect(orders(held)).toEqual(["stop-agent"]);
  });

  it("to stop one that is over is refused, each time they ask", () => {
    const held = heldStory();
    held.exits({ code: 0 });
    held.isOrdered("stop");
    held.isOrdered("stop", "order-2");
    expect(told(held, "TERMINATION_REFUSED")).toMatchObject([
      { payload: { because: "already-over", cause: "ordered" } },
      { payload: { because: "already-over", cause: "ordered" } },
    ]);
    expect(orders(held)).toEqual([]);
  });

  it.each(["stop", "restart"] as const)("to %s is refused while everything is frozen", (order) => {
    const running = heldStory({ doubt: { frozen: true } });
    running.isOrdered(order);
    const over = heldStory({ doubt: { frozen: true } });
    over.exits({ code: 0 });
    over.isOrdered(order);
    for (const held of [running, over]) {
      expect(told(held, "TERMINATION_REFUSED")).toMatchObject([{ payload: { because: "frozen" } }]);
      expect(orders(held)).toEqual([]);
    }
  });
});
