import type { ProcessFacts } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";
import { endings, goesQuiet, hangs, repeatsError, startsFailing } from "../ladder-story.test-support.ts";
import { times } from "../run-story.test-support.ts";
import { dawn, story } from "../story.test-support.ts";
import { isRuledByOwner } from "./evidence.ts";

const ladder = [
  "NUDGE_SENT",
  "ESCALATION_TRIGGERED",
  "ESCALATION_UNANSWERED",
  "TERMINATION_ORDERED",
  "RESTART_ORDERED",
  "AGENT_RESTARTED",
  "INCIDENT_CLOSED",
] as const;

describe("an agent that gets nowhere", () => {
  it("is nudged three times, then escalated, then stopped and brought back, and watched until it has stood probation", () => {
    const held = hangs({ obedient: true });
    held.passes("1h");
    expect(held.agent.when(...ladder)).toEqual([
      "900s NUDGE_SENT",
      "1500s NUDGE_SENT",
      "2100s NUDGE_SENT",
      "2700s ESCALATION_TRIGGERED",
      "3600s ESCALATION_UNANSWERED",
      "3600s TERMINATION_ORDERED",
      "3600s RESTART_ORDERED",
      "3600s AGENT_RESTARTED",
      "4500s INCIDENT_CLOSED",
    ]);
    expect(endings(held)).toEqual(["recovered: stood-probation"]);
    expect(held.agent.told("AGENT_RESTARTED")).toEqual([
      {
        agentId: "worker-1",
        from: 1,
        to: 2,
        because: "recovery",
        cause: "stopped",
        chain: ["STUCK: overdue-call", "stopped: overdue-call", "exit: stopped SIGTERM", "started again: recovery"],
      },
    ]);
  });

  it("that goes on after the first nudge is left alone", () => {
    const held = goesQuiet();
    held.passes("2m");
    held.prints(3);
    held.passes("10m");
    expect(endings(held)).toEqual(["recovered: well-again"]);
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
  });

  it("is escalated at once where there is no way to nudge it", () => {
    const held = goesQuiet({ hold: { input: "none" } });
    expect(held.agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "no-way-to-nudge", severity: "SEV-3" }]);
    expect(held.agent.when("ESCALATION_TRIGGERED")).toEqual(["900s ESCALATION_TRIGGERED"]);
  });

  it("is escalated at once where the policy wants no nudges", () => {
    const held = goesQuiet({ settings: { intervention: { nudge: { enabled: false } } } });
    expect(held.agent.told("ESCALATION_TRIGGERED")).toHaveLength(1);
    expect(held.agent.told("NUDGE_QUEUED")).toEqual([]);
  });

  it("is asked about as out of reach when its nudges could not be given to it: what was not sent is no attempt", () => {
    const held = goesQuiet({ nudges: { kind: "not-sent", because: "half-typed" } });
    held.passes("1h");
    expect(held.agent.told("NUDGE_NOT_SENT").length).toBeGreaterThan(0);
    expect(held.agent.told("ESCALATION_TRIGGERED")[0]).toMatchObject({ reason: "nudges-undelivered" });
    expect(held.agent.record.ladder.incident).toMatchObject({ nudges: 0 });
  });

  it("that becomes worse while somebody is asked about it is waited for: the question stands until its time is up", () => {
    const held = heldStory({ settings: { intervention: { nudge: { enabled: false } } } });
    held.prints();
    held.passes("5m");
    held.agent.beats();
    held.passes("20m");
    expect(held.agent.state).toBe("UNRESPONSIVE");
    expect(held.agent.when("ESCALATION_TRIGGERED", "TERMINATION_REFUSED")).toEqual(["900s ESCALATION_TRIGGERED"]);
    held.passes("6m");
    expect(held.agent.when("ESCALATION_UNANSWERED")[0]).toBe("1800s ESCALATION_UNANSWERED");
  });

  it("in mode assist is nudged and escalated, and then a person's matter", () => {
    const held = goesQuiet({ settings: { mode: "assist" } });
    held.passes("2h");
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(3);
    expect(endings(held)).toEqual(["handed-to-a-person: mode"]);
    expect(held.agent.did("save-work")).toEqual([]);
  });

  it("in mode observe is nobody's incident", () => {
    const held = goesQuiet({ settings: { mode: "observe" } });
    held.passes("2h");
    expect(held.agent.state).toBe("STUCK");
    expect(held.agent.told("INCIDENT_OPENED")).toEqual([]);
    expect(held.agent.actions).toEqual([]);
  });

  it("goes to a person when somebody switches to mode observe in the middle of it, and is not nudged any more", () => {
    const held = goesQuiet();
    held.agent.policyBecomes({ mode: "observe" });
    held.passes("3h");
    expect(endings(held)).toEqual(["handed-to-a-person: mode"]);
    expect(held.agent.told("NUDGE_QUEUED")).toHaveLength(1);
  });

  it("is never stopped for being quiet alone: it runs on, and people are asked at widening intervals", () => {
    const held = goesQuiet();
    held.passes("24h");
    expect(held.agent.did("save-work")).toEqual([]);
    expect(held.agent.when("ESCALATION_TRIGGERED")).toEqual(
      [2700, 3600, 5400, 9000, 16_200, 30_600, 59_400].map((at) => `${at}s ESCALATION_TRIGGERED`),
    );
    expect(held.agent.record.ladder.incident?.stage).toMatchObject({
      kind: "escalated",
      escalation: { askedBefore: 6, otherwise: { kind: "keep" } },
    });
    expect(held.agent.record.health.alert?.severity).toBe("critical");
    held.prints(9);
    expect(endings(held)).toEqual(["recovered: well-again"]);
    expect(held.agent.record.health.alert).toBe(null);
  });

  it("is stopped for being quiet, without a nudge, where its owner said so: in its policy, or when it was started", () => {
    const byPolicy = goesQuiet({ obedient: true, settings: { terminal: { auto_kill_on_idle: true } } });
    expect(byPolicy.agent.when("NUDGE_SENT", "TERMINATION_ORDERED")).toEqual(["900s TERMINATION_ORDERED"]);
    expect(byPolicy.agent.told("TERMINATION_ORDERED")[0]?.evidence).toEqual(
      expect.arrayContaining(["absence", "owner-rule"]),
    );
    const atStart = goesQuiet({ obedient: true, hold: { idleKillMs: 30 * 60_000 } });
    atStart.passes("1h");
    expect(atStart.agent.when("NUDGE_SENT", "TERMINATION_ORDERED")[0]).toBe("1800s TERMINATION_ORDERED");
  });

  it("is stopped by its owner's rule when its time has come, although it was nudged for something else before", () => {
    const held = hangs({ obedient: true, hold: { idleKillMs: 30 * 60_000 } });
    held.passes("1h");
    expect(held.agent.when("NUDGE_SENT", "ESCALATION_TRIGGERED", "TERMINATION_ORDERED").slice(0, 3)).toEqual([
      "900s NUDGE_SENT",
      "1500s NUDGE_SENT",
      "1800s TERMINATION_ORDERED",
    ]);
  });

  it("that never wrote a word is stopped by its owner's rule when that is due, not after a start-up on top of it", () => {
    const held = heldStory({ obedient: true, hold: { idleKillMs: 20 * 60_000 } });
    held.passes("25m");
    // From the first look at its processes on, which shows no rate.
    expect(held.agent.when("TERMINATION_ORDERED")).toEqual(["1210s TERMINATION_ORDERED"]);
  });

  it("is stopped by its owner's rule that long after the last thing that stirred, not after the last line", () => {
    const stirs: readonly [string, Partial<ProcessFacts>][] = [
      ["a file", { files: { changes: 1 } }],
      ["a little CPU", { cpuMs: 100 + 300 }],
      ["some bytes by whatever way", { ioBytes: 1000 + 4000 }],
      ["a new child", { processes: 2, youngestChildAt: dawn + 15 * 60_000 }],
    ];
    for (const [what, facts] of stirs) {
      const held = heldStory({ obedient: true, hold: { idleKillMs: 20 * 60_000 } });
      held.prints();
      held.passes("15m");
      held.processesShow(facts);
      held.passes("21m");
      expect([what, ...held.agent.when("TERMINATION_ORDERED")]).toEqual([what, "2110s TERMINATION_ORDERED"]);
    }
  });

  it("is not well again by a stir after its owner's rule came to nothing, nor ruled on until its whole time is over once more", () => {
    const refused = { kind: "not-saved", problem: "the object store is read-only" } as const;
    const held = heldStory({ hold: { idleKillMs: 20 * 60_000 }, work: refused });
    held.prints();
    held.passes("22m");
    expect(held.agent.told("TERMINATION_REFUSED")).toMatchObject([{ because: "work-not-saved" }]);
    held.processesShow({ cpuMs: 100 + 300 });
    held.passes("19m");
    expect(held.agent.record.health.state).toBe("STUCK");
    expect(endings(held)).toEqual([]);
    const ruled = () =>
      held.agent.record.health.findings.some((finding) =>
        isRuledByOwner(held.agent.record, finding, held.agent.policy),
      );
    expect(ruled()).toBe(false);
    held.passes("2m");
    expect(ruled()).toBe(true);
  });

  it("that computes for hours and brings nothing out is asked about all the same, and not stopped as idle", () => {
    const held = heldStory({ obedient: true, hold: { idleKillMs: 20 * 60_000 } });
    held.prints();
    held.processesAre("busy");
    held.passes("3h");
    expect(held.agent.told("ESCALATION_TRIGGERED")).not.toEqual([]);
    expect(held.agent.told("TERMINATION_ORDERED")).toEqual([]);
  });

  it("is not stopped by its owner's rule while bytes move on its sockets, or files change below its folder", () => {
    for (const eye of ["network", "files"] as const) {
      const held = heldStory({ hold: { idleKillMs: 20 * 60_000 } });
      held.prints();
      for (let i = 1; i < 60; i++) {
        held.processesShow(eye === "network" ? { network: { sockets: 1, bytes: i } } : { files: { changes: i } });
        held.passes("1m");
      }
      expect(held.agent.did("save-work")).toEqual([]);
      expect(held.agent.told("INCIDENT_OPENED")).toEqual([]);
    }
  });

  it("nor when it repeated itself first and fell quiet after the nudge", () => {
    const settings = {
      health_check: { checkpoint_stale_threshold_seconds: 1_000_000, no_tool_call_seconds: 1_000_000 },
      terminal: { auto_kill_on_idle: false },
    };
    const held = heldStory({ hold: { input: "stdin" }, settings });
    for (let i = 0; i < 6; i++) {
      held.agent.take({ kind: "stepped", events: [{ kind: "tool_call", tool: "shell", args_digest: "a" }] });
      held.agent.take({ kind: "stepped", events: [{ kind: "tool_result", text_digest: "r" }] });
      held.passes("10s");
    }
    expect(held.agent.told("INCIDENT_OPENED")).toMatchObject([{ cause: "identical-step" }]);
    held.passes("3h");
    expect(held.agent.reason).toBe("identical-step");
    expect(held.agent.finding("no-output")?.level).toBe("stuck");
    expect(held.agent.did("stop-agent")).toEqual([]);
    expect(endings(held)).toEqual([]);
    expect(held.agent.record.ladder.incident?.stage).toMatchObject({ escalation: { otherwise: { kind: "keep" } } });
  });

  it("is nudged as before during a freeze only after the thaw", () => {
    const held = goesQuiet({ doubt: { frozen: true } });
    held.passes("1h");
    expect(held.agent.told("NUDGE_QUEUED")).toEqual([]);
    held.agent.monitorDoubts({ frozen: false });
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
  });
});

describe("an agent that is well for a moment and ill again", () => {
  it("is asked about four times an hour at most, however often it flips", () => {
    const held = heldStory({ processes: "busy", hold: { input: "none" } });
    for (let round = 0; round < 60; round++) {
      for (let i = 0; i < 6; i++) {
        held.agent.take({
          kind: "stepped",
          events: [{ kind: "tool_call", tool: "shell", args_digest: `same ${round}` }],
        });
        held.agent.take({ kind: "stepped", events: [{ kind: "error", text_digest: `r ${round}` }] });
        held.agent.silentFor(5000);
      }
      const fresh = `new ${round}`;
      held.agent.take({ kind: "stepped", events: [{ kind: "tool_call", tool: "edit", args_digest: fresh }] });
      held.agent.take({ kind: "stepped", events: [{ kind: "tool_result", text_digest: fresh }] });
      held.passes("30s");
    }
    expect(held.agent.told("INCIDENT_OPENED").length).toBeGreaterThan(10);
    expect(held.agent.told("ESCALATION_TRIGGERED").length).toBeLessThanOrEqual(5);
  });
});

describe("a question that is open", () => {
  it("is waited for to the end, although enough for a stop is found meanwhile; only then is it stopped", () => {
    const held = goesQuiet({ obedient: true, hold: { input: "none" } });
    expect(held.agent.when("ESCALATION_TRIGGERED")).toEqual(["900s ESCALATION_TRIGGERED"]);
    for (let i = 0; i < 16; i++) {
      held.agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
      held.passes("1m");
    }
    expect(held.agent.past).toContain("900s FAILING");
    expect(held.agent.when("TERMINATION_ORDERED")).toEqual(["1800s TERMINATION_ORDERED"]);
  });

  it("is over when the agent returns", () => {
    const held = goesQuiet({ hold: { input: "none" } });
    held.passes("5m");
    held.prints(9);
    expect(endings(held)).toEqual(["recovered: well-again"]);
    expect(held.agent.did("withdraw-escalation")).toHaveLength(1);
  });

  it("is not answered by anybody's silence where the policy keeps who was not decided about, whatever speaks against it", () => {
    const settings = { intervention: { escalation: { on_unanswered: "keep" } } } as const;
    const held = hangs({ obedient: true, hold: { input: "none" }, settings });
    held.passes("5h");
    expect(held.agent.did("save-work")).toEqual([]);
    expect(held.agent.told("ESCALATION_TRIGGERED").length).toBeGreaterThan(3);
  });
});

describe("a question that somebody ordered", () => {
  it("is not given up in a freeze, however long nobody answers", () => {
    const agent = story();
    agent.beats();
    agent.isEscalatedBy("operator");
    agent.monitorDoubts({ frozen: true });
    agent.beatsEvery("5s", "1h");
    expect(endings({ agent })).toEqual([]);
    agent.monitorDoubts({ frozen: false });
    agent.beatsEvery("5s", "16m");
    expect(endings({ agent })).toEqual(["handed-to-a-person: nobody-answered"]);
  });

  it("is moot when the agent crashes: it is started again as ever", () => {
    const held = heldStory();
    held.agent.isEscalatedBy("operator");
    held.passes("1m");
    held.exits({ code: 1 });
    expect(held.agent.did("restart-agent")).toHaveLength(1);
  });

  it("is its person's no more when the agent has finished", () => {
    const agent = story();
    agent.beats();
    agent.isEscalatedBy("operator");
    agent.beatsEvery("5s", "16m");
    expect(agent.record.ladder.handedOver).toMatchObject({ asked: true });
    agent.beats({ status: "FINISHED" });
    expect(agent.record.ladder.handedOver).toBeNull();
  });
});

describe("an agent whose next life would end as its last", () => {
  const fails = (reason: string, cause: "by-itself" | "killed" = "by-itself") => {
    const held = heldStory({ hold: { structured: true, family: "claude-code" } });
    held.shows({ kind: "model-asked" }, { kind: "turn-ended", outcome: "failure", reason });
    held.exits({ code: 1, cause });
    held.passes("1m");
    return held;
  };

  it.each([
    ["error_max_turns", "at-its-cap"],
    ["error_max_budget_usd", "at-its-cap"],
    ["authentication_failed", "refused-by-provider"],
    ["api_error 401", "refused-by-provider"],
  ])("(%s) is a person's matter at once", (reason, because) => {
    const held = fails(reason);
    expect(held.agent.did("restart-agent")).toEqual([]);
    expect(endings(held)).toEqual([`handed-to-a-person: ${because}`]);
    expect(held.agent.record.health.alert?.severity).toBe("critical");
  });

  it("is started again when somebody who looked at it says so", () => {
    const held = fails("authentication_failed");
    held.agent.isEscalatedBy("operator");
    held.agent.decides("terminate_and_recover");
    expect(held.agent.did("restart-agent")).toHaveLength(1);
  });

  it("is started again when something else ended it", () => {
    expect(fails("error_max_turns", "killed").agent.did("restart-agent")).toHaveLength(1);
    expect(fails("error_during_execution").agent.did("restart-agent")).toHaveLength(1);
  });

  it("is told to need a login once, and for as long as it does", () => {
    const login = { kind: "asks", what: "login", pattern: "api 401" } as const;
    const held = heldStory({ hold: { structured: true, family: "claude-code" } });
    held.shows({ kind: "model-asked" }, login);
    held.shows(login, { kind: "turn-ended", outcome: "failure", reason: "is_error 401" });
    held.passes("20m");
    expect(held.agent.told("AGENT_NEEDS_YOU")).toHaveLength(1);
    expect(held.agent.told("AGENT_NEEDS_YOU_NO_MORE")).toEqual([]);
    expect(held.agent.told("ALERT_RAISED")).toHaveLength(1);
    held.shows({ kind: "said", digest: "d" });
    expect(held.agent.told("AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
  });
});

describe("an agent that repeats an error", () => {
  const killing = { terminal: { auto_kill_on_repeated_error: true } };

  it("is stopped without a nudge when the policy says so, and not brought back", () => {
    const held = heldStory({ taskId: "t1", settings: killing, obedient: true, hold: { input: "terminal" } });
    held.prints();
    repeatsError(held, 5);
    held.passes("2h");
    expect(held.agent.told("NUDGE_QUEUED")).toEqual([]);
    expect(held.agent.did("stop-agent")).toHaveLength(1);
    expect(held.agent.did("restart-agent")).toEqual([]);
    expect(endings(held)).toEqual(["handed-to-a-person: not-brought-back"]);
    expect(held.agent.record.health.alert?.severity).toBe("critical");
  });

  it("is not brought back either when nobody knows how that stop went", () => {
    const held = heldStory({ taskId: "t1", settings: killing, hold: { input: "terminal" } });
    held.prints();
    repeatsError(held, 5);
    held.handsAnswer(held.agent.did("stop-agent")[0]?.key ?? "", { kind: "interrupted" });
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped(held.agent.did("stop-agent")[1]?.key ?? "", { kind: "already-over" });
    expect(held.agent.told("AGENT_TERMINATED")).toHaveLength(1);
    expect(endings(held)).toEqual(["handed-to-a-person: not-brought-back"]);
  });

  it("is nudged and asked about when it does not, and runs on while nobody answers", () => {
    const held = heldStory({ taskId: "t1", hold: { input: "terminal" } });
    held.prints();
    repeatsError(held, 60);
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(3);
    expect(held.agent.told("ESCALATION_TRIGGERED").map(({ reason }) => reason)).toEqual([
      "nudges-unanswered",
      "nudges-unanswered",
    ]);
    expect(endings(held)).toEqual([]);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("that comes with other work is not stopped", () => {
    const held = heldStory({ settings: killing });
    times(9, () => {
      held.prints(20);
      repeatsError(held, 1);
    });
    expect(held.agent.state).toBe("DEGRADED");
    expect(held.agent.did("save-work")).toEqual([]);
  });
});

describe("an agent on probation", () => {
  it("is not given up for a warning, however long that stands", () => {
    const settings = { intervention: { escalation: { unchanged_after_seconds: 60 } } };
    const held = startsFailing({ obedient: true, settings });
    expect(held.agent.record.ladder.incident?.stage.kind).toBe("probation");
    for (let n = 0; n < 60; n++) {
      held.agent.beats({ healthMetrics: { errorRate: 0.5 }, progressIndicator: `${n}` });
      held.passes("30s");
    }
    expect(held.agent.state).toBe("DEGRADED");
    expect(endings(held)[0]).toBe("recovered: stood-probation");
  });
});

describe("an agent that breaks things", () => {
  it("is stopped at once and brought back", () => {
    const held = startsFailing({ obedient: true });
    expect(held.agent.when(...ladder)).toEqual([
      "300s TERMINATION_ORDERED",
      "300s RESTART_ORDERED",
      "300s AGENT_RESTARTED",
    ]);
    expect(held.agent.told("RECOVERY_INITIATED")).toMatchObject([{ taskId: "t1", attempt: 1 }]);
    expect(held.agent.record.ladder.incident?.stage.kind).toBe("probation");
  });

  it("that Rouse does not hold is escalated, and a person's matter when nobody answers", () => {
    const agent = story();
    agent.beats({ healthMetrics: { consecutiveFailures: 9 } });
    expect(agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "not-supervised" }]);
    agent.beatsEvery("5s", "15m", { healthMetrics: { consecutiveFailures: 9 } });
    expect(endings({ agent })).toEqual(["handed-to-a-person: not-supervised"]);
  });
});

describe("an agent that is not there", () => {
  it("is started again although a warning about it was left to a person before", () => {
    const held = heldStory({ hold: { input: "none" }, processes: "busy" });
    held.prints();
    held.agent.beats({ errorCount: 0, toolCallCount: 0 });
    for (let n = 1; n <= 30; n++) {
      held.passes("5m");
      held.prints(3);
      held.agent.beats({ errorCount: 4 * n, toolCallCount: 10 * n, progressIndicator: `${n}` });
    }
    expect(endings(held)).toEqual(["handed-to-a-person: nobody-answered"]);
    held.exits({ code: 1 });
    expect(held.agent.did("restart-agent")).toHaveLength(1);
  });

  /** Its beats come from a timer: they came in the middle of a tool, in rhythm. */
  const beatsByTimer = (held: HeldStory, interval: string): void => {
    for (let i = 0; i < 5; i++) {
      held.agent.beats({ open: { kind: "tool", name: "build" } });
      held.passes(interval);
    }
    held.agent.beats();
  };
  const restarting = { heartbeat: { restart_on_missed_beats: true } };

  it("and speaks again before it is stopped, but gets nowhere, is nudged like anybody who gets nowhere", () => {
    const held = heldStory({ taskId: "t1", hold: { input: "stdin" }, settings: restarting });
    beatsByTimer(held, "5m");
    const says = { progressIndicator: "p2", toolCallCount: 3, tokenCount: 10 };
    held.agent.beats({ ...says, progressIndicator: "p1" });
    held.agent.beats(says);
    held.agent.monitorDoubts({ brake: { because: "fleet-budget", until: held.agent.now + 3_600_000 } });
    held.passes("31m");
    expect(held.agent.record.ladder.incident).toMatchObject({ illness: "UNRESPONSIVE", stage: { kind: "stopping" } });
    held.agent.beats(says);
    expect(held.agent.record.ladder.incident).toMatchObject({ illness: "STUCK", stage: { kind: "nudged" } });
    held.agent.monitorDoubts({ brake: null });
    held.agent.beats(says);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("and speaks again when its stop is out already is not nudged beside it: what comes of the stop is waited for", () => {
    const held = heldStory({ taskId: "t1", hold: { input: "stdin" }, settings: restarting });
    beatsByTimer(held, "5m");
    const says = { progressIndicator: "p2", toolCallCount: 3, tokenCount: 10 };
    held.agent.beats({ ...says, progressIndicator: "p1" });
    held.agent.beats(says);
    held.passes("31m");
    expect(held.agent.did("stop-agent")).toHaveLength(1);
    const nudged = held.agent.told("NUDGE_QUEUED").length;
    held.agent.beats(says);
    expect(held.agent.state).toBe("STUCK");
    expect(held.agent.record.ladder.incident).toMatchObject({ illness: "UNRESPONSIVE", stage: { kind: "stopping" } });
    expect(held.agent.told("NUDGE_QUEUED")).toHaveLength(nudged);
  });

  it("and speaks again while a stop that somebody decided waits for the budget is stopped all the same: it gets nowhere", () => {
    const held = heldStory({ taskId: "t1", hold: { input: "stdin" } });
    const says = { progressIndicator: "p2", toolCallCount: 3, tokenCount: 10 };
    held.agent.beats({ ...says, progressIndicator: "p1" });
    held.agent.beats(says);
    held.passes("40m");
    expect(held.agent.state).toBe("UNRESPONSIVE");
    held.agent.monitorDoubts({ brake: { because: "fleet-budget", until: held.agent.now + 3_600_000 } });
    held.agent.decides("terminate_and_recover");
    held.agent.beats(says);
    expect(held.agent.state).toBe("STUCK");
    expect(held.agent.record.ladder.incident).toMatchObject({ stage: { kind: "stopping", cause: "decided" } });
    held.agent.monitorDoubts({ brake: null });
    held.agent.beats(says);
    expect(held.agent.did("stop-agent")).toHaveLength(1);
  });

  it("while its process lives is stopped and started again where its policy says so and its beats came by a timer", () => {
    const held = heldStory({ preset: "fleet", obedient: true });
    beatsByTimer(held, "5s");
    held.passes("3m");
    expect(held.agent.told("AGENT_RESTARTED")).toMatchObject([{ because: "stopped-as-unresponsive" }]);
    expect(held.agent.told("TERMINATION_ORDERED")[0]?.evidence).toEqual(
      expect.arrayContaining(["absence", "owner-rule"]),
    );
    expect(endings(held)).toEqual(["recovered: replaced"]);
  });

  it("again in its next life is stopped again: its owner's rule holds for every life of it", () => {
    const held = heldStory({ obedient: true, taskId: "t1", hold: { idleKillMs: 60_000 } });
    held.prints();
    held.passes("2m");
    expect(held.agent.record.life.incarnation).toBe(2);
    held.prints();
    held.passes("10m");
    expect(held.agent.told("TERMINATION_ORDERED").length).toBeGreaterThan(1);
    expect(endings(held)).not.toContain("handed-to-a-person: relapse");
  });

  it("together with many others is stopped and started again all the same: its owner's rule needs nobody's answer", () => {
    const held = heldStory({ preset: "fleet", obedient: true });
    beatsByTimer(held, "5s");
    held.agent.monitorDoubts({ silentWith: "rouse.fleet/1" });
    held.passes("3m");
    expect(held.agent.told("AGENT_RESTARTED")).toMatchObject([{ because: "stopped-as-unresponsive" }]);
    expect(held.agent.told("ALERT_RAISED")).toEqual([]);
  });

  it("while its process lives is asked about, and not stopped, where it never showed a timer or no policy says so", () => {
    const never = heldStory({ preset: "fleet", obedient: true });
    never.agent.beats();
    never.passes("3m");
    const noRule = heldStory({
      preset: "fleet",
      obedient: true,
      settings: { heartbeat: { restart_on_missed_beats: false } },
    });
    beatsByTimer(noRule, "5s");
    noRule.passes("3m");
    for (const { agent } of [never, noRule]) {
      expect(agent.state).toBe("UNRESPONSIVE");
      expect(agent.did("save-work")).toEqual([]);
      expect(agent.told("ESCALATION_TRIGGERED")).toMatchObject([{ reason: "one-kind-of-evidence" }]);
    }
  });

  it("that Rouse does not hold is escalated, and a person's matter when nobody answers", () => {
    const agent = story();
    agent.beats();
    agent.silentFor("1h");
    expect(agent.when("ESCALATION_TRIGGERED", "INCIDENT_CLOSED")).toEqual([
      "17s ESCALATION_TRIGGERED",
      "917s INCIDENT_CLOSED",
    ]);
    expect(endings({ agent })).toEqual(["handed-to-a-person: not-supervised"]);
  });
});
