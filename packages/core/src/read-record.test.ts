import { describe, expect, it } from "vitest";
import { noDoubt } from "./doubt.ts";
import { heldStory } from "./held-story.test-support.ts";
import { readRecord } from "./read-record.ts";
import { policyOf } from "./story.test-support.ts";
import { supervise } from "./supervise.ts";

/** A record from before there were groups: an agent that is being stopped by the orchestrator's decision. */
const flat = {
  agentId: "worker-1",
  agentType: null,
  node: null,
  lineage: "worker-1",
  incarnation: 1,
  bornAt: 1000000000,
  heard: true,
  heardAt: 1000600000,
  taskId: "t1",
  taskAssignedAt: 1000000000,
  taskClaimed: false,
  overtime: null,
  health: { state: "STUCK", since: 1000600000, reason: "completion-timeout" },
  activity: { kind: "RUNNING", since: 1000000000, open: null },
  work: { total: 0, resumesAt: 1000000000 },
  beats: {
    lastSequence: null,
    seenBefore: 0,
    lastAgentTime: null,
    lastAt: null,
    heardAt: null,
    startedOver: null,
    late: null,
    accepted: 0,
    duplicates: 0,
    stale: 0,
    refused: 0,
    lost: 0,
    skew: null,
  },
  promise: null,
  facts: {
    phase: null,
    progressIndicator: null,
    lastToolCall: null,
    lastCheckpoint: null,
    tokenCount: null,
    errorCount: null,
    toolCallCount: null,
    progress: null,
    progressMoves: false,
    toolCall: null,
    checkpoint: null,
    tokens: null,
    tokenRate: null,
    outcomes: [],
    failingBeats: 0,
    sinceFailure: 0,
    reportedFailures: null,
    reportedErrorRate: null,
    memory: null,
    context: null,
    selfReported: null,
    beatsThroughWork: 0,
  },
  findings: [
    {
      kind: "completion-timeout",
      level: "stuck",
      confidence: 0.8,
      class: "absence",
      text: "its turn ended and 10 min passed without the completion marker",
      evidence: { waitedSeconds: 600, allowedSeconds: 600 },
      since: 1000600000,
    },
  ],
  alert: {
    key: "worker-1/1/completion-timeout/1",
    cause: "completion-timeout",
    severity: "warning",
    raisedAt: 1000600000,
    state: "queued",
  },
  alertsRaised: 1,
  lastAlert: null,
  checkIn: null,
  policy: null,
  longestQuiet: 0,
  limit: null,
  terminal: {
    pid: 4242,
    startedAt: 1000000000,
    family: "generic",
    startedAs: "generic",
    structured: false,
    foreground: false,
    startedFor: "t1",
    input: "none",
    eyes: [],
    lastReport: 62,
    seenAt: 1000600000,
    idleKill: null,
    attached: 0,
    fullScreen: false,
    outputKept: true,
    bytes: 100,
    rows: 1,
    novel: 2,
    output: { at: 1000000000, worked: 0 },
    wroteAt: 1000000000,
    tree: null,
    errors: [],
    file: null,
    asks: null,
    wait: null,
    waitBy: null,
    textWait: null,
    tools: [],
    lastSaid: null,
    tokensAtProgress: null,
    completedAt: null,
    finishesAt: null,
    novelAtMarker: 0,
    turnEndedAt: { at: 1000000000, worked: 0 },
    failedTurn: null,
    contextLimitAt: null,
    compactions: null,
    session: null,
    holder: "here",
    exit: null,
    leftovers: null,
    putOff: null,
    wokenBy: null,
  },
  steps: null,
  stop: {
    key: "worker-1/1/stop/decided/1",
    cause: "decided",
    actor: "orchestrator",
    thenRestart: false,
    force: false,
    decidedAt: 1000600000,
    saved: { kind: "nothing-to-save" },
    orderedAt: 1000600000,
    evidence: ["order", "absence", "its turn ended and 10 min passed without the completion marker"],
    outcome: null,
  },
  restart: null,
  restarts: [],
  restartedAt: null,
  stopRefused: null,
  incident: {
    id: "worker-1/1",
    incarnation: 1,
    illness: "STUCK",
    cause: "completion-timeout",
    severity: "SEV-3",
    openedAt: 1000600000,
    nudges: 0,
    undelivered: 0,
    escalations: 1,
    stage: {
      kind: "stopping",
      cause: "decided",
      actor: "orchestrator",
      next: "bring-back",
      interrupted: 0,
      shut: null,
    },
  },
  handedOver: null,
  containment: null,
  asked: { cause: "completion-timeout", at: 1000600000 },
  nudge: null,
  answers: null,
  reached: null,
  nudged: [],
  recoveries: [],
  recovered: null,
  formerEndAt: null,
  checkpoint: null,
  readsCommands: false,
  counts: { incidents: 1, nudges: 0, escalations: 1, stops: 1, starts: 0 },
  gapsSeen: 0,
  wakeAt: null,
};

describe("a record", () => {
  it("of before there were groups is read into them, and nothing of it is lost", () => {
    const { identity, life, task, work, beats, seen, health, ladder, ending, recovery, ...rest } = readRecord(
      JSON.stringify(flat),
    );
    expect(rest).toEqual({ agentId: "worker-1", wakeAt: null });
    expect(identity).toEqual({ agentType: null, node: null, lineage: "worker-1", policy: null, readsCommands: false });
    expect(life).toMatchObject({
      incarnation: 1,
      bornAt: flat.bornAt,
      heard: true,
      heardAt: flat.heardAt,
      gapsSeen: 0,
    });
    expect(task).toEqual({ id: "t1", assignedAt: flat.bornAt, claimed: false, overtime: null, checkpoint: null });
    expect(work).toEqual({ activity: flat.activity, clock: flat.work, longestQuiet: 0 });
    expect(beats).toEqual(flat.beats);
    expect(seen).toEqual({ facts: flat.facts, steps: null, terminal: flat.terminal, limit: null, breakers: [] });
    expect(health).toEqual({
      ...flat.health,
      findings: flat.findings,
      alert: flat.alert,
      alertsRaised: 1,
      lastAlert: null,
    });
    expect(ladder).toMatchObject({ incident: flat.incident, asked: flat.asked, counts: flat.counts, nudged: [] });
    expect(ending).toEqual({ stop: flat.stop, refused: null, restart: null });
    expect(recovery).toEqual({ restarts: [], restartedAt: null, attempts: [], recovered: null, gate: null });
  });

  it("of before there were groups keeps what each field said, also where it is called otherwise now", () => {
    const { agentId: _, health: __, beats: ___, facts: ____, ...others } = flat;
    const { findings: _____, terminal: ______, incident: _______, nudge: ________, ...plain } = others;
    for (const name of Object.keys(plain)) {
      const read = readRecord(JSON.stringify({ ...flat, [name]: "as it was" }));
      expect(JSON.stringify(read), name).toContain('"as it was"');
    }
    const { task, ending, recovery, work } = readRecord(
      JSON.stringify({ ...flat, taskAssignedAt: 5, taskClaimed: true, stopRefused: "protected", recoveries: [7] }),
    );
    expect(task).toMatchObject({ id: "t1", assignedAt: 5, claimed: true });
    expect([ending.refused, recovery.attempts, work.clock]).toEqual(["protected", [7], flat.work]);
  });

  it("of before there were groups is gone on with: the answer to the stop that was out is understood", () => {
    const outcome = { kind: "stop", stop: { kind: "stopped", forced: false, processes: 2 } } as const;
    const signal = { kind: "action-outcome", key: flat.stop.key, outcome } as const;
    const context = { now: flat.heardAt + 1000, policy: policyOf("default"), doubt: noDoubt };
    const { record, events } = supervise(readRecord(JSON.stringify(flat)), signal, context);
    expect(record.ending.stop).toMatchObject({ outcome: { kind: "stopped" } });
    expect(events.map(({ type }) => type)).toContain("AGENT_TERMINATED");
  });

  it("without what came after an earlier version is filled up", () => {
    const { overtime: _, promise: __, lastAlert: ___, containment: ____, gapsSeen, ...earlier } = flat;
    const { startedFor: _____, eyes: ______, ...terminal } = flat.terminal;
    const read = readRecord(JSON.stringify({ ...earlier, gapsSeen, terminal }));
    expect(read.task.overtime).toBeNull();
    expect(read.life.promise).toBeNull();
    expect(read.health.lastAlert).toBeNull();
    expect(read.ladder.containment).toBeNull();
    expect(read.seen.terminal).toMatchObject({ startedFor: null, eyes: [] });
  });

  it("of this version is read as it was saved", () => {
    const held = heldStory({ taskId: "t1" });
    held.passes("20m");
    const { record } = held.agent;
    expect(readRecord(JSON.stringify(record))).toEqual(JSON.parse(JSON.stringify(record)));
  });

  it("keeps what held a finding back, whose name was another once", () => {
    const finding = { kind: "missed-beats", level: "degraded", since: 5, held: "amnesty" };
    const { findings } = readRecord(JSON.stringify({ ...flat, findings: [finding] })).health;
    expect(findings).toEqual([{ kind: "missed-beats", level: "degraded", since: 5, restrainedBy: "amnesty" }]);
  });
});
