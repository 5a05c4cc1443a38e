import type { StopRefusal } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { Doubt } from "../doubt.ts";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";
import type { SavedWork } from "../incident.ts";
import { endings, refusals, repeatsError, startsFailing } from "../ladder-story.test-support.ts";
import { refuseKill } from "./kill-gate.ts";

const failing = { healthMetrics: { consecutiveFailures: 9 } };
const well = { healthMetrics: { consecutiveFailures: 0 } };

/** A condition of the gate and how it comes about. */
interface Condition {
  readonly because: StopRefusal;
  readonly when: string;
  readonly comes: (held: HeldStory) => void;
}

/** A condition that ends by itself, and how. */
interface Passing extends Condition {
  readonly goes: (held: HeldStory) => void;
}

const brake = (because: "host-budget" | "fleet-budget", seconds: number): Omit<Passing, "when"> => ({
  because,
  comes: ({ agent }) => agent.monitorDoubts({ brake: { because, until: agent.now + seconds * 1000 } }),
  goes: ({ passes }) => passes(`${seconds}s`),
});

const frozen: Passing = {
  because: "frozen",
  when: "everything is frozen",
  comes: ({ agent }) => agent.monitorDoubts({ frozen: true }),
  goes: ({ agent }) => agent.monitorDoubts({ frozen: false }),
};

const attached: Condition = {
  because: "attached",
  when: "a person is attached",
  comes: ({ personAttaches }) => void personAttaches(1),
};

const passing: readonly Passing[] = [
  frozen,
  {
    because: "monitor-in-doubt",
    when: "the monitor does not trust its own path",
    comes: ({ agent }) => agent.monitorDoubts({ hold: { because: "path-unproven", since: 0, provenAt: null } }),
    goes: ({ agent }) => agent.monitorDoubts({ hold: null }),
  },
  {
    because: "monitor-in-doubt",
    when: "the monitor has just been blind",
    // The holder was heard since, and has not looked at the processes yet.
    comes({ agent, report }) {
      agent.monitorIsBlindFor("5s");
      report([], { process: null });
    },
    // By now it has looked.
    goes: ({ passes }) => passes("10s"),
  },
  { when: "too many of its host were stopped", ...brake("host-budget", 10) },
  { when: "too many of the fleet were stopped", ...brake("fleet-budget", 300) },
];

const lasting: readonly Condition[] = [
  attached,
  { because: "mode", when: "the policy is to assist", comes: ({ agent }) => agent.policyBecomes({ mode: "assist" }) },
  {
    because: "protected",
    when: "the policy protects it",
    comes: ({ agent }) => agent.policyBecomes({ protected: true }),
  },
  { because: "holder-lost", when: "its holder is gone", comes: ({ holderIsLost }) => void holderIsLost("alive") },
];

/** An agent with one kind of evidence is not stopped, but asked about for as long as it lasts. */
const oneKind: Condition = {
  because: "one-kind-of-evidence",
  when: "its processes are at work",
  comes({ processesAre, passes }) {
    processesAre("busy");
    passes("10s");
  },
};

/** Answers the order to save the work: it is saved. */
function workIsSaved(held: HeldStory): void {
  const key = held.agent.did("save-work").at(-1)?.key ?? "none";
  held.handsAnswer(key, { kind: "work", work: { kind: "saved", commit: "c0ffee", changed: 2 } });
}

/** An agent that is about to fail, with hands that take their time to save its work. */
function aboutToFail(): HeldStory {
  const held = heldStory({ taskId: "t1", work: null });
  held.passes("5m");
  return held;
}

describe("the gate is open: all of it holds", () => {
  it("and an agent that fails is stopped once its work is saved, not before", () => {
    const held = startsFailing({ work: null });
    held.passes("10s");
    expect(held.agent.did("save-work")).toEqual([
      {
        kind: "save-work",
        key: "worker-1/1/stop/consecutive-failures/1/work",
        agentId: "worker-1",
        incarnation: 1,
        within: 30_000,
      },
    ]);
    expect(held.agent.did("stop-agent")).toEqual([]);
    workIsSaved(held);
    const key = "worker-1/1/stop/consecutive-failures/1";
    expect(held.agent.did("stop-agent")).toMatchObject([
      { kind: "stop-agent", key, agentId: "worker-1", incarnation: 1, grace: 10_000, spends: true },
    ]);
    expect(held.agent.told("TERMINATION_ORDERED")).toEqual([
      {
        agentId: "worker-1",
        incarnation: 1,
        key,
        actor: "rouse",
        because: "consecutive-failures",
        evidence: expect.arrayContaining(["explicit-error", "absence"]),
      },
    ]);
    expect(refusals(held)).toEqual([]);
  });
});

describe.each([...passing, ...lasting, oneKind])("nobody is stopped while $when", ({ because, comes }) => {
  it("when it is so at the first look", () => {
    const held = aboutToFail();
    comes(held);
    held.agent.beats(failing);
    expect(held.agent.state).toBe("FAILING");
    expect(refusals(held)).toEqual([because]);
    held.passes("9s");
    expect(refusals(held)).toEqual([because]);
    expect(held.agent.did("save-work")).toEqual([]);
  });

  it("when it comes to be so while the work is being saved", () => {
    const held = aboutToFail();
    held.agent.beats(failing);
    comes(held);
    expect(held.agent.did("save-work")).toHaveLength(1);
    workIsSaved(held);
    expect(refusals(held)).toEqual([because]);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });
});

it.each(passing)("when it is over that $when, it is stopped, after its work was saved anew", ({ comes, goes }) => {
  const held = aboutToFail();
  held.agent.beats(failing);
  comes(held);
  workIsSaved(held);
  goes(held);
  expect(held.agent.did("save-work")).toHaveLength(2);
  workIsSaved(held);
  expect(held.agent.did("stop-agent")).toHaveLength(1);
  expect(held.agent.told("ESCALATION_TRIGGERED")).toEqual([]);
});

it.each(lasting)(
  "as it may last that $when, the orchestrator is asked once, and then a person",
  ({ because, comes }) => {
    const held = aboutToFail();
    held.agent.beats(failing);
    comes(held);
    workIsSaved(held);
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: because }]);
    for (let i = 0; i < 4; i++) {
      held.passes("4m");
      held.agent.beats(failing);
    }
    expect(held.agent.told("ESCALATION_TRIGGERED")).toHaveLength(1);
    expect(endings(held)).toEqual([expect.stringContaining("handed-to-a-person")]);
    expect(held.agent.did("stop-agent")).toEqual([]);
  },
);

it("while one kind of evidence is all there is, somebody is asked, and asked again, and it runs on", () => {
  const held = aboutToFail();
  held.agent.beats(failing);
  oneKind.comes(held);
  workIsSaved(held);
  for (let i = 0; i < 12; i++) {
    held.passes("4m");
    held.agent.beats(failing);
  }
  expect(
    held.agent.told("ESCALATION_TRIGGERED").map(({ reason, answerWithinSeconds }) => [reason, answerWithinSeconds]),
  ).toEqual([
    ["one-kind-of-evidence", 900],
    ["one-kind-of-evidence", 1800],
    ["one-kind-of-evidence", 3600],
  ]);
  expect(endings(held)).toEqual([]);
  expect(held.agent.did("stop-agent")).toEqual([]);
});

describe("nobody is stopped who is well again", () => {
  it("when it is so before the first look", () => {
    const held = aboutToFail();
    held.agent.monitorDoubts({ brake: { because: "host-budget", until: held.agent.now + 10_000 } });
    held.agent.beats(failing);
    held.agent.beats(well);
    expect(refusals(held)).toEqual(["host-budget", "well-again"]);
    expect(endings(held)).toEqual(["recovered: well-again"]);
    held.passes("1m");
    expect(held.agent.did("save-work")).toEqual([]);
  });

  it("when it comes to be so while the work is being saved", () => {
    const held = aboutToFail();
    held.agent.beats(failing);
    held.agent.beats(well);
    workIsSaved(held);
    expect(refusals(held)).toEqual(["well-again"]);
    expect(held.agent.did("stop-agent")).toEqual([]);
    expect(endings(held)).toEqual(["recovered: well-again"]);
  });

  it("although somebody is attached, or everything is frozen: that it is well counts first", () => {
    for (const { comes } of [frozen, attached]) {
      const held = aboutToFail();
      held.agent.beats(failing);
      comes(held);
      held.agent.beats(well);
      workIsSaved(held);
      expect(endings(held)).toEqual(["recovered: well-again"]);
    }
  });
});

describe("nobody is stopped who was started in somebody's foreground", () => {
  it("also in a pipe, where no terminal shows that they are there", () => {
    const held = heldStory({ taskId: "t1", hold: { foreground: true } });
    held.personAttaches(0);
    held.passes("5m");
    held.agent.beats(failing);
    held.passes("30m");
    expect(held.agent.did("stop-agent")).toEqual([]);
    expect(new Set(refusals(held))).toEqual(new Set(["attached"]));
  });
});

describe("nobody is stopped whose work could not be saved", () => {
  const notSaved = { kind: "not-saved", problem: "no space left" } as const;

  it("unless the policy accepts that", () => {
    const held = startsFailing({ work: notSaved });
    expect(refusals(held)).toEqual(["work-not-saved"]);
    expect(held.agent.did("save-work")).toHaveLength(1);
    expect(held.agent.told("WORK_NOT_SAVED")).toMatchObject([{ problem: "no space left" }]);
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "work-not-saved" }]);
    held.passes("4m");
    held.agent.decides("terminate_and_recover");
    expect(held.agent.did("save-work")).toHaveLength(2);
    expect(endings(held)).toEqual(["handed-to-a-person: kill-refused"]);
    expect(held.agent.did("stop-agent")).toEqual([]);
    const settings = { intervention: { termination: { accept_failed_snapshot: true } } };
    expect(startsFailing({ work: notSaved, settings }).agent.did("stop-agent")).toHaveLength(1);
  });
});

it("saving the work is tried once more before a person is asked", () => {
  const held = aboutToFail();
  held.agent.beats(failing);
  const answer = (n: number, work: SavedWork) =>
    held.handsAnswer(held.agent.did("save-work")[n]?.key ?? "none", { kind: "work", work });
  answer(0, { kind: "not-saved", problem: "no space left" });
  for (let minutes = 0; minutes < 16; minutes += 4) {
    held.passes("4m");
    held.agent.beats(failing);
  }
  expect(held.agent.told("ESCALATION_UNANSWERED")).toHaveLength(1);
  answer(1, { kind: "saved", commit: "c0ffee", changed: 1 });
  expect(held.agent.did("stop-agent")).toHaveLength(1);
});

describe("an order that was given", () => {
  it("is not given a second time while it is under way, whatever came of it", () => {
    const held = startsFailing();
    held.handsStopped("worker-1/1/stop/consecutive-failures/1", { kind: "termination_incomplete", survivors: [] });
    held.passes("2m");
    held.agent.beats(failing);
    expect(held.agent.did("stop-agent")).toHaveLength(1);
    expect(endings(held)).toEqual(["handed-to-a-person: survivors"]);
  });

  it("of which nobody knows whether it arrived is decided anew, three times at most", () => {
    const held = startsFailing();
    for (let n = 1; n <= 3; n++) {
      expect(held.agent.did("stop-agent")).toHaveLength(n);
      held.handsAnswer(held.agent.did("stop-agent")[n - 1]?.key ?? "", { kind: "interrupted" });
    }
    expect(held.agent.did("stop-agent")).toHaveLength(3);
    expect(held.agent.did("save-work")).toHaveLength(3);
    expect(endings(held)).toEqual(["handed-to-a-person: kill-refused"]);
  });

  it("and refused by its holder is a person's matter; the next illness finds no trace of it", () => {
    const held = startsFailing();
    held.handsStopped("worker-1/1/stop/consecutive-failures/1", { kind: "refused", because: "identity-changed" });
    expect(endings(held)).toEqual(["handed-to-a-person: kill-refused"]);
    held.agent.beats(well);
    held.agent.beats(failing);
    expect(held.agent.did("stop-agent")).toHaveLength(2);
  });
});

it("who is only DEGRADED is stopped by somebody's decision, and by nothing else", () => {
  const held = heldStory({ settings: { mode: "act" } });
  held.agent.beats({ status: "DEGRADED" });
  const { record, now, policy, doubt } = held.agent;
  expect(record.health.state).toBe("DEGRADED");
  expect(refuseKill(record, { now, policy, doubt }, false)?.because).toBe("well-again");
  expect(refuseKill(record, { now, policy, doubt }, true)?.because).not.toBe("well-again");
});

it("a person's order that the holder refused keeps nobody from being stopped who falls ill later", () => {
  const held = aboutToFail();
  held.isOrdered("stop");
  workIsSaved(held);
  held.handsStopped(held.agent.did("stop-agent")[0]?.key ?? "none", { kind: "refused", because: "identity-changed" });
  held.passes("1m");
  held.agent.beats(failing);
  workIsSaved(held);
  expect(held.agent.did("stop-agent")).toHaveLength(2);
});

describe("after we were blind", () => {
  it("the gate stays shut until the processes were looked at anew, and a whole TTL where nobody can look", () => {
    const held = aboutToFail();
    held.processesAre("unknown");
    held.agent.monitorIsBlindFor("5s");
    held.agent.beats(failing);
    held.passes("2m");
    expect(refusals(held)).toEqual(["monitor-in-doubt"]);
    expect(held.agent.did("save-work")).toEqual([]);
    held.processesAre("quiet");
    held.passes("10s");
    expect(held.agent.did("save-work")).toHaveLength(1);
  });

  it("silence of beats takes a whole TTL to be silence again, although the holder has reported", () => {
    const held = heldStory({ preset: "fleet", work: null });
    for (let i = 0; i < 5; i++) {
      held.agent.beats({ open: { kind: "tool", name: "build" } });
      held.passes("5s");
    }
    held.agent.monitorDoubts({ brake: { because: "fleet-budget", until: held.agent.now + 300_000 } });
    held.passes("30s");
    expect(held.agent.state).toBe("UNRESPONSIVE");
    held.agent.monitorIsBlindFor("5s");
    held.passes("10s");
    held.agent.monitorDoubts({ brake: null });
    held.passes("6s");
    expect(held.agent.did("save-work")).toEqual([]);
    held.passes("1s");
    expect(held.agent.did("save-work")).toHaveLength(1);
  });

  it("a suspicion of silence from before keeps the gate shut as well, whatever else is seen since", () => {
    const held = heldStory({ settings: { terminal: { auto_kill_on_repeated_error: true } } });
    held.agent.beats();
    held.passes("11m");
    expect(held.agent.finding("missed-beats")?.level).toBe("degraded");
    held.agent.monitorIsBlindFor("5s");
    repeatsError(held, 5);
    expect(refusals(held)).toEqual(["monitor-in-doubt"]);
  });

  it("the gate stays shut for a whole TTL when the processes could never be looked at", () => {
    const held = heldStory({ taskId: "t1", work: null, processes: "unknown" });
    held.passes("5m");
    held.agent.monitorIsBlindFor("5s");
    held.agent.beats(failing);
    held.passes("1m");
    expect(refusals(held)).toEqual(["monitor-in-doubt"]);
  });

  it.each<[string, Partial<Doubt>]>([
    ["the monitor does not trust its own path", { hold: { because: "path-unproven", since: 0, provenAt: null } }],
    ["the budget of its host", { brake: { because: "host-budget", until: Number.MAX_SAFE_INTEGER } }],
    ["the budget of the fleet", { brake: { because: "fleet-budget", until: Number.MAX_SAFE_INTEGER } }],
  ])("a refusal that lasts longer than its cause should is told to a person, once: %s", (_, doubt) => {
    const held = aboutToFail();
    held.agent.monitorDoubts(doubt);
    held.agent.beats(failing);
    const shut = () => held.agent.did("raise-alert").filter(({ summary }) => summary.includes("cannot be for"));
    held.passes("14m");
    held.agent.beats(failing);
    expect(shut()).toEqual([]);
    held.passes("2m");
    expect(shut()).toMatchObject([{ severity: "critical" }]);
    held.agent.beats(failing);
    held.passes("14m");
    expect(shut()).toHaveLength(1);
    expect(held.agent.did("save-work")).toEqual([]);
  });
});
