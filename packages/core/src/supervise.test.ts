import type { PartialSettings } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentRecord } from "./record.ts";
import { dawn, type Said, type Story, story } from "./story.test-support.ts";
import { relearn, supervise } from "./supervise.ts";

/** Short clocks of every kind, so that a random life of minutes crosses all of them. */
const hasty: PartialSettings = {
  heartbeat: { interval_seconds: 5, idle_interval_seconds: 10, grace_seconds: 2, startup_grace_seconds: 20 },
  health_check: {
    checkpoint_stale_threshold_seconds: 60,
    no_tool_call_seconds: 35,
    zero_tokens_seconds: 25,
    task_not_started_seconds: 15,
  },
  activity: {
    open_tool_seconds: 30,
    open_tool_margin_seconds: 3,
    wait_margin_seconds: 4,
    input_wait_seconds: 90,
    provider_wait_seconds: 40,
    children_wait_seconds: 50,
    schedule_wait_seconds: 45,
  },
};

const step = 250;

type Step =
  | { readonly do: "wait"; readonly steps: number }
  | { readonly do: "beat"; readonly said: Said; readonly waitsFor?: number }
  | { readonly do: "beat-on"; readonly times: number; readonly apart: number; readonly said: Said }
  | { readonly do: "register" }
  | { readonly do: "blind"; readonly steps: number }
  | { readonly do: "hold"; readonly how: "start" | "prove" | "end" }
  | { readonly do: "lag"; readonly seconds: number };

const small = fc.nat(3);
const said: fc.Arbitrary<Said> = fc.record(
  {
    status: fc.constantFrom("RUNNING", "RUNNING", "RUNNING", "IDLE", "STARTING", "WAITING", "FINISHED", "DEGRADED"),
    waitingFor: fc.constantFrom("input", "provider", "children", "schedule"),
    open: fc.oneof(
      fc.constant(null),
      fc.record({ kind: fc.constantFrom("tool", "model"), name: fc.constantFrom("a", "b") }),
      fc.record({ kind: fc.constant("tool" as const), timeoutSeconds: fc.nat(60) }),
    ),
    phase: small.map(String),
    progressIndicator: small.map(String),
    lastToolCall: small.map(String),
    lastCheckpoint: small.map(String),
    taskId: fc.constantFrom("t1", "t2", null),
    tokenCount: fc.nat(20_000),
    toolCallCount: fc.nat(40),
    errorCount: fc.nat(20),
    healthMetrics: fc.record(
      { consecutiveFailures: fc.nat(5), errorRate: fc.constantFrom(0, 0.5) },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<Said>;

const lives: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const), steps: fc.nat(400) }) },
    { weight: 6, arbitrary: fc.record({ do: fc.constant("beat" as const), said }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant("beat" as const),
        said,
        waitsFor: fc.integer({ min: -20, max: 200 }).map((n) => n * step),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("beat-on" as const),
        times: fc.nat(20),
        apart: fc.integer({ min: 1, max: 27 }),
        said,
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: "register" as const }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("blind" as const), steps: fc.integer({ min: 1, max: 100 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("hold" as const), how: fc.constantFrom("start", "prove", "end") }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("lag" as const), seconds: fc.nat(2) }) },
  ) as fc.Arbitrary<Step>,
  { maxLength: 14 },
);

function live(agent: Story, one: Step): void {
  switch (one.do) {
    case "wait":
      agent.silentFor(one.steps * step);
      break;
    case "beat":
      agent.beats(one.said, one.waitsFor === undefined ? {} : { waitsFor: one.waitsFor });
      break;
    case "beat-on":
      for (let i = 0; i < one.times; i++) {
        agent.beats(one.said);
        agent.silentFor(one.apart * step);
      }
      break;
    case "register":
      agent.registers();
      break;
    case "blind":
      agent.monitorIsBlindFor(`${one.steps * step}ms`);
      agent.monitorDoubts({});
      break;
    case "hold": {
      const provenAt = one.how === "prove" ? agent.now : null;
      agent.monitorDoubts({ hold: one.how === "end" ? null : { because: "mass-silence", since: agent.now, provenAt } });
      break;
    }
    case "lag":
      agent.monitorDoubts({ lag: one.seconds * 1000 });
      break;
  }
}

const tell = (steps: readonly Step[], lookEvery?: number): Story => {
  const agent = story({ preset: "fleet", settings: hasty, ...(lookEvery === undefined ? {} : { lookEvery }) });
  for (const one of steps) live(agent, one);
  return agent;
};

describe("deadlines are data", () => {
  it("looking only when the record asks for it sees every change that looking every 250 ms sees, at the same moment", () => {
    let changes = 0;
    let asked = 0;
    let polled = 0;
    fc.assert(
      fc.property(lives, (steps) => {
        const woken = tell(steps);
        const watched = tell(steps, step);
        expect(woken.verdicts).toEqual(watched.verdicts);
        expect(woken.eventTypes()).toEqual(watched.eventTypes());
        changes += woken.verdicts.length;
        asked += woken.looks;
        polled += watched.looks;
      }),
      { numRuns: 150 },
    );
    expect(changes).toBeGreaterThan(300); // the lives were eventful enough to mean something
    expect(asked).toBeLessThan(polled / 10);
  }, 60_000);

  it("silence that nobody vouches for is the one thing looked at again by the second", () => {
    const lonely = { peers: 4, peersHeardAt: dawn };
    const heardAt = fc.integer({ min: 0, max: 40_000 });
    fc.assert(
      fc.property(heardAt, (after) => {
        const [woken, watched] = [undefined, step].map((lookEvery) => {
          const agent = story({ preset: "fleet", doubt: lonely, ...(lookEvery === undefined ? {} : { lookEvery }) });
          agent.beats();
          agent.silentFor(after);
          agent.peersWereHeard();
          agent.silentFor("1m");
          return whenGone(agent);
        });
        expect(Math.abs((woken ?? 0) - (watched ?? 0))).toBeLessThanOrEqual(1000);
      }),
    );
  });

  it("a finished agent and a monitor that is switched off ask for nothing", () => {
    const agent = story();
    agent.beats({ status: "FINISHED" });
    expect(agent.record.wakeAt).toBeNull();
    const off = story({ settings: { enabled: false } });
    off.beats();
    expect(off.record.wakeAt).toBeNull();
  });
});

describe("one turn", () => {
  it("is the same for the same arguments, and leaves what it was given as it was", () => {
    fc.assert(
      fc.property(lives, said, (steps, beat) => {
        const agent = tell(steps);
        const before = deepFreeze(structuredClone(agent.record));
        const signal = {
          kind: "heartbeat",
          beat: { agentId: before.agentId, ...beat },
          checksum: "absent",
          agentTime: null,
          skew: null,
          waitsFor: null,
        } as const;
        const turn = () => supervise(before, signal, { ...agent.context, now: agent.now + 1 });
        expect(turn()).toEqual(turn());
      }),
    );
  });

  it("a record is plain data: saved and read back it is the same, and lives on the same", () => {
    fc.assert(
      fc.property(lives, lives, (first, then) => {
        const saved = tell(first);
        const readBack = JSON.parse(JSON.stringify(saved.record)) as AgentRecord;
        expect(readBack).toEqual(saved.record);
        const lifeFrom = (record: AgentRecord) => {
          const agent = story({ preset: "fleet", settings: hasty, record, now: saved.now, doubt: saved.doubt });
          for (const one of then) live(agent, one);
          return agent.record;
        };
        expect(lifeFrom(readBack)).toEqual(lifeFrom(saved.record));
      }),
    );
  });

  it("relearning teaches exactly what living through it taught, without judging again", () => {
    fc.assert(
      fc.property(lives, said, fc.nat(60_000), (steps, beat, later) => {
        const agent = tell(steps);
        const signal = {
          kind: "heartbeat",
          beat: { agentId: agent.record.agentId, ...beat },
          checksum: "absent",
          agentTime: null,
          skew: null,
          waitsFor: null,
        } as const;
        const now = agent.now + later;
        const lived = supervise(agent.record, signal, { ...agent.context, now }).record;
        const learnt = relearn(agent.record, signal, { ...agent.context, now });
        expect(known(learnt)).toEqual(known(lived));
        expect(learnt.health).toEqual(agent.record.health);
      }),
    );
  });
});

/** The record without its verdicts. */
function known({ health: _, wakeAt: __, life, ladder, ...record }: AgentRecord) {
  const { checkIn: ___, ...lived } = life;
  const { containment, answers } = ladder;
  return { ...record, lived, containment, answers };
}

const whenGone = (agent: Story): number | undefined =>
  agent.state === "UNRESPONSIVE" ? agent.record.health.since : undefined;

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
