import type { AfterTimeout, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { endings, refusals } from "../ladder-story.test-support.ts";

const taken = { kind: "task-taken", taskId: "t1", because: "timed-out", alone: true } as const;
const read = (nudge: string): Sight => ({ kind: "nudge-read", nudge });

/** A held agent at work whose task has just run over its timeout. Its program shows what it reads. */
function timesOut(after: AfterTimeout = "nudge", given: HeldGiven = {}, alone = true): HeldStory {
  const settings = { tasks: { on_timeout: after }, ...given.settings };
  const hold = { input: "hook", structured: true, ...given.hold } as const;
  const held = heldStory({ taskId: "t1", obedient: true, ...given, settings, hold });
  worksFor(held, 5);
  held.agent.take({ ...taken, alone });
  return held;
}

function worksFor(held: HeldStory, minutes: number): void {
  for (let i = 0; i < minutes; i++) {
    held.prints(3);
    held.passes("1m");
  }
}

const readsIt = (held: HeldStory) => held.shows(read(held.agent.record.ladder.nudge?.id ?? ""));
const stops = ({ agent }: HeldStory): number => agent.did("stop-agent").length;

describe("an agent whose task timed out", () => {
  it("and that works on although it has read that it is to stop, is stopped after a nudge's time, and not brought back", () => {
    const held = timesOut();
    readsIt(held);
    worksFor(held, 9);
    expect([stops(held), held.agent.state]).toEqual([0, "HEALTHY"]);
    worksFor(held, 3);
    expect(stops(held)).toBe(1);
    expect(held.agent.told("TERMINATION_ORDERED")).toMatchObject([{ because: "task-timed-out" }]);
    // Its work does not save it: that is what it is stopped for.
    expect(held.agent.did("stop-agent")[0]).not.toHaveProperty("silentAt");
    expect(held.agent.told("TERMINATION_ORDERED")[0]?.evidence).toEqual(
      expect.arrayContaining(["overdue", "unanswered-nudge"]),
    );
    held.passes("1h");
    expect(endings(held)).toEqual(["recovered: handed-off"]);
    expect(held.agent.did("restart-agent")).toEqual([]);
  });

  it("has the whole of that time, without what the monitor was blind for", () => {
    const held = timesOut();
    readsIt(held);
    worksFor(held, 2);
    held.agent.monitorIsBlindFor("5m");
    worksFor(held, 6);
    expect([stops(held), held.agent.state]).toEqual([0, "HEALTHY"]);
    worksFor(held, 6);
    expect(stops(held)).toBe(1);
  });

  it("and of which nobody knows whether it has read that, is asked about and not stopped", () => {
    const held = timesOut();
    worksFor(held, 14);
    expect(held.agent.state).toBe("STUCK");
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "one-kind-of-evidence" }]);
    worksFor(held, 60);
    expect(stops(held)).toBe(0);
    expect(held.agent.told("NUDGE_QUEUED").map(({ template }) => template)).toEqual(["task-taken"]);
  });

  it("is stopped without having shown that it read it where its owner said so", () => {
    const held = timesOut("stop");
    worksFor(held, 12);
    expect(stops(held)).toBe(1);
    expect(held.agent.told("TERMINATION_ORDERED")[0]?.evidence).toEqual(
      expect.arrayContaining(["overdue", "owner-rule"]),
    );
  });

  it("is told and left alone where its owner said so", () => {
    const held = timesOut("none");
    readsIt(held);
    worksFor(held, 60);
    expect([stops(held), held.agent.state]).toEqual([0, "HEALTHY"]);
  });

  it("and that answered what it was told is asked about, not stopped", () => {
    const held = timesOut();
    readsIt(held);
    held.agent.take({ kind: "answered", answer: { kind: "update", text: "almost done" } });
    worksFor(held, 14);
    expect([stops(held), held.agent.state]).toEqual([0, "STUCK"]);
  });

  it("and of which a beat was lost since it was told is asked about: that may have held its answer", () => {
    const held = timesOut();
    held.agent.beats({ sequenceNumber: 1 });
    readsIt(held);
    held.agent.beats({ sequenceNumber: 3 });
    worksFor(held, 14);
    expect([stops(held), held.agent.state]).toEqual([0, "STUCK"]);
  });

  it("by a person's word is told, and left to that person", () => {
    const held = heldStory({ taskId: "t1", obedient: true, settings: { tasks: { on_timeout: "stop" } } });
    held.agent.take({ ...taken, because: "reassigned-by-person" });
    worksFor(held, 60);
    expect([stops(held), held.agent.state]).toEqual([0, "HEALTHY"]);
  });

  it.each([
    ["holds another task beside it", () => timesOut("stop", {}, false)],
    [
      "was given another since",
      () => {
        const held = timesOut("stop");
        held.agent.take({ kind: "assigned", taskId: "t2", claim: "held" });
        return held;
      },
    ],
    [
      "says that it works on another",
      () => {
        const held = timesOut("stop");
        held.agent.beats({ taskId: "t2" });
        return held;
      },
    ],
  ])("is never stopped for it when it %s", (_, begin) => {
    const held = begin();
    readsIt(held);
    worksFor(held, 60);
    expect([stops(held), held.agent.told("INCIDENT_OPENED")]).toEqual([0, []]);
  });

  it("and that comes to rest is left alone, also when the order was under way", () => {
    const held = timesOut("stop", { work: null });
    worksFor(held, 12);
    expect(held.agent.record.ladder.incident?.stage.kind).toBe("stopping");
    held.shows({ kind: "turn-ended", outcome: "success", reason: "end" });
    held.handsAnswer(`${held.agent.record.ending.stop?.key}/work`, { kind: "work", work: { kind: "nothing-to-save" } });
    held.passes("5m");
    expect(stops(held)).toBe(0);
    expect(refusals(held)).toContain("well-again");
  });

  it("and that a person has open, or whose policy does not act, is not stopped", () => {
    for (const given of [{ hold: { foreground: true } }, { settings: { mode: "assist" } }] as const) {
      const held = timesOut("stop", given);
      worksFor(held, 60);
      expect(stops(held)).toBe(0);
    }
  });

  it("begins its next life without that", () => {
    const held = timesOut("stop");
    held.exits({ code: 1 });
    held.startsAgain();
    worksFor(held, 30);
    expect(stops(held)).toBe(0);
  });
});
