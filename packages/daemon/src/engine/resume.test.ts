import type { Heartbeat } from "@rouse/contract";
import { type AgentRecord, newRecord, noDoubt, readRecord, supervise } from "@rouse/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readBeat } from "../agents/hear-beats.ts";
import { createRoster, Watched } from "../agents/roster.ts";
import { policySubject } from "../config/choose-policy.ts";
import { readConfig, requireConfig } from "../config/read-config.ts";
import type { Resumption, SavedSignal } from "../ports/store.ts";
import { lastAlive, restoreAgents } from "./resume.ts";

const noon = Date.UTC(2026, 1, 5, 12);
const config = requireConfig(readConfig({ file: { name: "rouse.yaml", text: "preset: fleet" } }));

const nothing: Resumption = {
  records: [],
  signals: [],
  actions: [],
  machines: [],
  lastAudit: null,
  marks: {},
  lastSignalId: 0,
  lastEventId: 0,
};

type Message = Omit<Heartbeat, "agentId">;
const messages: fc.Arbitrary<Message> = fc.record(
  {
    sequenceNumber: fc.nat(40),
    timestamp: fc.nat(600_000).map((after) => new Date(noon + after).toISOString()),
    status: fc.constantFrom("RUNNING", "IDLE", "WAITING", "STARTING", "FINISHED", "FAILED", "DEGRADED"),
    everySeconds: fc.constantFrom(10, 3600),
    graceSeconds: fc.nat(60),
    waitingFor: fc.constantFrom("input", "provider"),
    waitingUntil: fc.nat(600_000).map((after) => new Date(noon + after).toISOString()),
    open: fc.constantFrom(null, { kind: "tool" as const, name: "x", timeoutSeconds: 30 }),
    taskId: fc.constantFrom("t1", "t2", null),
    incarnation: fc.integer({ min: 1, max: 3 }),
    phase: fc.constantFrom("a", "b"),
    progressIndicator: fc.constantFrom("1", "2"),
    lastToolCall: fc.constantFrom("r", "w"),
    lastCheckpoint: fc.constantFrom("c1", "c2"),
    tokenCount: fc.nat(10_000),
    errorCount: fc.nat(20),
    toolCallCount: fc.nat(20),
    healthMetrics: fc.record(
      { consecutiveFailures: fc.nat(9), memory: fc.constantFrom(0.2, 0.95, "?") },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Message>;

/**
 * Lives through beats as the monitor does: keeps those that were news or late, and the record as it was after so many.
 */
function live(sent: readonly { message: Message; after: number }[], savedAfter: number) {
  const agentId = "w";
  let record = newRecord({ agentId, agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 }, noon);
  const watched = new Watched(4, record, 0);
  let saved = watched.toSave();
  const signals: SavedSignal[] = [];
  let now = noon;
  sent.forEach(({ message, after }, i) => {
    now += after;
    const signal = readBeat({ agentId, ...message }, now);
    if ("refused" in signal) throw new Error(signal.problem);
    const turn = supervise(record, signal, { now, policy: config.policyFor(policySubject(record)), doubt: noDoubt });
    const isKept = turn.reply?.status === "accepted" || turn.reply?.status === "stale";
    // Repeated and refused beats are not kept: after a crash it is as if they had not come.
    if (!isKept) return;
    record = turn.record;
    signals.push({ id: i + 1, agentNo: 4, at: now, time: now, kind: "heartbeat", body: JSON.stringify(signal.beat) });
    watched.record = record;
    watched.through = i + 1;
    if (i < savedAfter) saved = watched.toSave();
  });
  return { record, saved, signals, now };
}

describe("resuming", () => {
  it("a saved record and the signals that came after it give the same facts as living through them", () => {
    const lives = fc.array(fc.record({ message: messages, after: fc.nat(30_000) }), { maxLength: 25 });
    fc.assert(
      fc.property(lives, fc.nat(25), (sent, savedAfter) => {
        const lived = live(sent, savedAfter);
        const roster = createRoster();
        restoreAgents({ ...nothing, records: [lived.saved], signals: lived.signals }, roster, config);
        const resumed = roster.find("w");
        expect(learnt(resumed?.record)).toEqual(learnt(lived.record));
        expect(resumed?.through).toBe(Math.max(lived.saved.through, lived.signals.at(-1)?.id ?? 0));
      }),
      { numRuns: 300 },
    );
  });

  it("an agent that learnt something is looked at soon: its verdict is from before", () => {
    const { saved, signals } = live([{ message: { tokenCount: 1 }, after: 1000 }], 0);
    const roster = createRoster();
    restoreAgents({ ...nothing, records: [saved], signals }, roster, config);
    expect(roster.find("w")?.wakeAt()).toBe(noon + 1000);
  });

  it("signals that are part of the record already, and signals of nobody, change nothing", () => {
    const { saved, signals } = live([{ message: { tokenCount: 1 }, after: 1000 }], 1);
    const roster = createRoster();
    const strangers = signals.map((signal) => ({ ...signal, agentNo: 99 }));
    restoreAgents({ ...nothing, records: [saved], signals: [...signals, ...strangers] }, roster, config);
    expect(roster.size()).toBe(1);
    expect(JSON.stringify(roster.find("w")?.record)).toBe(saved.record);
  });

  it("registrations are relearnt too", () => {
    const { saved } = live([{ message: {}, after: 1000 }], 1);
    const body = JSON.stringify({ agentId: "w", taskId: "t7" });
    const roster = createRoster();
    const signal: SavedSignal = { id: 2, agentNo: 4, at: noon + 2000, time: noon, kind: "registered", body };
    restoreAgents({ ...nothing, records: [saved], signals: [signal] }, roster, config);
    expect(roster.find("w")?.record).toMatchObject({
      life: { incarnation: 2, bornAt: noon + 2000 },
      task: { id: "t7" },
    });
  });

  it("a kept beat is not refused for its checksum: unknown fields were not kept with it", () => {
    const { saved } = live([], 0);
    const body = JSON.stringify({ agentId: "w", checksum: "of something longer", tokenCount: 5 });
    const roster = createRoster();
    const signal: SavedSignal = { id: 1, agentNo: 4, at: noon + 1, time: noon + 1, kind: "heartbeat", body };
    restoreAgents({ ...nothing, records: [saved], signals: [signal] }, roster, config);
    expect(roster.find("w")?.record.seen.facts.tokenCount).toBe(5);
  });

  it("what an earlier version saved of an incident is understood", () => {
    const restored = (stage: object) => {
      const { saved } = live([], 0);
      const incident = { id: "w/1", stage };
      const known = readRecord(saved.record);
      const record = JSON.stringify({ ...known, ladder: { ...known.ladder, incident } });
      const roster = createRoster();
      restoreAgents({ ...nothing, records: [{ ...saved, record }] }, roster, config);
      return roster.find("w")?.record.ladder.incident?.stage;
    };
    const asked = (severity: string) => ({ kind: "escalated", escalation: { id: "w.1", severity, openedAt: noon } });
    expect(restored(asked("SEV-1"))).toMatchObject({ escalation: { severeSince: noon } });
    expect(restored(asked("SEV-3"))).toMatchObject({ escalation: { severeSince: null } });
    expect(restored({ kind: "stopping", cause: "decided" })).toMatchObject({ actor: "orchestrator" });
    expect(restored({ kind: "stopping", cause: "no-progress" })).toMatchObject({ actor: "rouse" });
    expect(restored({ kind: "stopping", cause: "decided", actor: "anna" })).toMatchObject({ actor: "anna" });
  });

  it("numbers for new agents go on after the largest that was given", () => {
    const { saved } = live([], 0);
    const roster = createRoster();
    restoreAgents({ ...nothing, records: [saved] }, roster, config);
    expect(roster.add(readRecord(saved.record)).no).toBe(5);
  });
});

describe("the last sign of life", () => {
  const mark = { at: noon, time: noon + 7, boot: 5000 };
  const signal = (at: number): SavedSignal => ({ id: 1, agentNo: 1, at, time: 0, kind: "heartbeat", body: "{}" });

  it("is nothing on the very first start", () => {
    expect(lastAlive(nothing)).toBeNull();
  });

  it("is the saved mark, or the last saved signal if that came later", () => {
    const marks = { alive: JSON.stringify(mark) };
    expect(lastAlive({ ...nothing, marks })).toEqual(mark);
    expect(lastAlive({ ...nothing, marks, signals: [signal(noon - 5)] })).toEqual(mark);
    expect(lastAlive({ ...nothing, marks, signals: [signal(noon - 5), signal(noon + 400)] })).toEqual({
      at: noon + 400,
      time: noon + 407,
      boot: 5400,
    });
  });
});

/**
 * What was learnt. What was judged and done is not learnt again: it is saved with the record in the very turn it
 * happened.
 */
function learnt(known: AgentRecord | undefined) {
  if (known === undefined) return undefined;
  const { health: _, wakeAt: __, life, ladder, ending, ...record } = known;
  const { checkIn: ___, ...lived } = life;
  const { containment, answers, reached } = ladder;
  const { stop, restart } = ending;
  return { ...record, lived, containment, answers, reached, stop, restart };
}
