import type { PartialSettings, Sight } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldGiven, type HeldStory, heldStory } from "../held-story.test-support.ts";
import { error, goesQuiet, repeatsError } from "../ladder-story.test-support.ts";
import { isRuledByOwner, kindsOfEvidence } from "./evidence.ts";

const failing = { healthMetrics: { consecutiveFailures: 9 } };
const started = (name: string): Sight => ({
  kind: "tool-started",
  id: name,
  name,
  argsDigest: "a",
  timeoutSeconds: 600,
});

describe("evidence", () => {
  const kinds = ({ agent }: HeldStory) => [...kindsOfEvidence(agent.record, agent.context)].toSorted();

  it("an error that repeats in a terminal is none, unless its owner wants it stopped for that", () => {
    const circles = (stops: boolean) => {
      const settings = { mode: "observe", terminal: { auto_kill_on_repeated_error: stops } } as const;
      const held = heldStory({ processes: "busy", settings });
      held.prints();
      repeatsError(held, 5);
      expect(held.agent.finding("repeated-error")?.level).toBe("stuck");
      return held;
    };
    expect(kinds(circles(false))).toEqual([]);
    expect(kinds(circles(true))).toEqual(["absence", "owner-rule", "repetition"]);
  });

  it("of failures is not doubled by quiet processes while lines or facts of work come", () => {
    const backsOff = (prints: boolean) => {
      const held = heldStory({ settings: { mode: "observe" } });
      held.passes("5m");
      for (let i = 0; i < 5; i++) {
        if (prints) held.prints();
        held.passes("1m");
        held.agent.beats(failing);
      }
      return kinds(held);
    };
    expect(backsOff(true)).toEqual(["explicit-error"]);
    expect(backsOff(false)).toEqual(["absence", "explicit-error"]);
  });

  it("four errors in ten hours are no row of failures, and a count of them is over when the agent gets on", () => {
    const rare = heldStory({ settings: { mode: "observe" } });
    for (let i = 0; i < 40; i++) {
      rare.passes("5m");
      rare.agent.beats({ errorCount: Math.floor(i / 8), toolCallCount: 3 });
    }
    expect(rare.agent.finding("consecutive-failures")).toBeUndefined();
    const counted = heldStory({ settings: { mode: "observe" } });
    counted.agent.beats({ ...failing, progressIndicator: "1" });
    expect(counted.agent.finding("consecutive-failures")).toBeDefined();
    counted.passes("1m");
    counted.agent.beats({ progressIndicator: "2" });
    expect(counted.agent.finding("consecutive-failures")).toBeUndefined();
  });

  it("the same look again and again at the pace of somebody who waits is none, whether or not the check is met; in haste it is", () => {
    const looks = (took: string, pause: string, failed: boolean) => {
      const held = heldStory({ processes: "busy", settings: { mode: "observe" } });
      for (let i = 0; i < 7; i++) {
        held.agent.take({ kind: "stepped", events: [{ kind: "tool_call", tool: "Bash", args_digest: "gh run view" }] });
        held.agent.silentFor(took);
        held.agent.take({ kind: "stepped", events: [{ kind: "tool_result", text_digest: "in_progress", failed }] });
        held.agent.silentFor(pause);
      }
      expect(held.agent.record.health.findings.some(({ level }) => level === "stuck")).toBe(true);
      return kinds(held);
    };
    expect(looks("3s", "4s", false)).toEqual([]);
    expect(looks("1s", "30s", false)).toEqual([]);
    expect(looks("1s", "4s", false)).toEqual(["absence", "repetition"]);
    expect(looks("3s", "4s", true)).toEqual([]);
    expect(looks("1s", "30s", true)).toEqual([]);
    expect(looks("1s", "4s", true)).toEqual(["absence", "repetition"]);
  });

  it("a timer that falls silent is ruled on only where no process was seen at work since, and no child of its tool lives", () => {
    const fallsSilent = (after: (held: HeldStory) => void, structured = false) => {
      const held = heldStory({ preset: "fleet", settings: { mode: "observe" }, hold: { structured } });
      for (let i = 0; i < 6; i++) {
        held.agent.beats({ open: { kind: "model" } });
        held.passes("5s");
      }
      held.agent.beats({ open: { kind: "tool", name: "build", timeoutSeconds: 600 } });
      after(held);
      held.passes("40s");
      expect(held.agent.state).toBe("UNRESPONSIVE");
      return kinds(held);
    };
    expect(fallsSilent(() => {})).toEqual(["absence", "owner-rule"]);
    expect(fallsSilent((held) => held.processesAre("busy"))).not.toContain("owner-rule");
    const stirsOnce = (held: HeldStory): void => {
      held.passes("20s");
      held.processesShow({ files: { changes: 1 } });
      held.passes("3m");
    };
    expect(fallsSilent(stirsOnce)).toContain("owner-rule");
    expect(fallsSilent((held) => held.processesAre("unknown"))).not.toContain("owner-rule");
    const withChild = (held: HeldStory) => held.processesShow({ processes: 2, youngestChildAt: held.agent.now });
    expect(fallsSilent(withChild)).not.toContain("owner-rule");
    const justBefore = (held: HeldStory) =>
      held.processesShow({ processes: 2, youngestChildAt: held.agent.now - 4000 });
    expect(fallsSilent(justBefore)).not.toContain("owner-rule");
    const besideAnother = (held: HeldStory): void => {
      held.shows(started("build"));
      withChild(held);
      held.passes("20s");
      held.shows(started("read"), { kind: "tool-ended", id: "read", failed: false, resultDigest: "r" });
      held.passes("11m");
    };
    expect(fallsSilent(besideAnother, true)).not.toContain("owner-rule");
    // A program that crashes over and over counts from 1 each time, and its beats look like old ones.
    const countsAnew = (held: HeldStory): void => {
      for (const sequenceNumber of [1, 2, 3]) held.agent.beats({ sequenceNumber }, { agentTime: null });
    };
    expect(fallsSilent(countsAnew)).toEqual(["absence"]);
  });

  it("a timer that falls silent is not ruled on without its owner's rule, a known timer, a whole silence and a look since", () => {
    const stops = { mode: "observe", heartbeat: { restart_on_missed_beats: true } } as const;
    const falls = (silence: string, settings: PartialSettings = stops, open: "tool" | null = "tool") => {
      const held = heldStory({ preset: "fleet", settings });
      for (let i = 0; i < 6; i++) {
        held.report([]);
        held.agent.beats(open === null ? { progressIndicator: `${i}` } : { open: { kind: open, name: "build" } });
        held.passes("5s");
      }
      held.passes(silence);
      return held;
    };
    const gone = falls("40s");
    expect(gone.agent.state).toBe("UNRESPONSIVE");
    expect(kinds(gone)).toContain("owner-rule");
    const noRule = { mode: "observe", heartbeat: { restart_on_missed_beats: false } } as const;
    expect(kinds(falls("40s", noRule))).toEqual(["absence"]);
    expect(kinds(falls("40s", stops, null))).toEqual(["absence"]);
    const late = falls("10s");
    expect(late.agent.finding("missed-beats")?.level).toBe("degraded");
    expect(kinds(late)).toEqual(["absence"]);
    const unseen = falls("0s");
    unseen.agent.silentFor("60s");
    expect(unseen.agent.finding("missed-beats")?.level).toBe("unresponsive");
    expect(kinds(unseen)).not.toContain("owner-rule");
  });

  it("an owner's rule about idleness or repeated errors is about what is certain, not about a suspicion", () => {
    const terminal = { auto_kill_on_idle: true, auto_kill_on_repeated_error: true, idle_timeout_minutes: 15 };
    const unseen = heldStory({ processes: "unknown", settings: { mode: "observe", terminal } });
    unseen.prints();
    unseen.passes("40m");
    expect(unseen.agent.finding("no-output")?.level).toBe("degraded");
    expect(kinds(unseen)).toEqual(["absence"]);
    const tests = heldStory({ processes: "busy", settings: { mode: "observe", terminal } });
    for (let i = 0; i < 9; i++) {
      tests.prints(8);
      tests.shows(error);
      tests.passes("1m");
    }
    expect(tests.agent.finding("repeated-error")).toMatchObject({ level: "degraded" });
    expect(kinds(tests)).toEqual([]);
    const { record, policy } = tests.agent;
    expect(record.health.findings.filter((finding) => isRuledByOwner(record, finding, policy))).toEqual([]);
  });

  it("an owner's rule about idleness is one, whether it stands in the policy or was said when the agent was started", () => {
    const idles = (given: HeldGiven) =>
      kinds(goesQuiet({ ...given, settings: { mode: "observe", ...given.settings } }));
    expect(idles({})).toEqual(["absence"]);
    expect(idles({ settings: { terminal: { auto_kill_on_idle: true } } })).toEqual(["absence", "owner-rule"]);
    expect(idles({ hold: { idleKillMs: 600_000 } })).toEqual(["absence", "owner-rule"]);
  });

  it("quiet processes are none where nothing else was found", () => {
    const held = heldStory();
    held.prints();
    held.passes("10m");
    expect(held.agent.record.health.findings).toEqual([]);
    expect(kinds(held)).toEqual([]);
  });

  it("of processes seen only once, or no longer, is none", () => {
    const once = heldStory({ processes: "unknown" });
    once.passes("5m");
    once.processesAre("quiet");
    once.passes("10s");
    once.agent.beats(failing);
    expect(kinds(once)).toEqual(["explicit-error"]);
    const noLonger = heldStory();
    noLonger.passes("5m");
    noLonger.processesAre("unknown");
    noLonger.passes("3m");
    noLonger.agent.beats(failing);
    expect(kinds(noLonger)).toEqual(["explicit-error"]);
  });

  it("of work that goes on is none, whatever is missing of it", () => {
    const settings = { mode: "observe", terminal: { idle_timeout_minutes: 600 } } as const;
    const says = { lastCheckpoint: "c1", progressIndicator: "1", tokenCount: 5, toolCallCount: 2 };
    const builds = heldStory({ processes: "busy", settings });
    builds.agent.beats(says);
    for (let i = 0; i < 40; i++) {
      builds.passes("1m");
      builds.agent.beats(says);
    }
    expect(builds.agent.record.health.findings.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["stale-checkpoint", "no-progress", "no-tool-call", "zero-tokens"]),
    );
    expect(kinds(builds)).toEqual([]);
    const writes = heldStory({ processes: "busy", settings });
    writes.agent.beats(says);
    for (let i = 0; i < 40; i++) {
      writes.passes("1m");
      writes.agent.beats(says);
      writes.prints(3);
    }
    expect(writes.agent.finding("stale-checkpoint")?.text).toContain("other work goes on");
    expect(kinds(writes)).toEqual([]);
    const tests = heldStory({ processes: "busy", settings });
    for (let i = 0; i < 9; i++) {
      tests.prints(8);
      tests.shows(error);
      tests.passes("1m");
    }
    expect(tests.agent.finding("repeated-error")).toMatchObject({ level: "degraded" });
    expect(kinds(tests)).toEqual([]);
  });

  it("an agent's own word is one kind, however many things it says in one beat", () => {
    const held = heldStory({ processes: "busy" });
    held.passes("5m");
    held.agent.beats({ status: "DEGRADED", ...failing });
    expect(held.agent.record.health.findings.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["consecutive-failures", "self-reported"]),
    );
    expect(kinds(held)).toEqual(["explicit-error"]);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("spending fast is none: it is the opposite of standing still", () => {
    const held = heldStory({ processes: "busy" });
    for (let i = 0; i < 12; i++) {
      held.agent.beats({ tokenCount: 1000 * i });
      held.passes("1m");
      held.prints(3);
    }
    held.agent.beats({ tokenCount: 200_000, ...failing });
    expect(held.agent.finding("token-spike")).toBeDefined();
    expect(kinds(held)).toEqual(["explicit-error"]);
    expect(held.agent.did("stop-agent")).toEqual([]);
  });

  it("that our own doubt holds down is none", () => {
    const held = heldStory({ preset: "fleet", doubt: { peers: 5, peersHeardAt: null } });
    held.agent.beats();
    held.passes("25s");
    expect(held.agent.finding("missed-beats")).toMatchObject({ level: "degraded", restrainedBy: "unwitnessed" });
    expect(kinds(held)).toEqual([]);
  });

  it("from before a nudge is none after it", () => {
    const held = heldStory({ hold: { input: "stdin" } });
    held.prints();
    repeatsError(held, 4);
    held.shows(error);
    expect(held.agent.told("NUDGE_SENT")).toHaveLength(1);
    held.passes("10s");
    expect(held.agent.state).toBe("STUCK");
    expect(kinds(held)).toEqual([]);
    expect(kinds(goesQuiet())).toEqual(["absence"]);
  });

  it("that nothing is seen is one kind, however many eyes miss something", () => {
    const held = heldStory({ preset: "default", settings: { mode: "observe" } });
    held.agent.beats({ lastCheckpoint: "c1", progressIndicator: "1", tokenCount: 5, toolCallCount: 2 });
    held.agent.beats({ lastCheckpoint: "c2", progressIndicator: "2", tokenCount: 6, toolCallCount: 3 });
    held.prints();
    held.passes("2h");
    const found = held.agent.record.health.findings.filter(({ level }) => level !== "note").map(({ kind }) => kind);
    expect(found).toEqual(
      expect.arrayContaining(["missed-beats", "no-progress", "no-output", "no-tool-call", "zero-tokens"]),
    );
    expect(kinds(held)).toEqual(["absence"]);
  });

  it("a loop says by itself that nothing is new; failures of one kind and another do not", () => {
    const takes = (steps: number, call: (i: number) => string, failed: boolean) => {
      const held = heldStory({ processes: "busy", settings: { mode: "observe" } });
      for (let i = 0; i < steps; i++) {
        held.agent.take({ kind: "stepped", events: [{ kind: "tool_call", tool: "shell", args_digest: call(i) }] });
        const kind = failed ? ("error" as const) : ("tool_result" as const);
        held.agent.take({ kind: "stepped", events: [{ kind, text_digest: call(i) }] });
        held.passes("10s");
      }
      return held;
    };
    expect(kinds(takes(7, () => "same", false))).toEqual(["absence", "repetition"]);
    const varied = takes(10, (i) => `call ${i}`, true);
    expect(varied.agent.record.health.findings.map(({ kind, level }) => `${kind}:${level}`)).toContain(
      "error-streak:stuck",
    );
    expect(kinds(varied)).toEqual(["repetition"]);
  });

  it("a nudge that the agent itself has read and did nothing about is one; read by a timer, or not yet in time, it is none", () => {
    const ignores = (seenBy: "agent" | "program") => {
      const held = heldStory({ hold: { input: "none" }, settings: { terminal: { idle_timeout_minutes: 5 } } });
      held.prints();
      for (let i = 0; i < 40 && held.agent.told("NUDGE_SENT").length === 0; i++) {
        held.passes("1m");
        held.agent.beats();
      }
      const seen = [held.agent.told("NUDGE_SENT")[0]?.nudge ?? "none"];
      held.agent.beats({ seen, seenBy });
      return held;
    };
    const read = ignores("agent");
    expect(read.agent.told("NUDGE_SEEN")).toHaveLength(1);
    expect(kinds(read)).not.toContain("unanswered-nudge");
    const later = (held: HeldStory) =>
      kindsOfEvidence(held.agent.record, { ...held.agent.context, now: held.agent.now + 600_000 });
    expect(later(read)).toContain("unanswered-nudge");
    expect(later(ignores("program"))).not.toContain("unanswered-nudge");
  });

  it("more memory than its owner allows is one, and not enough alone", () => {
    const held = heldStory({ processes: "busy", settings: { health_check: { memory_limit_mb: 100 } } });
    held.processesShow({ memoryBytes: 200 * 1024 * 1024 });
    held.passes("10s");
    expect(held.agent.finding("memory-limit")).toMatchObject({ level: "failing" });
    expect(kinds(held)).toEqual(["resource"]);
    expect(held.agent.did("save-work")).toEqual([]);
  });

  it("a note is none: one late beat adds nothing to what speaks against an agent", () => {
    const settings = { health_check: { memory_limit_mb: 100 } };
    const held = heldStory({ processes: "busy", obedient: true, settings });
    for (let i = 0; i < 6; i++) {
      held.agent.beats();
      held.passes("4m");
    }
    held.agent.beats();
    held.passes("330s");
    expect(held.agent.finding("missed-beats")?.level).toBe("note");
    held.processesShow({ memoryBytes: 200 * 1024 * 1024 });
    held.passes("20s");
    expect(kinds(held)).toEqual(["resource"]);
    expect(held.agent.did("save-work")).toEqual([]);
  });

  it("a line after a nudge is no receipt of it: a poller that says the same again has read nothing", () => {
    const held = heldStory({ hold: { input: "stdin" }, obedient: true });
    held.agent.beats({ progressIndicator: "1", toolCallCount: 2, tokenCount: 5 });
    held.agent.beats({ progressIndicator: "2", toolCallCount: 3, tokenCount: 6 });
    held.prints();
    for (let i = 0; i < 180; i++) {
      held.passes("1m");
      held.shows({ kind: "output", rows: 1, novel: 0 });
    }
    expect(held.agent.told("NUDGE_SENT").length).toBeGreaterThan(0);
    expect(held.agent.told("NUDGE_SEEN")).toEqual([]);
    expect(held.agent.did("save-work")).toEqual([]);
  });
});
