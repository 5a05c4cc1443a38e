import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";
import { endings, goesQuiet, repeatsError, startsFailing } from "../ladder-story.test-support.ts";

const key = "worker-1/1/stop/repeated-error/1";

function isStoppedForErrors(taskId?: string): HeldStory {
  const held = heldStory({
    settings: { terminal: { auto_kill_on_repeated_error: true } },
    ...(taskId === undefined ? {} : { taskId }),
  });
  held.prints();
  repeatsError(held, 5);
  return held;
}

const told = (held: HeldStory, type: string) => held.agent.events.filter((event) => event.type === type);
const orders = ({ agent }: HeldStory) =>
  agent.actions.filter(({ kind }) => kind === "stop-agent" || kind === "restart-agent").map(({ kind }) => kind);

const attached = { kind: "refused", because: "attached" } as const;

describe("an order to stop", () => {
  it("that was carried out is told, and nobody is brought back who ran in circles", () => {
    const held = isStoppedForErrors("t1");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped(key, { kind: "stopped", forced: true, processes: 3 });
    expect(told(held, "AGENT_TERMINATED")).toMatchObject([{ payload: { because: "repeated-error", forced: true } }]);
    expect(held.agent.state).toBe("TERMINATED");
    held.passes("2h");
    expect(orders(held)).toEqual(["stop-agent"]);
  });

  it("says what was saved and what argued for it", () => {
    const held = startsFailing({ work: { kind: "saved", commit: "c0ffee", changed: 3 } });
    held.agent.savesCheckpoint("c4");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("worker-1/1/stop/consecutive-failures/1");
    expect(held.agent.told("WORK_SAVED")).toMatchObject([{ commit: "c0ffee", changed: 3 }]);
    expect(held.agent.told("AGENT_TERMINATED")).toMatchObject([
      { reason: "FAILING: consecutive-failures", snapshot: "c0ffee", checkpoint: "c4" },
    ]);
  });

  it("goes by the first answer about the work: one that comes after it takes back nothing that was saved", () => {
    const held = startsFailing({ work: { kind: "saved", commit: "c0ffee", changed: 3 } });
    const ours = "worker-1/1/stop/consecutive-failures/1";
    held.handsAnswer(`${ours}/work`, { kind: "work", work: { kind: "not-saved", problem: "no space left" } });
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped(ours);
    expect(held.agent.told("WORK_NOT_SAVED")).toEqual([]);
    expect(held.agent.told("AGENT_TERMINATED")).toMatchObject([{ snapshot: "c0ffee" }]);
  });

  it("tells what became of a turn in a server that others use", () => {
    const held = isStoppedForErrors("t1");
    held.handsStopped(key, { kind: "stopped", forced: false, processes: 3, sharedTurn: "may-go-on" });
    expect(held.agent.told("AGENT_TERMINATED")).toMatchObject([{ sharedTurn: "may-go-on" }]);
  });

  const isIdle = () => goesQuiet({ settings: { terminal: { auto_kill_on_idle: true } } });
  const idleKey = "worker-1/1/stop/no-output/1";

  it("of our own is valid for moments, for silence only while that lasts, and a person's whenever it comes", () => {
    const [silent] = isIdle().agent.did("stop-agent");
    expect(silent).toMatchObject({ key: idleKey, spends: true, notAfter: (silent?.silentAt ?? 0) + 10_000 });
    const [failing] = startsFailing().agent.did("stop-agent");
    expect(failing).toMatchObject({ spends: true, notAfter: expect.any(Number) });
    expect(failing).not.toHaveProperty("silentAt");
    const [looping] = isStoppedForErrors("t1").agent.did("stop-agent");
    expect(looping).not.toHaveProperty("silentAt");
    const held = heldStory();
    held.isOrdered("stop");
    const [ordered] = held.agent.did("stop-agent");
    expect(ordered).toMatchObject({ spends: false });
    expect(ordered).not.toHaveProperty("notAfter");
    expect(ordered).not.toHaveProperty("silentAt");
  });

  it.each(["too-late", "moved-since"] as const)(
    "that its holder refuses as %s is decided anew, and that is told",
    (because) => {
      const held = isIdle();
      held.handsStopped(idleKey, { kind: "refused", because });
      expect(held.agent.told("TERMINATION_REFUSED")).toMatchObject([{ because: "overtaken", cause: "no-output" }]);
      expect(held.agent.did("stop-agent")).toHaveLength(2);
      const awake = isIdle();
      awake.prints(5);
      awake.handsStopped(idleKey, { kind: "refused", because });
      awake.passes("1m");
      expect(awake.agent.did("stop-agent")).toHaveLength(1);
      expect(endings(awake)).toEqual(["recovered: well-again"]);
      expect(awake.agent.record.ending.stop).toBeNull();
    },
  );

  it("is withdrawn at the holder when its agent is well again before it was answered, a person's never", () => {
    const held = isIdle();
    held.prints(5);
    expect(held.agent.state).toBe("HEALTHY");
    held.passes("1m");
    expect(held.agent.did("withdraw-stop")).toMatchObject([{ stop: idleKey, agentId: "worker-1", incarnation: 1 }]);
    const ordered = goesQuiet();
    ordered.isOrdered("stop");
    ordered.prints(5);
    ordered.passes("1m");
    expect(ordered.agent.did("withdraw-stop")).toEqual([]);
  });

  it("of which nobody knows where it is counts no more: it is taken back wherever it may be", () => {
    const held = isIdle();
    held.handsAnswer(idleKey, { kind: "interrupted" });
    expect(held.agent.did("withdraw-stop")).toMatchObject([{ stop: idleKey }]);
    expect(held.agent.did("stop-agent")).toHaveLength(2);
  });

  it("with survivors is never called done", () => {
    const held = isStoppedForErrors("t1");
    held.handsStopped(key, { kind: "termination_incomplete", survivors: [{ pid: 77, name: "build" }] });
    expect(told(held, "TERMINATION_INCOMPLETE")).toMatchObject([
      { payload: { survivors: [{ pid: 77, name: "build" }] } },
    ]);
    expect(told(held, "AGENT_TERMINATED")).toEqual([]);
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
    expect(held.agent.record.ending.stop?.outcome).toBeNull();
    expect(told(held, "AGENT_TERMINATED")).toEqual([]);
  });
});

describe("an order to stop that its holder refused because somebody sits at the terminal", () => {
  const ours = "worker-1/1/stop/consecutive-failures/1";

  it("is refused like any other for that: somebody is asked, and nothing is tried again meanwhile", () => {
    const held = startsFailing();
    held.handsStopped(ours, attached);
    expect(held.agent.told("TERMINATION_REFUSED")).toEqual([
      { agentId: "worker-1", because: "attached", cause: "consecutive-failures" },
    ]);
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "attached" }]);
    held.personAttaches(1);
    held.passes("10m");
    expect(orders(held)).toEqual(["stop-agent"]);
    expect(held.agent.did("save-work")).toHaveLength(1);
  });
});

describe("a person's order", () => {
  it("to stop is obeyed as soon as the work is saved, in every mode, with them attached and whatever the budget", () => {
    const held = heldStory({
      taskId: "t1",
      settings: { mode: "observe", protected: true },
      hold: { foreground: true },
      doubt: { brake: { because: "host-budget", until: Number.MAX_SAFE_INTEGER } },
    });
    held.isOrdered("stop");
    expect(held.agent.actions).toMatchObject([
      { kind: "save-work", key: "order-1/work" },
      { kind: "stop-agent", key: "order-1", spends: false },
    ]);
    expect(told(held, "TERMINATION_ORDERED")).toMatchObject([{ payload: { actor: "operator", because: "ordered" } }]);
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("order-1");
    held.passes("1h");
    expect(held.agent.past).toEqual(["0s TERMINATED"]);
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

  it("waits for the work to be saved, and is refused when a freeze came between", () => {
    const held = heldStory({ work: null });
    held.isOrdered("stop");
    expect(orders(held)).toEqual([]);
    held.agent.monitorDoubts({ frozen: true });
    held.handsAnswer("order-1/work", { kind: "work", work: { kind: "nothing-to-save" } });
    expect(told(held, "TERMINATION_REFUSED")).toMatchObject([{ payload: { because: "frozen" } }]);
    held.agent.monitorDoubts({ frozen: false });
    expect(orders(held)).toEqual([]);
  });

  it("is refused when the work cannot be saved, unless they insist or the policy accepts it", () => {
    const work = { kind: "not-saved", problem: "no space left" } as const;
    const refused = heldStory({ work });
    refused.isOrdered("stop");
    expect(told(refused, "TERMINATION_REFUSED")).toMatchObject([{ payload: { because: "work-not-saved" } }]);
    expect(orders(refused)).toEqual([]);
    refused.isOrdered("stop", "order-2", true);
    expect(orders(refused)).toEqual(["stop-agent"]);
    const settings = { intervention: { termination: { accept_failed_snapshot: true } } };
    const accepted = heldStory({ work, settings });
    accepted.isOrdered("stop");
    expect(orders(accepted)).toEqual(["stop-agent"]);
  });

  it("for one that is being stopped already does nothing twice, but is the last word: it stays down", () => {
    const held = startsFailing();
    held.isOrdered("stop");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("worker-1/1/stop/consecutive-failures/1");
    held.passes("1h");
    expect(orders(held)).toEqual(["stop-agent"]);
    expect(held.agent.told("AGENT_TERMINATED")).toMatchObject([{ because: "ordered" }]);
    expect(endings(held)).toEqual(["handed-to-a-person: ended-by-person"]);
    expect(held.agent.record.health.alert).toBeNull();
  });

  it("that they took over from us goes out once more when nobody knows whether ours arrived", () => {
    const held = startsFailing();
    held.isOrdered("stop");
    held.handsAnswer("worker-1/1/stop/consecutive-failures/1", { kind: "interrupted" });
    expect(held.agent.did("stop-agent")).toMatchObject([
      { spends: true },
      { key: "worker-1/1/stop/consecutive-failures/1/again", spends: false },
    ]);
  });

  it("that they took over from us goes out as theirs when the holder refused ours because they are attached", () => {
    const held = startsFailing();
    held.isOrdered("stop");
    held.handsStopped("worker-1/1/stop/consecutive-failures/1", attached);
    expect(held.agent.did("stop-agent")).toMatchObject([
      { spends: true },
      { key: "worker-1/1/stop/consecutive-failures/1/again", spends: false },
    ]);
    expect(told(held, "TERMINATION_REFUSED")).toEqual([]);
  });

  it("comes before our own that still waits for the work to be saved", () => {
    const held = startsFailing({ work: null });
    held.isOrdered("stop");
    held.handsAnswer("worker-1/1/stop/consecutive-failures/1/work", {
      kind: "work",
      work: { kind: "nothing-to-save" },
    });
    expect(orders(held)).toEqual([]);
    held.handsAnswer("order-1/work", { kind: "work", work: { kind: "nothing-to-save" } });
    expect(held.agent.did("stop-agent")).toMatchObject([{ key: "order-1", spends: false }]);
  });

  it("that was sent twice is one order", () => {
    const held = heldStory({ work: null });
    held.isOrdered("stop");
    held.isOrdered("stop");
    expect(held.agent.did("save-work")).toHaveLength(1);
  });

  it("that nobody remembers after a crash is told as carried out, once, when the agent ended by it", () => {
    const held = heldStory();
    held.isOrdered("stop");
    held.handsStopped("order-1", { kind: "already-over" });
    expect(told(held, "AGENT_TERMINATED")).toEqual([]);
    held.holderIsLost("gone", { code: null, signal: "SIGKILL", cause: "stopped" });
    held.passes("1h");
    expect(told(held, "AGENT_TERMINATED")).toMatchObject([{ payload: { because: "ordered", forced: true } }]);
    const other = heldStory();
    other.isOrdered("stop");
    other.exits({ code: 0 });
    other.handsStopped("order-1", { kind: "already-over" });
    expect(told(other, "AGENT_TERMINATED")).toEqual([]);
  });

  it("that the holder refused is over: a crash after it is no person's doing", () => {
    const held = heldStory();
    held.isOrdered("stop");
    held.handsStopped("order-1", { kind: "refused", because: "identity-changed" });
    held.passes("1m");
    held.exits({ code: 1 });
    expect(orders(held)).toEqual(["stop-agent", "restart-agent"]);
  });
});
