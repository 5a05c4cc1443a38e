import { type EyeState, type HolderReport, policyFrom, type Sight, settingsOf } from "@rouse/contract";
import { newRecord, noDoubt, supervise } from "@rouse/core";
import { expect, it } from "vitest";
import { describeAgent, describeGrounds } from "./describe-agent.ts";

const policy = policyFrom("default", settingsOf("default"));

/** What is shown of a held agent that has printed nothing, a minute after its start. */
const show = (eyes: readonly EyeState[], sights: readonly Sight[]) => showAt(60_000, { eyes, sights }).terminal;

interface Seen {
  readonly eyes?: readonly EyeState[];
  readonly sights?: readonly Sight[];
  readonly exit?: HolderReport["exit"];
}

/** What is shown later of what its holder saw in its first minute. */
function showAt(now: number, { eyes = [], sights = [], exit = null }: Seen) {
  const born = newRecord({ agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 }, 0);
  const hold = {
    agentId: "a",
    agentType: null,
    taskId: null,
    policy: null,
    incarnation: 1,
    pid: 1,
    family: "claude-code",
    structured: false,
    foreground: false,
    startedAt: 0,
  } as const;
  const held = supervise(born, { kind: "held", hold, adopted: false }, { now: 0, policy, doubt: noDoubt }).record;
  const report: HolderReport = {
    seq: 1,
    at: 60_000,
    sights: [...sights],
    output: { bytes: 0, rows: 0, lastAt: null },
    process: null,
    attached: 0,
    fullScreen: false,
    outputKept: true,
    exit,
    eyes: [...eyes],
  };
  const { record } = supervise(
    held,
    { kind: "reported", incarnation: 1, report, ago: 0 },
    { now: 60_000, policy, doubt: noDoubt },
  );
  return describeAgent(record, now, (at) => at + 0, policy);
}

const hooks: EyeState = { eye: "hooks", sees: true, because: null };

it("shows when an agent that prints nothing last told of its work", () => {
  expect(show([hooks], [{ kind: "model-asked" }])).toMatchObject({
    lastOutput: null,
    lastTold: "1970-01-01T00:01:00.000Z",
  });
  expect(show([hooks], [])).not.toHaveProperty("lastTold");
  expect(show([], [{ kind: "output", rows: 1, novel: 1 }])).not.toHaveProperty("lastTold");
});

it("has heard an agent by its steps and by what its program tells, and not by what its holder sees", () => {
  const at = "1970-01-01T00:01:00.000Z";
  expect(showAt(90_000, { eyes: [hooks], sights: [{ kind: "model-asked" }] }).lastHeard).toBe(at);
  expect(showAt(90_000, {}).lastHeard).toBeNull();
  const birth = { agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 };
  const step = { kind: "stepped", events: [{ kind: "message", text: "hello" }] } as const;
  const { record } = supervise(newRecord(birth, 0), step as never, { now: 60_000, policy, doubt: noDoubt });
  expect(describeAgent(record, 90_000, (each) => each + 0, policy)).toMatchObject({
    lastHeartbeat: null,
    lastHeard: at,
  });
});

it("shows what an agent says of its work in this life: cut, printable, and not of a life before", () => {
  const birth = { agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 };
  let record = newRecord(birth, 0);
  const hear = (beat: object) => {
    const signal = {
      kind: "heartbeat",
      beat: { agentId: "a", ...beat },
      checksum: "none",
      agentTime: null,
      skew: null,
    };
    ({ record } = supervise(record, signal as never, { now: 60_000, policy, doubt: noDoubt }));
    const { phase, progress } = describeAgent(record, 90_000, (each) => each + 0, policy);
    return { phase, progress };
  };
  expect(hear({ incarnation: 1 })).toEqual({ phase: null, progress: null });
  const said = { incarnation: 1, phase: "plan\u001b[2J", progressIndicator: "x".repeat(1000) };
  expect(hear(said)).toEqual({ phase: "plan\ufffd[2J", progress: `${"x".repeat(200)}…` });
  expect(hear({ incarnation: 1 })).toMatchObject({ phase: "plan\ufffd[2J" });
  expect(hear({ incarnation: 2 })).toEqual({ phase: null, progress: null });
});

it("shows of one that ended at its limit that it waits for that, and until when; of any other that it exited", () => {
  const exit = { code: 1, signal: null, cause: "by-itself" } as const;
  const limit: Sight = { kind: "rate-limited", pattern: "limit", resetsInMs: 60_000, by: "stream", what: "usage" };
  expect(showAt(60_000, { sights: [limit], exit }).activity).toMatchObject({
    kind: "WAITING",
    until: "1970-01-01T00:02:05.000Z",
  });
  expect(showAt(60_000, { exit }).activity.kind).toBe("EXITED");
});

it("counts the time an agent is up until its process ended, and no further", () => {
  expect(showAt(300_000, {}).metrics.uptimeSeconds).toBe(300);
  for (const code of [0, 7])
    expect(
      showAt(300_000, { exit: { code, signal: null, cause: "by-itself" } }).metrics.uptimeSeconds,
      `exited ${code}`,
    ).toBe(60);
});

it("shows the same of when an agent was last heard and of how long it is silent, also where its beats are not read", () => {
  let record = newRecord({ agentId: "a", agentType: null, node: null, incarnation: 1, taskId: null, gapsSeen: 0 }, 0);
  const beat = (sequenceNumber: number, at: number) => {
    const signal = { beat: { agentId: "a", sequenceNumber }, checksum: "absent", agentTime: null, skew: null } as const;
    record = supervise(
      record,
      { kind: "heartbeat", ...signal, waitsFor: null },
      { now: at, policy, doubt: noDoubt },
    ).record;
    const { clocks } = describeGrounds(record, at, policy, noDoubt, (each) => each + 0);
    return { heard: describeAgent(record, at, (each) => each + 0, policy).lastHeartbeat, silent: clocks.silentSeconds };
  };
  for (let n = 1; n <= 10; n++) beat(n, n * 300_000);
  for (let n = 1; n <= 4; n++) {
    const at = (10 + n) * 300_000;
    expect(beat(n, at)).toEqual({ heard: new Date(at).toISOString(), silent: 0 });
  }
  expect(describeAgent(record, 4_200_000, (at) => at + 0, policy)).toMatchObject({
    state: "DEGRADED",
    stateReason: "sequence-restarted",
  });
  // What was heard a second time already is no sign of life.
  expect(beat(4, 4_600_000)).toEqual({ heard: new Date(4_200_000).toISOString(), silent: 400 });
});
