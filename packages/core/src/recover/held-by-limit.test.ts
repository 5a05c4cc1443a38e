import type { Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { refusals, repeatsError } from "../ladder-story.test-support.ts";
import { ms } from "../story.test-support.ts";

const claude: HeldGiven["hold"] = { family: "claude-code", input: "terminal" };
const prompt: Sight = { kind: "asks", what: "prompt", pattern: "p" };
const hit = (resets: string, by: "stream" | "text" = "stream"): Sight => ({
  kind: "rate-limited",
  pattern: "limit-hit",
  resetsInMs: ms(resets),
  by,
  what: "usage",
});
const crash = { exit: { code: null, signal: "SIGSEGV", cause: "by-itself" } } as const;
const auto = { intervention: { limit_resume: { after_exit: "auto", in_terminal: "auto" } } } as const;

/** The same call with the same failure, again and again. */
function goesRound(held: HeldStory): void {
  for (let i = 0; i < 12; i++)
    held.shows(
      { kind: "tool-started", id: `${held.agent.now}/${i}`, name: "sh", argsDigest: "same", timeoutSeconds: null },
      { kind: "tool-ended", id: `${held.agent.now}/${i}`, failed: true, resultDigest: "same" },
    );
}

describe("while a limit stands", () => {
  it("a stop that was under way is not ordered, although the work is saved", () => {
    const held = heldStory({ work: null, settings: { terminal: { auto_kill_on_repeated_error: true } }, taskId: "t" });
    held.prints();
    repeatsError(held, 5);
    const key = held.agent.did("save-work")[0]?.key ?? "";
    held.shows(hit("3h"));
    held.handsAnswer(key, { kind: "work", work: { kind: "nothing-to-save" } });
    held.passes("2h");
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("a stop for which the gate was shut is not begun when the gate opens", () => {
    const held = heldStory({ settings: { terminal: { auto_kill_on_repeated_error: true } }, taskId: "t" });
    held.agent.monitorDoubts({ frozen: true });
    held.prints();
    repeatsError(held, 5);
    expect(refusals(held)).toEqual(["frozen"]);
    held.shows(hit("3h"));
    held.agent.monitorDoubts({ frozen: false });
    held.passes("2h");
    expect(held.agent.did("save-work")).toEqual([]);
  });

  it("an agent that was nudged before and crashes there is not started before it is over", () => {
    const held = heldStory({ hold: claude, taskId: "t", obedient: true });
    held.prints();
    held.passes("16m");
    expect(held.agent.record.ladder.incident?.stage.kind).toBe("nudged");
    held.report([hit("3h", "text")], crash);
    held.passes("2h");
    expect(held.agent.did("restart-agent")).toEqual([]);
    held.passes("65m");
    expect(held.agent.did("restart-agent")).toHaveLength(1);
  });

  it("an agent that crashed there is started at once when somebody who was asked says so", () => {
    const held = heldStory({ hold: claude, taskId: "t" });
    held.report([hit("3h", "text")], crash);
    held.passes("10m");
    held.agent.isEscalatedBy("operator");
    held.agent.decides("terminate_and_recover");
    expect(held.agent.did("restart-agent")).toHaveLength(1);
  });

  it.each([
    ["5m", 1],
    ["25m", 3],
  ] as const)(
    "one that goes in circles is not nudged again, nor asked about after its last nudge: %s",
    (before, nudges) => {
      const held = heldStory({ hold: { ...claude, structured: true, input: "stdin" } });
      for (let minutes = 0; minutes < ms(before) / 60_000; minutes++) {
        goesRound(held);
        held.passes("1m");
      }
      expect(held.agent.told("NUDGE_SENT")).toHaveLength(nudges);
      goesRound(held);
      held.shows(hit("3h"));
      expect(held.agent.state).toBe("STUCK");
      held.passes("2h");
      expect(held.agent.told("NUDGE_SENT")).toHaveLength(nudges);
      expect(held.agent.told("ESCALATION_TRIGGERED")).toEqual([]);
    },
  );

  it.each(["keep", "terminate"] as const)(
    "a question that nobody answers stands: it is not asked again, and nobody is stopped for it (%s)",
    (on_unanswered) => {
      const settings = { intervention: { escalation: { on_unanswered } } };
      const held = heldStory({ hold: { ...claude, structured: true, input: "none" }, settings });
      goesRound(held);
      expect(held.agent.told("ESCALATION_TRIGGERED")).toHaveLength(1);
      held.shows(hit("3h"));
      expect(held.agent.state).toBe("STUCK");
      held.passes("2h");
      expect(held.agent.told("ESCALATION_TRIGGERED")).toHaveLength(1);
      expect(held.agent.did("withdraw-escalation")).toEqual([]);
      expect(held.agent.record.ladder.incident?.stage.kind).toBe("escalated");
    },
  );

  it("nobody is asked about one that was nudged before, crashes there and has no restart left", () => {
    const held = heldStory({ hold: claude, taskId: "t", settings: { restart: { max_attempts: 0 } } });
    held.prints();
    held.passes("16m");
    expect(held.agent.record.ladder.incident?.stage.kind).toBe("nudged");
    held.report([hit("3h", "text")], crash);
    held.passes("2h");
    expect(held.agent.told("RESTARTS_EXHAUSTED")).toEqual([]);
    expect(held.agent.did("escalate")).toEqual([]);
    held.passes("65m");
    expect(held.agent.told("RESTARTS_EXHAUSTED")).toHaveLength(1);
  });

  it("a line now and then is no work, whatever its processes do", () => {
    const held = heldStory({ hold: claude, processes: "busy" });
    held.shows(hit("4h", "text"));
    held.passes("20s");
    for (let i = 0; i < 6; i++) {
      held.prints(1);
      held.passes("10m");
    }
    expect(held.agent.record.seen.limit?.resumedAt).toBeNull();
  });

  it("a turn that ended there is not waited for, also when all of it was heard late", () => {
    const held = heldStory({ hold: claude, taskId: "t" });
    held.agent.silentFor("3h");
    held.report([{ kind: "rate-limited", pattern: "limit-hit", resetsInMs: null, what: "usage" }], {}, ms("2h"));
    held.report([prompt], {}, ms("2h"));
    held.passes("2h");
    expect(held.agent.finding("completion-timeout")).toBeUndefined();
  });

  it("a turn that failed of it does not end it", () => {
    const held = heldStory({ hold: { ...claude, structured: true } });
    held.shows(hit("3h"));
    held.passes("1m");
    held.shows({ kind: "turn-ended", outcome: "failure", reason: "rate_limit" });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider" });
    expect(held.agent.record.seen.limit?.resumedAt).toBeNull();
  });
});

describe("when a limit is over", () => {
  it.each<[string, HeldGiven]>([
    ["everything is frozen", { doubt: { frozen: true }, settings: auto }],
    ["Rouse only watches", { settings: { ...auto, mode: "observe" } }],
  ])("nobody is told to go on while %s", (_, given) => {
    const held = heldStory({ hold: claude, ...given });
    held.shows(hit("1h"), prompt);
    held.passes("70m");
    expect(held.agent.did("nudge-agent")).toEqual([]);
  });

  it("an agent is told to go on eight times in a row at most", () => {
    const held = heldStory({ hold: claude, settings: auto });
    for (let i = 0; i < 14; i++) {
      held.shows(hit("10m"), prompt);
      held.passes("12m");
    }
    expect(held.agent.did("nudge-agent").length).toBeLessThanOrEqual(8);
  });

  it("what did not reach it after the last one says nothing of the next", () => {
    const held = heldStory({ hold: claude, settings: auto, nudges: { kind: "not-sent", because: "half-typed" } });
    held.shows(hit("1h"), prompt);
    held.passes("62m");
    held.shows({ kind: "asks-no-more" }, { kind: "said", digest: "goes on" });
    held.passes("1m");
    held.shows(hit("3h"));
    held.passes("10m");
    expect(held.agent.record.ladder.nudge?.template).toBe("limit-over");
    expect(held.agent.record.seen.limit).toMatchObject({ told: false, resumedAt: null });
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "provider" });
  });

  it("nobody is started again whom a person ended there", () => {
    const held = heldStory({ hold: claude, obedient: true });
    held.shows(hit("1h"));
    held.exits({ code: 1 });
    held.isOrdered("stop");
    held.passes("2h");
    expect(held.agent.did("restart-agent")).toEqual([]);
  });

  it("nobody is started again whom somebody stopped there without us, whatever its status", () => {
    const held = heldStory({ hold: claude, obedient: true });
    held.shows(hit("1h"));
    held.exits({ code: 0, cause: "stopped" });
    held.passes("2h");
    expect(held.agent.did("restart-agent")).toEqual([]);
  });
});
