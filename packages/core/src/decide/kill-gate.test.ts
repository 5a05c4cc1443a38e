import type { PartialSettings, PolicyMode, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { policyOf } from "../story.test-support.ts";
import { kindsOfEvidence } from "./kill-gate.ts";

const error: Sight = { kind: "error", pattern: "error", digest: "e1", text: "e" };
const killing: PartialSettings = { terminal: { auto_kill_on_repeated_error: true } };

/** Goes round in circles: the same error every minute and nothing else. */
function circles(given: HeldGiven = {}, before: (held: HeldStory) => void = () => {}): HeldStory {
  const held = heldStory({ taskId: "t1", settings: killing, ...given });
  held.prints();
  before(held);
  repeats(held, 5);
  return held;
}

function repeats(held: HeldStory, times: number): void {
  for (let i = 0; i < times; i++) {
    held.shows(error);
    held.passes("1m");
  }
}

const stops = ({ agent }: HeldStory) => agent.actions.filter(({ kind }) => kind === "stop-agent");
const refusals = ({ agent }: HeldStory) =>
  agent.events.flatMap((event) => (event.type === "TERMINATION_REFUSED" ? [event.payload.because] : []));

describe("an agent that repeats an error", () => {
  it("is stopped once when the policy says so, and everything about it is on record", () => {
    const held = circles();
    held.passes("3m");
    const key = "worker-1/1/stop/repeated-error";
    expect(stops(held)).toEqual([{ kind: "stop-agent", key, agentId: "worker-1", incarnation: 1, grace: 10_000 }]);
    expect(held.agent.record.stop).toMatchObject({ key, cause: "repeated-error", outcome: null });
    expect(held.agent.events).toContainEqual({
      type: "TERMINATION_ORDERED",
      payload: { agentId: "worker-1", incarnation: 1, key, actor: "rouse", because: "repeated-error" },
    });
    expect(refusals(held)).toEqual([]);
  });

  it("is only told about when the policy does not", () => {
    const held = circles({ settings: {} });
    expect(held.agent.state).toBe("STUCK");
    expect(stops(held)).toEqual([]);
    expect(refusals(held)).toEqual([]);
  });

  it("is stopped for its missing marker even where errors are no reason", () => {
    const held = heldStory({ taskId: "t1", hold: { family: "claude-code" } });
    held.shows({ kind: "asks", what: "prompt", pattern: "p" });
    repeats(held, 11);
    expect(held.agent.finding("repeated-error")?.level).toBe("stuck");
    expect(stops(held)).toMatchObject([{ key: "worker-1/1/stop/completion-timeout" }]);
  });

  it("that comes with other work is not stopped", () => {
    const held = heldStory({ settings: killing });
    for (let i = 0; i < 9; i++) {
      held.prints(20);
      held.shows(error);
      held.passes("1m");
    }
    expect(held.agent.state).toBe("DEGRADED");
    expect(stops(held)).toEqual([]);
  });

  it("is not stopped without output alone: for that there is the ladder", () => {
    const held = heldStory({ settings: killing });
    held.prints();
    held.passes("5h");
    expect(held.agent.state).toBe("STUCK");
    expect(stops(held)).toEqual([]);
  });
});

describe("nobody is stopped, and the refusal has a name and is told once", () => {
  it.each<PolicyMode>(["observe", "assist"])("in mode %s", (mode) => {
    const held = circles({ settings: { ...killing, mode } });
    held.passes("2m");
    expect(refusals(held)).toEqual(["mode"]);
    expect(stops(held)).toEqual([]);
  });

  it("while a person is attached; when they leave, it is", () => {
    const held = circles({}, ({ personAttaches }) => personAttaches(1));
    expect(refusals(held)).toEqual(["attached"]);
    expect(stops(held)).toEqual([]);
    held.personAttaches(0);
    expect(stops(held)).toHaveLength(1);
  });

  it("while all interventions are frozen; after the thaw, it is", () => {
    const held = circles({ doubt: { frozen: true } });
    expect(refusals(held)).toEqual(["frozen"]);
    expect(stops(held)).toEqual([]);
    held.agent.monitorDoubts({ frozen: false });
    expect(stops(held)).toHaveLength(1);
  });

  it("on hold; after it, it is", () => {
    const held = circles({ doubt: { hold: { because: "mass-silence", since: 0, provenAt: null } } });
    expect(refusals(held)).toEqual(["monitor-in-doubt"]);
    expect(stops(held)).toEqual([]);
    held.agent.monitorDoubts({ hold: null });
    expect(stops(held)).toHaveLength(1);
  });

  it("just after the monitor was blind; once it has seen for long enough, it is, without anybody's help", () => {
    const held = heldStory({ preset: "fleet", settings: killing });
    repeats(held, 4);
    held.agent.monitorIsBlindFor("5s");
    held.shows(error);
    expect(refusals(held)).toEqual(["monitor-in-doubt"]);
    held.agent.silentFor("16s");
    expect(stops(held)).toEqual([]);
    held.agent.silentFor("1s");
    expect(stops(held)).toHaveLength(1);
  });

  it("without the holder that would see to it; when it is back, it is", () => {
    const held = circles({ doubt: { frozen: true } });
    held.holderIsLost("alive");
    held.agent.monitorDoubts({ frozen: false });
    expect(refusals(held)).toEqual(["frozen", "monitor-in-doubt"]);
    expect(stops(held)).toEqual([]);
    held.report([]);
    expect(stops(held)).toHaveLength(1);
  });

  it("on one kind of evidence: a turn without a marker, of processes nobody could look at", () => {
    const held = heldStory({ taskId: "t1", processes: "unknown", hold: { family: "claude-code" } });
    held.prints();
    held.shows({ kind: "asks", what: "prompt", pattern: "p" });
    held.passes("14m");
    expect(held.agent.reason).toBe("completion-timeout");
    expect(refusals(held)).toEqual(["one-kind-of-evidence"]);
    expect(stops(held)).toEqual([]);
  });

  it("nor of processes at work, nor of ones seen only once", () => {
    const busy = heldStory({ taskId: "t1", processes: "busy", hold: { family: "claude-code" } });
    busy.prints();
    busy.shows({ kind: "asks", what: "prompt", pattern: "p" });
    busy.passes("14m");
    expect(refusals(busy)).toEqual(["one-kind-of-evidence"]);
    const once = heldStory({ taskId: "t1", processes: "unknown", hold: { family: "claude-code" } });
    once.prints();
    once.shows({ kind: "asks", what: "prompt", pattern: "p" });
    once.passes("9m");
    once.processesAre("quiet");
    once.passes("2m");
    expect(refusals(once)).toEqual(["one-kind-of-evidence"]);
  });

  it("a second time while the first is under way, whatever came of it", () => {
    const held = circles();
    held.handsStopped("worker-1/1/stop/repeated-error", { kind: "termination_incomplete", survivors: [] });
    held.passes("2m");
    expect(stops(held)).toHaveLength(1);
  });

  it("the same refusal is news again when it was forgotten between", () => {
    const held = circles({ settings: { ...killing, mode: "assist" } });
    held.prints(100);
    held.passes("15m");
    expect(held.agent.finding("repeated-error")).toBeUndefined();
    repeats(held, 5);
    expect(refusals(held)).toEqual(["mode", "mode"]);
  });
});

it("an error that repeats with nothing else new rests on two kinds of evidence, on three when its processes are quiet", () => {
  expect([...kindsOfEvidence(circles({ processes: "busy" }).agent.record, policyOf("default"))].toSorted()).toEqual([
    "explicit-error",
    "no-progress",
  ]);
  expect([...kindsOfEvidence(circles().agent.record, policyOf("default"))].toSorted()).toEqual([
    "explicit-error",
    "no-progress",
    "resource",
  ]);
});
