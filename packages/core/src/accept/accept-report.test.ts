import type { AgentFamily, HolderInfo } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "../held-story.test-support.ts";
import { fateOfWork } from "../recover/fate-of-work.ts";
import { story } from "../story.test-support.ts";
import { workedUntil } from "./work-clock.ts";

describe("a holder", () => {
  it("that keeps a terminal is told once, also when it says so again", () => {
    const held = heldStory();
    held.agent.take({ kind: "held", hold: held.holdOf(), adopted: false });
    expect(held.agent.events.filter(({ type }) => type === "AGENT_HELD")).toEqual([
      { type: "AGENT_HELD", payload: { agentId: "worker-1", incarnation: 1, pid: 4242, adopted: false } },
    ]);
  });

  it("found again by a monitor that was away goes on where it was", () => {
    const held = heldStory();
    held.prints(3);
    held.agent.take({ kind: "held", hold: held.holdOf(), adopted: true });
    expect(held.agent.record.seen.terminal).toMatchObject({ novel: 3, lastReport: 1 });
    expect(held.agent.events.at(-1)).toMatchObject({ type: "AGENT_HELD", payload: { adopted: true } });
  });

  it("tells by what its agent's processes are known, also when only a monitor that comes later hears it", () => {
    const identity = { startTicks: 77, mark: "m", cgroup: null };
    const told = heldStory({ hold: { identity } });
    expect(told.agent.record.seen.terminal?.identity).toEqual(identity);
    const late = heldStory();
    expect(late.agent.record.seen.terminal?.identity).toBeUndefined();
    late.agent.take({ kind: "held", hold: late.holdOf({ identity }), adopted: true });
    late.agent.take({ kind: "held", hold: late.holdOf(), adopted: true });
    expect(late.agent.record.seen.terminal?.identity).toEqual(identity);
  });

  it("with another process in the same life is another terminal: it is told, and its reports count from the first", () => {
    const held = heldStory();
    for (let n = 0; n < 3; n++) held.prints();
    held.agent.take({ kind: "held", hold: held.holdOf({ pid: 4343 }), adopted: false });
    expect(held.agent.told("AGENT_HELD").map(({ pid }) => pid)).toEqual([4242, 4343]);
    expect(held.agent.record.seen.terminal).toMatchObject({ pid: 4343, novel: 0 });
    expect(held.report([], { seq: 1 }).reply).toMatchObject({ status: "accepted", sequenceNumber: 1 });
  });

  it("of an older life is not listened to", () => {
    const held = heldStory();
    const { signal } = held.prints();
    held.exits({ code: 1 });
    held.startsAgain();
    const before = held.agent.record;
    expect(held.agent.take({ ...signal, report: { ...signal.report, seq: 99 } }).reply).toMatchObject({
      status: "rejected",
      because: "old-incarnation",
    });
    expect(held.agent.take({ kind: "held", hold: held.holdOf({ incarnation: 1 }), adopted: true }).reply?.status).toBe(
      "rejected",
    );
    expect(held.agent.record).toEqual(before);
  });

  it("hears that a report was taken, and that one it repeats was taken before", () => {
    const held = heldStory();
    const { signal, reply } = held.prints();
    expect(reply).toMatchObject({ status: "accepted", sequenceNumber: 1 });
    expect(held.agent.take(signal).reply).toMatchObject({ status: "duplicate", because: "seen-before" });
    expect(held.agent.record.seen.terminal?.novel).toBe(1);
  });

  it("brings the task it was started for, assigned now", () => {
    const held = heldStory({ taskId: "t1" });
    held.passes("1m");
    held.exits({ code: 1 });
    held.agent.take({ kind: "held", hold: held.holdOf({ incarnation: 2, taskId: "t2" }), adopted: false });
    expect(held.agent.record).toMatchObject({ task: { id: "t2", assignedAt: held.agent.now } });
  });
});

describe("a person at an agent's terminal", () => {
  const comings = ({ agent }: ReturnType<typeof heldStory>) =>
    agent.events.flatMap(({ type, payload }) =>
      type === "AGENT_ATTACHED" || type === "AGENT_DETACHED" ? [`${type} ${payload.attached}`] : [],
    );

  it("is told of when they come and when they go, and not in between", () => {
    const held = heldStory();
    for (const terminals of [1, 1, 2, 0, 0]) held.personAttaches(terminals);
    expect(comings(held)).toEqual(["AGENT_ATTACHED 1", "AGENT_ATTACHED 2", "AGENT_DETACHED 0"]);
  });

  it("who started it there did not come, and does not leave when the agent ends", () => {
    const piped = heldStory({ hold: { foreground: true } });
    piped.personAttaches(0);
    expect(comings(piped)).toEqual([]);
    const held = heldStory({ hold: { foreground: true } });
    held.prints();
    held.exits({ code: 0 });
    expect(comings(held)).toEqual([]);
  });
});

describe("a holder that is lost", () => {
  it("while the process lives is a warning that somebody hears of", () => {
    const held = heldStory();
    held.prints();
    held.holderIsLost("alive");
    held.holderIsLost("alive");
    expect(held.agent.past).toEqual(["0s DEGRADED"]);
    expect(held.agent.reason).toBe("holder-lost");
    expect(held.agent.eventTypes().filter((type) => type === "HOLDER_LOST")).toHaveLength(1);
    expect(held.agent.actions).toEqual([expect.objectContaining({ kind: "raise-alert", severity: "warning" })]);
  });

  it("says why it is of no use, and again when that is another reason", () => {
    const held = heldStory();
    const { incarnation } = held.agent.record.life;
    const loss = { kind: "holder-lost", incarnation, process: "alive", exit: null } as const;
    for (const because of ["silent", "other-store", "other-store"] as const) held.agent.take({ ...loss, because });
    expect(held.agent.eventTypes().filter((type) => type === "HOLDER_LOST")).toHaveLength(2);
    expect(held.agent.events.findLast(({ type }) => type === "HOLDER_LOST")?.payload).toMatchObject({
      process: "alive",
      because: "other-store",
    });
    const [finding] = held.agent.record.health.findings;
    expect(finding).toMatchObject({ kind: "holder-lost", text: expect.stringContaining("another database") });
    held.report([]);
    held.holderIsLost("alive");
    expect(held.agent.record.health.findings[0]?.text).toContain("is gone");
  });

  it("is told also when it was a warning already", () => {
    const held = heldStory({ processes: "busy" });
    held.prints();
    held.passes("20m");
    expect(held.agent.actions).toEqual([]);
    held.holderIsLost("alive");
    expect(held.agent.actions).toEqual([expect.objectContaining({ kind: "raise-alert" })]);
    expect(held.agent.record.health.alert?.cause).toBe("holder-lost");
  });

  it("sees no output, so that none is held against the agent, nor after it returned", () => {
    const held = heldStory();
    held.prints();
    for (let i = 0; i < 60; i++) {
      held.holderIsLost("alive");
      held.agent.beats();
      held.agent.silentFor("1m");
    }
    expect(held.agent.record.health.findings.map(({ kind }) => kind)).toEqual(["holder-lost"]);
    held.report([]);
    held.passes("9m");
    expect(held.agent.past).toEqual(["0s DEGRADED", "3600s HEALTHY"]);
    expect(held.agent.eventTypes()).toContain("ALERT_RESOLVED");
  });

  it("with its process in a former life says nothing of the life that is there", () => {
    const held = heldStory();
    held.exits({ code: 1 });
    held.startsAgain();
    const before = held.agent.record;
    held.agent.take({ kind: "holder-lost", incarnation: 1, process: "gone", exit: null });
    expect(held.agent.record).toEqual(before);
  });

  it("then the process as well: it is gone, and nobody saw how it ended", () => {
    const held = heldStory();
    held.holderIsLost("alive");
    held.passes("1m");
    held.holderIsLost("gone");
    expect(held.agent.past).toEqual(["0s DEGRADED", "60s UNRESPONSIVE"]);
    expect(held.agent.finding("process-exited")).toMatchObject({ confidence: 0.9, evidence: { cause: "unseen" } });
    held.holderIsLost("gone");
    expect(held.agent.eventTypes().filter((type) => type === "PROCESS_EXITED")).toHaveLength(1);
  });

  it("but left word of the end: that word counts", () => {
    const held = heldStory();
    held.holderIsLost("gone", { code: 0, signal: null, cause: "by-itself" });
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(held.agent.past).toEqual([]);
  });
});

describe("processes that are left when the agent's own is over", () => {
  const server = [{ pid: 7, name: "app-server" }];

  it("are told once, and it has not finished, whatever it said", () => {
    const held = heldStory();
    held.shows({ kind: "completed", pattern: "m" });
    held.report([], { leftovers: server });
    held.report([], { leftovers: server });
    held.passes("1m");
    expect(held.agent.told("AGENT_LEFT_PROCESSES")).toEqual([{ agentId: "worker-1", processes: server }]);
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "children" });
    expect(held.agent.record.seen.terminal?.leftovers?.processes).toEqual(server);
  });

  it("ask nobody what the agent's own process asked: there is none to answer any more", () => {
    const held = heldStory({ hold: { family: "codex" } });
    held.shows({ kind: "asks", what: "trust", pattern: "p" });
    held.report([], { leftovers: server });
    held.report([], { leftovers: server });
    expect(held.agent.record.seen.terminal?.asks).toBeNull();
    expect(held.agent.told("AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
  });

  it("owe nobody output: a server that is quiet for a day makes nobody ill", () => {
    const held = heldStory({ taskId: "t1" });
    held.report([], { leftovers: server });
    held.passes("24h");
    expect(held.agent.past).toEqual([]);
    expect(held.agent.actions).toEqual([]);
  });

  it("and end: the end is the one it had", () => {
    const held = heldStory();
    held.report([], { leftovers: server });
    held.exits({ code: 0 });
    expect(held.agent.record.seen.terminal?.leftovers).toBeNull();
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
  });

  it("are ended by an order of a person, also when its end is known", () => {
    for (const exit of [null, { code: 3, signal: null, cause: "by-itself" } as const]) {
      const held = heldStory();
      held.report([], { leftovers: server, exit });
      held.isOrdered("stop");
      expect(held.agent.did("stop-agent")).toMatchObject([{ key: "order-1", spends: false }]);
    }
  });

  it.each([
    ["end", "act", 1],
    ["tell", "act", 0],
    ["end", "assist", 0],
    ["end", "observe", 0],
  ] as const)("with on_leftovers: %s and mode: %s are ended %s times after ten seconds", (rule, mode, times) => {
    const held = heldStory({ settings: { mode, terminal: { on_leftovers: rule } } });
    held.report([], { leftovers: server });
    held.passes("9s");
    expect(held.agent.did("stop-agent")).toEqual([]);
    held.passes("1s");
    held.report([], { leftovers: server });
    held.passes("1m");
    expect(held.agent.did("stop-agent")).toHaveLength(times);
  });

  it("with on_leftovers: end are left alone while everything is frozen, or it is protected", () => {
    for (const given of [{ doubt: { frozen: true } }, { settings: { protected: true } }]) {
      const { settings = {}, ...rest } = given as { settings?: object };
      const held = heldStory({ ...rest, settings: { ...settings, terminal: { on_leftovers: "end" } } });
      held.report([], { leftovers: server });
      held.passes("1m");
      held.report([], { leftovers: server });
      expect(held.agent.actions).toEqual([]);
    }
  });
});

describe("the end of a process", () => {
  it("with status 0 is the end of the work: HEALTHY, finished, not started again", () => {
    const held = heldStory();
    held.prints();
    held.exits({ code: 0 });
    held.passes("2h");
    expect(held.agent.past).toEqual([]);
    expect(held.agent.reason).not.toBe("process-exited");
    expect(held.agent.eventTypes()).toEqual(["AGENT_HELD", "PROCESS_EXITED", "AGENT_FINISHED"]);
    expect(held.agent.actions).toEqual([]);
  });

  it("is not undone by what it said before and comes late: it has finished, and is not brought back", () => {
    const held = heldStory({ taskId: "t1" });
    held.agent.beats({ sequenceNumber: 1, status: "RUNNING" });
    held.exits({ code: 0 });
    held.agent.beats({ sequenceNumber: 2, status: "RUNNING", progressIndicator: "almost" });
    held.agent.take({ kind: "stepped", events: [{ kind: "tool_call", tool: "shell", args_digest: "a" }] });
    held.passes("2h");
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(held.agent.past).toEqual([]);
    expect(held.agent.did("restart-agent")).toEqual([]);
  });

  it("with status 1 by itself is UNRESPONSIVE, with a critical alert", () => {
    const held = heldStory();
    held.exits({ code: 1 });
    expect(held.agent.past).toEqual(["0s UNRESPONSIVE"]);
    expect(held.agent.record.health.findings.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      "process-exited: its process ended with status 1",
    ]);
    expect(held.agent.actions[0]).toMatchObject({ kind: "raise-alert", severity: "critical" });
  });

  it("with status 0 after its own stream said that its turn failed is not the end of the work", () => {
    const held = heldStory({ hold: { structured: true } });
    held.shows({ kind: "turn-ended", outcome: "failure", reason: "loop detected" });
    held.exits({ code: 0 });
    expect(held.agent.record.work.activity.kind).not.toBe("FINISHED");
    expect(held.agent.past).toEqual(["0s UNRESPONSIVE"]);
    expect(held.agent.finding("process-exited")?.text).toBe(
      "its process ended with status 0, after its turn failed (loop detected)",
    );
  });

  it.each([
    { kind: "context-limit", pattern: "prompt is too long" },
    { kind: "rate-limited", pattern: "usage limit", what: "usage", resetsInMs: 3_600_000, by: "stream" },
  ] as const)("of a script with status 0 is the end of the work, whatever failed in it (%j)", (sight) => {
    const held = heldStory({ taskId: "t1" });
    held.report([sight, { kind: "turn-ended", outcome: "failure", reason: "invalid_request" }], {
      family: "claude-code",
    });
    const before = held.agent.record;
    held.exits({ code: 0 });
    expect(fateOfWork(before, held.agent.record)).toEqual({ kind: "completed" });
    held.passes("8h");
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(held.agent.did("restart-agent")).toEqual([]);
    expect(held.agent.past).not.toContainEqual(expect.stringContaining("UNRESPONSIVE"));
  });

  it.each([{ code: 3 }, { signal: "SIGSEGV", cause: "by-itself" }] as const)(
    "in a person's terminal is no incident: they saw it (%j)",
    (exit) => {
      const held = heldStory({ hold: { foreground: true, family: "claude-code" }, taskId: "t1" });
      held.shows({ kind: "rate-limited", pattern: "limit", what: "usage", resetsInMs: 3_600_000, by: "stream" });
      const before = held.agent.record;
      held.exits(exit);
      expect(fateOfWork(before, held.agent.record)).toEqual({ kind: "released", because: "agent-stopped" });
      held.passes("8h");
      expect(held.agent.finding("process-exited")).toMatchObject({ level: "note" });
      expect(held.agent.eventTypes()).not.toContain("INCIDENT_OPENED");
      expect(held.agent.eventTypes()).not.toContain("AGENT_FINISHED");
      expect(held.agent.actions).toEqual([]);
      expect(held.agent.past).toEqual([]);
    },
  );

  it.each([{ code: 0 }, { code: 130, cause: "person" }] as const)(
    "in a person's terminal while what it started works on is not the end of the work (%j)",
    (exit) => {
      const held = heldStory({ hold: { foreground: true } });
      const leftovers = [{ pid: 77, name: "codex" }];
      held.report([], { exit: { signal: null, cause: "by-itself", ...exit }, leftovers });
      held.passes("2h");
      expect(held.agent.eventTypes()).toEqual(["AGENT_HELD", "AGENT_LEFT_PROCESSES", "PROCESS_EXITED"]);
      expect(held.agent.record.seen.terminal?.leftovers?.processes).toEqual(leftovers);
      expect(held.agent.past).toEqual([]);
    },
  );

  it("in a person's terminal is the end of the work once nobody is left of it, and not before", () => {
    const held = heldStory({ hold: { foreground: true } });
    const nobodyLeft = (incarnation: number) => held.agent.take({ kind: "leftovers-gone", incarnation });
    nobodyLeft(1);
    expect(held.agent.record.work.activity.kind).not.toBe("FINISHED");
    const exit = { code: 0, signal: null, cause: "by-itself" } as const;
    held.report([], { exit, leftovers: [{ pid: 77, name: "codex" }] });
    nobodyLeft(2);
    expect(held.agent.record.work.activity.kind).not.toBe("FINISHED");
    nobodyLeft(1);
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(held.agent.record.seen.terminal?.leftovers).toBeNull();
    expect(held.agent.eventTypes()).toContain("AGENT_FINISHED");
  });

  it("in a person's terminal that failed is no end of the work, also when nobody is left of it", () => {
    const held = heldStory({ hold: { foreground: true } });
    const exit = { code: 3, signal: null, cause: "by-itself" } as const;
    held.report([], { exit, leftovers: [{ pid: 77, name: "codex" }] });
    held.agent.take({ kind: "leftovers-gone", incarnation: 1 });
    expect(held.agent.record.work.activity.kind).not.toBe("FINISHED");
    expect(held.agent.record.seen.terminal?.leftovers).toBeNull();
  });

  describe("with status 0 of one that announced the completion marker", () => {
    const announced = (hold: Partial<HolderInfo> = {}) =>
      heldStory({ taskId: "t1", hold: { announcesMarker: true, ...hold } });

    it("has not finished without it: it is said so, and its task is kept for its next life", () => {
      const held = announced();
      held.prints();
      const before = held.agent.record;
      held.exits({ code: 0 });
      expect(held.agent.record.work.activity.kind).not.toBe("FINISHED");
      expect(held.agent.record.health.findings).toMatchObject([
        { text: "its process ended with status 0 without the completion marker it announced" },
      ]);
      expect(fateOfWork(before, held.agent.record)).toMatchObject({ kind: "recovering" });
      const failed = announced();
      failed.exits({ code: 7 });
      expect(failed.agent.record.health.findings).toMatchObject([{ text: "its process ended with status 7" }]);
    });

    it("has finished with it", () => {
      const held = announced();
      held.shows({ kind: "output", rows: 1, novel: 1 }, { kind: "completed", pattern: "completion marker" });
      held.exits({ code: 0 });
      expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    });

    it("is not said to lack it where it wrote it, and only what it left keeps it from being finished", () => {
      const held = announced({ foreground: true });
      held.shows({ kind: "output", rows: 1, novel: 1 }, { kind: "completed", pattern: "completion marker" });
      const exit = { code: 0, signal: null, cause: "by-itself" } as const;
      held.report([], { exit, leftovers: [{ pid: 77, name: "codex" }] });
      expect(held.agent.record.health.findings).toMatchObject([{ text: "its process ended with status 0" }]);
    });

    it("gives its task back where nothing is started again, or a person ran it", () => {
      for (const hold of [{ restart: { when: "no" } as const }, { foreground: true }]) {
        const held = announced(hold);
        const before = held.agent.record;
        held.exits({ code: 0 });
        expect(fateOfWork(before, held.agent.record)).toMatchObject({ kind: "released" });
        expect(held.agent.state).toBe("HEALTHY");
      }
    });

    it("by a person's hand has finished all the same", () => {
      const held = announced();
      held.exits({ code: 0, cause: "person" });
      expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    });
  });

  it("in a person's terminal ends what they were called for", () => {
    const held = heldStory({ hold: { foreground: true } });
    held.prints();
    held.passes("2h");
    expect(held.agent.state).toBe("STUCK");
    held.exits({ code: 1 });
    expect(held.agent.state).toBe("HEALTHY");
    expect(held.agent.record).toMatchObject({ ladder: { incident: null }, health: { alert: null } });
    expect(held.agent.told("INCIDENT_CLOSED").at(-1)).toMatchObject({ ending: "recovered", because: "ended" });
  });

  it("in a person's terminal ends what nobody answered about it", () => {
    const settings = { intervention: { escalation: { timeout_seconds: 300 } } };
    const held = heldStory({ settings, hold: { foreground: true } });
    held.prints();
    held.agent.take({ kind: "escalation-ordered", actor: "operator" });
    held.passes("6m");
    expect(held.agent.record.ladder.handedOver).toMatchObject({ because: "nobody-answered", asked: true });
    held.exits({ code: 7 });
    expect(held.agent.record).toMatchObject({ ladder: { incident: null, handedOver: null }, health: { alert: null } });
  });

  it.each([{ code: 0 }, { code: 130 }])("by a person's hand does not make it well: they ended it (%j)", (exit) => {
    const held = heldStory({ hold: { foreground: true } });
    held.prints();
    held.passes("2h");
    expect(held.agent.state).toBe("STUCK");
    held.exits({ ...exit, cause: "person" });
    held.passes("10m");
    expect(held.agent.record).toMatchObject({
      ladder: { incident: null },
      health: { alert: null },
      work: { activity: { kind: "FINISHED" } },
    });
    expect(held.agent.told("INCIDENT_CLOSED")).toMatchObject([
      { ending: "handed-to-a-person", because: "ended-by-person" },
    ]);
    expect(held.agent.eventTypes()).not.toContain("AGENT_RECOVERED");
  });

  it("with a full context says so, instead of what its program calls that", () => {
    const ended = (family: AgentFamily) => {
      const held = heldStory({ hold: { structured: true, family } });
      held.shows({ kind: "context-limit", pattern: "result" });
      held.shows({ kind: "turn-ended", outcome: "failure", reason: "invalid_request" });
      return held;
    };
    const textOf = (held: HeldStory) => {
      held.exits({ code: 1 });
      return held.agent.finding("process-exited")?.text;
    };
    expect(textOf(ended("claude-code"))).toBe("its process ended with status 1, after it reached its context limit");
    expect(textOf(ended("generic"))).toBe("its process ended with status 1, after its turn failed (invalid_request)");
    const behindIt = ended("claude-code");
    behindIt.shows({ kind: "model-asked" });
    for (let n = 0; n < 10; n++) {
      behindIt.passes("1m");
      behindIt.prints();
    }
    expect(textOf(behindIt)).toBe("its process ended with status 1");
    const compacted = ended("claude-code");
    compacted.shows({ kind: "compacts", over: true });
    compacted.shows({ kind: "turn-ended", outcome: "failure", reason: "other" });
    expect(textOf(compacted)).toBe("its process ended with status 1, after its turn failed (other)");
  });

  it.each([
    [{ kind: "turn-ended", outcome: "success", reason: "success" }],
    [{ kind: "model-asked" }],
    [{ kind: "said", digest: "d" }],
    [{ kind: "tool-started", id: "1", name: "Bash", argsDigest: "a", timeoutSeconds: null }],
  ] as const)("with status 0 after it went on from a failed turn is the end of the work (%j)", (next) => {
    const held = heldStory({ hold: { structured: true } });
    held.shows({ kind: "turn-ended", outcome: "failure", reason: "loop detected" });
    held.shows(next);
    held.exits({ code: 0 });
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
  });

  it("by somebody's signal names it", () => {
    const held = heldStory();
    held.exits({ signal: "SIGKILL", cause: "killed" });
    expect(held.agent.finding("process-exited")?.text).toBe("its process was ended by SIGKILL");
  });

  it("by a person's own hand is their decision", () => {
    const held = heldStory();
    held.exits({ code: 130, cause: "person" });
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(held.agent.actions).toEqual([]);
  });

  it("with status 1 after the completion marker is still the end of the work", () => {
    const held = heldStory();
    held.shows({ kind: "completed", pattern: "m" });
    held.exits({ code: 1 });
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(held.agent.past).toEqual([]);
  });

  it("and one whose beats went on after the marker has finished as well", () => {
    const held = heldStory();
    held.shows({ kind: "completed", pattern: "m" });
    held.agent.beats();
    held.exits({ code: 1 });
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
  });

  it("by our own stop is not the end of the work, even with status 0", () => {
    const held = heldStory();
    held.exits({ code: 0, cause: "stopped" });
    expect(held.agent.state).toBe("TERMINATED");
    expect(held.agent.eventTypes()).not.toContain("AGENT_FINISHED");
  });

  it("by a person's stop is TERMINATED, and the alert is taken back", () => {
    const held = heldStory();
    held.prints();
    held.passes("16m");
    held.isOrdered("stop");
    held.exits({ signal: "SIGTERM", cause: "stopped" });
    held.handsStopped("order-1");
    expect(held.agent.past).toEqual(["900s STUCK", "960s TERMINATED"]);
    expect(held.agent.reason).toBe("terminated");
    expect(held.agent.did("raise-alert")).toHaveLength(1);
    expect(held.agent.did("resolve-alert")).toHaveLength(1);
    expect(held.agent.record.health.alert).toBeNull();
  });

  it("is told once, and what trails in after it changes nothing", () => {
    const held = heldStory();
    held.shows({ kind: "completed", pattern: "m" });
    held.exits({ code: 1 });
    held.report([{ kind: "output", rows: 9, novel: 9 }], { exit: { code: 1, signal: null, cause: "by-itself" } });
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
    expect(held.agent.eventTypes().filter((type) => type === "PROCESS_EXITED")).toHaveLength(1);
  });

  it("nobody saw is corrected when its holder turns up with the truth", () => {
    const held = heldStory();
    held.holderIsLost("gone");
    held.exits({ code: 0 });
    expect(held.agent.past).toEqual(["0s UNRESPONSIVE", "0s HEALTHY"]);
  });

  it("happened when the holder saw it, however late it is told", () => {
    const held = heldStory();
    held.passes("10m");
    held.report([], { exit: { code: 1, signal: null, cause: "by-itself" } }, 300_000);
    expect(held.agent.record.seen.terminal?.exit?.at).toBe(held.agent.now - 300_000);
  });
});

describe("a process that waits in a read of its terminal", () => {
  it("wants something typed, whatever its question looks like, and is left alone until it has it", () => {
    const held = heldStory();
    held.prints();
    held.processesShow({ readsTerminal: true });
    held.passes("20s");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "WAITING", for: "input" });
    expect(held.agent.told("AGENT_NEEDS_YOU")).toMatchObject([{ what: "input" }]);
    held.passes("5h");
    expect(held.agent.told("INCIDENT_OPENED")).toEqual([]);
    held.processesShow({ readsTerminal: false });
    held.passes("10s");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING" });
    expect(held.agent.told("AGENT_NEEDS_YOU_NO_MORE")).toHaveLength(1);
  });

  it("wants nothing where it is spoken to in a stream: that is how it waits for its next message", () => {
    const held = heldStory({ hold: { structured: true } });
    held.shows({ kind: "said", digest: "d" });
    held.processesShow({ readsTerminal: true });
    held.passes("20s");
    expect(held.agent.record.work.activity).toMatchObject({ kind: "RUNNING", open: null });
    expect(held.agent.told("AGENT_NEEDS_YOU")).toEqual([]);
  });

  it("for a moment only asks for nothing", () => {
    const held = heldStory();
    held.prints();
    held.processesShow({ readsTerminal: true });
    held.passes("10s");
    held.processesShow({ readsTerminal: false });
    held.passes("1m");
    expect(held.agent.told("AGENT_NEEDS_YOU")).toEqual([]);
  });
});

it("a job at 14 % of a core is at work, a spinner is not", () => {
  const uses = (share: number) => {
    const held = heldStory();
    held.prints();
    for (let i = 1; i <= 120; i++) {
      held.processesShow({ cpuMs: 100 + i * share * 10_000 });
      held.passes("10s");
    }
    return held.agent.finding("no-output")?.level;
  };
  expect(uses(0.14)).toBe("degraded");
  expect(uses(0.03)).toBe("stuck");
});

it("work in the children of an open tool that is heard of too late to hold the clock is not counted twice", () => {
  const held = heldStory({ hold: { structured: true }, settings: { mode: "observe" } });
  held.shows({ kind: "tool-started", id: "t", name: "build", argsDigest: "a", timeoutSeconds: null });
  held.passes("15m");
  // The holder is not heard for a while; the agent itself is.
  for (let i = 0; i < 3; i++) {
    held.agent.silentFor("4m");
    held.agent.beats();
  }
  const worked = () => workedUntil(held.agent.record.work.clock, held.agent.now);
  const before = worked();
  held.processesShow({ cpuMs: 1_000_000 });
  held.report([], {}, 11 * 60_000);
  expect(held.agent.record.seen.terminal?.tree?.busyAt).toBe(held.agent.now - 11 * 60_000);
  expect(worked()).toBe(before);
});

describe("a held agent that says by its beats that it has finished, while its process lives", () => {
  const says = { status: "FINISHED" } as const;

  it("is believed when nothing follows", () => {
    const held = heldStory();
    held.prints();
    held.agent.beats(says);
    expect(held.agent.record.work.activity.kind).toBe("RUNNING");
    held.passes("40s");
    expect(held.agent.record.work.activity.kind).toBe("FINISHED");
  });

  it("is watched like any other when it goes on to fail, however often it says so", () => {
    const held = heldStory();
    held.prints();
    for (let i = 0; i < 6; i++) {
      held.agent.beats(says);
      held.shows({ kind: "output", rows: 1, novel: 0 }, { kind: "error", pattern: "e", digest: "e", text: "e" });
      held.passes("1m");
    }
    expect(held.agent.state).toBe("STUCK");
  });

  it("idles where its owner wants it stopped when it idles, whatever it says it does or waits for", () => {
    for (const word of [says, { status: "IDLE" }, { waitingFor: "children" }, { waitingFor: "schedule" }] as const) {
      const held = heldStory({ obedient: true, hold: { idleKillMs: 15_000 } });
      held.prints();
      held.agent.beats(word);
      held.passes("3m");
      expect(held.agent.told("TERMINATION_ORDERED")[0]).toMatchObject({ because: "no-output" });
    }
    const asks = heldStory({ obedient: true, hold: { idleKillMs: 15_000 } });
    asks.prints();
    asks.shows({ kind: "asks", what: "permission", pattern: "p" });
    asks.passes("3m");
    expect(asks.agent.told("TERMINATION_ORDERED")).toEqual([]);
  });
});

describe("an end that nobody was there to see", () => {
  it("was when its holder wrote it down, and not when somebody read that", () => {
    const held = heldStory();
    held.prints();
    held.agent.silentFor("10m");
    const { incarnation } = held.agent.record.life;
    const exit = { code: 5, signal: null, cause: "by-itself" } as const;
    held.agent.take({ kind: "holder-lost", incarnation, process: "gone", exit, ago: 480_000 });
    expect(held.agent.record.seen.terminal?.exit).toEqual({ ...exit, at: held.agent.now - 480_000 });
  });

  it("was not before its life, whatever a clock that was set says", () => {
    const held = heldStory();
    const { incarnation, bornAt } = held.agent.record.life;
    const exit = { code: 5, signal: null, cause: "by-itself" } as const;
    held.agent.take({ kind: "holder-lost", incarnation, process: "gone", exit, ago: 480_000 });
    expect(held.agent.record.seen.terminal?.exit?.at).toBe(bornAt);
  });
});

describe("what an agent says of its own type", () => {
  it("counts of one that Rouse did not start: whose policy a held one has is its owner's to say", () => {
    const typed = heldStory({ hold: { agentType: "worker" } });
    typed.agent.beats({ agentType: "lenient" });
    expect(typed.agent.record.identity.agentType).toBe("worker");
    const untyped = heldStory();
    untyped.agent.beats({ agentType: "lenient" });
    expect(untyped.agent.record.identity.agentType).toBeNull();
    const alone = story();
    alone.beats({ agentType: "reviewer" });
    expect(alone.record.identity.agentType).toBe("reviewer");
  });
});

describe("a program that prints nothing", () => {
  it("has started once a start may take no longer, unless it says by its beats that it still starts", () => {
    const held = heldStory({ settings: { heartbeat: { startup_grace_seconds: 60 } } });
    held.passes("50s");
    expect(held.agent.record.work.activity.kind).toBe("STARTING");
    held.passes("20s");
    expect(held.agent.record.work.activity).toMatchObject({
      kind: "RUNNING",
      since: held.agent.record.life.bornAt + 60_000,
    });
    const starting = heldStory({ settings: { heartbeat: { startup_grace_seconds: 60 } } });
    starting.agent.beats({ status: "STARTING" });
    starting.passes("2m");
    expect(starting.agent.record.work.activity.kind).toBe("STARTING");
  });
});
