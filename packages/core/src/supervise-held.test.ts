import type { ExitCause, PartialSettings, Sight, StopOutcome } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type HeldStory, heldStory } from "./held-story.test-support.ts";
import type { AgentRecord } from "./record.ts";
import { supervise } from "./supervise.ts";

/** Short clocks of every kind, so that a random life of minutes crosses all of them. */
const hasty: PartialSettings = {
  heartbeat: { interval_seconds: 20, idle_interval_seconds: 30, grace_seconds: 2, startup_grace_seconds: 10 },
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
  restart: { cooldown_seconds: 20, max_attempts: 2, escalation_window_seconds: 120 },
  terminal: {
    idle_timeout_minutes: 0.5,
    completion_timeout_minutes: 0.4,
    rate_limit_backoff_seconds: 7,
    repeated_error_threshold: 2,
    repeated_error_window_minutes: 0.75,
    auto_kill_on_repeated_error: true,
  },
};

const step = 250;

const few = fc.constantFrom("a", "b");
const sight: fc.Arbitrary<Sight> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("output"), rows: fc.nat(3), novel: fc.nat(12) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("rate-limited"),
      pattern: few,
      resetsInMs: fc.option(fc.nat(240).map((n) => n * step)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("retries"),
      attempt: fc.constant(1),
      inMs: fc.nat(80).map((n) => n * step),
      status: fc.constant(529),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("asks"),
      what: fc.constantFrom("permission", "question", "prompt", "prompt"),
      pattern: few,
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "asks-no-more" }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("error"), pattern: few, digest: few, text: few }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("completed"), pattern: few }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("context-limit"), pattern: few }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("file-touched"), digest: few }) },
  { weight: 1, arbitrary: fc.constant({ kind: "model-asked" }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("said"), digest: few }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("tool-started"),
      id: few,
      name: few,
      argsDigest: few,
      timeoutSeconds: fc.option(fc.nat(60)),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("tool-ended"), id: few, failed: fc.boolean(), resultDigest: few }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("tokens"), total: fc.nat(400_000) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compacts"), over: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("turn-ended"), outcome: fc.constant("success"), reason: few }),
  },
) as fc.Arbitrary<Sight>;

type Step =
  | { readonly do: "wait"; readonly steps: number }
  | { readonly do: "live"; readonly seconds: number }
  | { readonly do: "report"; readonly sights: Sight[]; readonly ago: number }
  | { readonly do: "processes"; readonly are: "quiet" | "busy" | "unknown" }
  | { readonly do: "attach"; readonly terminals: number }
  | { readonly do: "full-screen" }
  | { readonly do: "beat" }
  | { readonly do: "exit"; readonly code: number; readonly cause: ExitCause }
  | { readonly do: "lose"; readonly process: "gone" | "alive" }
  | { readonly do: "return" }
  | { readonly do: "start-again" }
  | { readonly do: "order"; readonly order: "stop" | "restart" }
  | { readonly do: "answer-stop"; readonly how: "stopped" | "already-over" | "incomplete" | "refused" }
  | { readonly do: "answer-restart" }
  | { readonly do: "blind"; readonly steps: number }
  | { readonly do: "freeze"; readonly frozen: boolean }
  | { readonly do: "hold"; readonly on: boolean };

const constant = <const T extends string>(name: T) => fc.constant(name);
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: constant("wait"), steps: fc.nat(300) }) },
  { weight: 4, arbitrary: fc.record({ do: constant("live"), seconds: fc.nat(100) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: constant("report"),
      sights: fc.array(sight, { maxLength: 3 }),
      ago: fc.oneof(
        { weight: 5, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.nat(120).map((n) => n * step) },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: constant("processes"), are: fc.constantFrom("quiet", "busy", "unknown") }) },
  { weight: 1, arbitrary: fc.record({ do: constant("attach"), terminals: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ do: constant("full-screen") }) },
  { weight: 1, arbitrary: fc.record({ do: constant("beat") }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: constant("exit"),
      code: fc.constantFrom(0, 1, 1),
      cause: fc.constantFrom("by-itself", "by-itself", "person", "stopped", "killed"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: constant("lose"), process: fc.constantFrom("gone", "alive") }) },
  { weight: 1, arbitrary: fc.record({ do: constant("return") }) },
  { weight: 3, arbitrary: fc.record({ do: constant("start-again") }) },
  { weight: 1, arbitrary: fc.record({ do: constant("order"), order: fc.constantFrom("stop", "restart") }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: constant("answer-stop"),
      how: fc.constantFrom("stopped", "stopped", "already-over", "incomplete", "refused"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: constant("answer-restart") }) },
  { weight: 1, arbitrary: fc.record({ do: constant("blind"), steps: fc.integer({ min: 1, max: 100 }) }) },
  { weight: 1, arbitrary: fc.record({ do: constant("freeze"), frozen: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: constant("hold"), on: fc.boolean() }) },
) as fc.Arbitrary<Step>;

const outcomes: Readonly<Record<Extract<Step, { do: "answer-stop" }>["how"], StopOutcome>> = {
  stopped: { kind: "stopped", forced: false, processes: 1 },
  "already-over": { kind: "already-over" },
  incomplete: { kind: "termination_incomplete", survivors: [{ pid: 77, name: "left" }] },
  refused: { kind: "refused", because: "attached" },
};

function live(held: HeldStory, one: Step): void {
  const { agent } = held;
  switch (one.do) {
    case "wait":
      return agent.silentFor(one.steps * step);
    case "live":
      return held.passes(`${one.seconds}s`);
    case "report":
      return void held.report(one.sights, {}, one.ago);
    case "processes":
      return held.processesAre(one.are);
    case "attach":
      return void held.personAttaches(one.terminals);
    case "full-screen":
      return void held.goesFullScreen();
    case "beat":
      return void agent.beats();
    case "exit":
      return void held.exits({ code: one.code, cause: one.cause });
    case "lose":
      return void held.holderIsLost(one.process);
    case "return":
      return void agent.take({ kind: "held", hold: held.holdOf(), adopted: true });
    case "start-again":
      if (agent.record.seen.terminal?.exit !== null) held.startsAgain();
      return;
    case "order":
      return void held.isOrdered(one.order, `order-${agent.now}`);
    case "answer-stop":
      return void held.handsStopped(agent.record.ending.stop?.key ?? "none", outcomes[one.how]);
    case "answer-restart":
      return void held.handsAnswer(agent.record.ending.restart?.key ?? "none", {
        kind: "not-restarted",
        problem: "no folder",
      });
    case "blind":
      agent.monitorIsBlindFor(`${one.steps * step}ms`);
      return agent.monitorDoubts({});
    case "freeze":
      return agent.monitorDoubts({ frozen: one.frozen });
    case "hold":
      return agent.monitorDoubts({
        hold: one.on ? { because: "mass-silence", since: agent.now, provenAt: null } : null,
      });
  }
}

interface Kind {
  readonly structured: boolean;
  readonly task: boolean;
  readonly family: "generic" | "claude-code";
}

const kinds: fc.Arbitrary<Kind> = fc.record({
  structured: fc.boolean(),
  task: fc.boolean(),
  family: fc.constantFrom("generic", "claude-code"),
});

function tell(kind: Kind, lived: readonly Step[], lookEvery?: number): HeldStory {
  const held = heldStory({
    preset: "fleet",
    settings: hasty,
    hold: { structured: kind.structured, family: kind.family },
    ...(kind.task ? { taskId: "t1" } : {}),
    ...(lookEvery === undefined ? {} : { lookEvery }),
  });
  for (const one of lived) live(held, one);
  return held;
}

const eventful = [
  "no-output:stuck",
  "repeated-error:stuck",
  "completion-timeout:stuck",
  "process-exited:unresponsive",
  "TERMINATION_ORDERED",
  "TERMINATION_REFUSED",
  "RESTART_ORDERED",
  "AGENT_RESTARTED",
];

describe("deadlines of held agents are data", () => {
  it("looking only when the record asks for it sees every change that looking every 250 ms sees, at the same moment", () => {
    const told = new Set<string>();
    let asked = 0;
    let polled = 0;
    const property = fc.property(kinds, fc.array(steps, { maxLength: 25 }), (kind, lived) => {
      const woken = tell(kind, lived).agent;
      const watched = tell(kind, lived, step).agent;
      expect(woken.verdicts).toEqual(watched.verdicts);
      expect(woken.eventTypes()).toEqual(watched.eventTypes());
      expect(woken.actions.map(({ key }) => key)).toEqual(watched.actions.map(({ key }) => key));
      for (const line of [...woken.verdicts, ...woken.eventTypes()]) for (const word of line.split(" ")) told.add(word);
      asked += woken.looks;
      polled += watched.looks;
    });
    // Random lives until they tested enough; some things rarely happen by chance.
    for (let batch = 0; batch < 20 && !eventful.every((word) => told.has(word)); batch++)
      fc.assert(property, { numRuns: 300 });
    for (const word of eventful) expect(told).toContain(word);
    expect(asked).toBeLessThan(polled / 10);
  }, 120_000);
});

describe("one turn for a held agent", () => {
  it("that completes and asks in one report after a gap ends: the ladder does not go round", () => {
    const sights: Sight[] = [
      { kind: "completed", pattern: "a" },
      { kind: "asks", what: "prompt", pattern: "a" },
    ];
    const lived: Step[] = [
      { do: "live", seconds: 40 },
      { do: "blind", steps: 1 },
      { do: "report", sights, ago: 250 },
    ];
    for (const lookEvery of [undefined, step])
      expect(() => tell({ structured: false, task: false, family: "generic" }, lived, lookEvery)).not.toThrow();
  });

  it("a record is plain data: saved and read back it is the same", () => {
    fc.assert(
      fc.property(kinds, fc.array(steps, { maxLength: 25 }), (kind, lived) => {
        const { record } = tell(kind, lived).agent;
        expect(JSON.parse(JSON.stringify(record)) as AgentRecord).toEqual(record);
      }),
    );
  }, 60_000);

  it("a report that comes again, whichever and whenever, changes nothing", () => {
    fc.assert(
      fc.property(
        kinds,
        fc.array(fc.tuple(fc.array(sight, { maxLength: 3 }), fc.nat(99)), { maxLength: 20 }),
        (kind, told) => {
          const tellAll = (again: boolean) => {
            const { agent, report } = tell(kind, []);
            const sent: Parameters<typeof agent.take>[0][] = [];
            for (const [sights, which] of told) {
              agent.silentFor(step);
              sent.push(report(sights).signal);
              const repeated = sent[which % sent.length];
              if (again && repeated !== undefined) agent.take(repeated);
            }
            return agent;
          };
          const [once, twice] = [tellAll(false), tellAll(true)];
          expect(twice.record).toEqual(once.record);
          expect(twice.events).toEqual(once.events);
          expect(twice.actions).toEqual(once.actions);
        },
      ),
    );
  }, 60_000);

  it("whatever 100,000 sights show, what is remembered of them stays below 120 kB", () => {
    const { agent, report } = heldStory({ taskId: "t1", hold: { structured: true } });
    const random = fc.sample(sight, { numRuns: 1000, seed: 11 }).filter(({ kind }) => kind !== "turn-ended");
    for (let i = 0; i < 100_000; i += 100) {
      const bulky = Array.from({ length: 40 }, (_, n) => bulkySight(i + n));
      const others = Array.from({ length: 60 }, (_, n) => random[(i + n * 37) % random.length] as Sight);
      // Both kinds for a while, then the bulky ones alone: nothing closes what they open.
      report((i / 100) % 200 < 100 ? [...bulky, ...others] : bulky);
      agent.silentFor(6000);
      expect(JSON.stringify(agent.record).length).toBeLessThan(120_000);
    }
    expect(JSON.stringify(agent.record).length).toBeGreaterThan(10_000);
  }, 60_000);

  it("leaves what it was given as it was", () => {
    fc.assert(
      fc.property(
        kinds,
        fc.array(steps, { maxLength: 15 }),
        fc.array(sight, { maxLength: 5 }),
        (kind, lived, sights) => {
          const held = tell(kind, lived);
          const { agent } = held;
          const before = deepFreeze(structuredClone(agent.record));
          const { signal } = held.report(sights);
          const turn = () => supervise(before, signal, { ...agent.context, now: agent.now + 1 });
          expect(turn()).toEqual(turn());
        },
      ),
    );
  }, 60_000);
});

/** Every text at its longest: tools without an end, and as many error classes as are kept. */
function bulkySight(n: number): Sight {
  const long = (start: string | number): string => `${start}`.padEnd(200, "x");
  const digest = `${n % 12}`.padEnd(64, "x");
  if (n % 2 === 0) return { kind: "error", pattern: "p", digest, text: long("error") };
  return { kind: "tool-started", id: long(n), name: long("tool"), argsDigest: digest, timeoutSeconds: 600 };
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
