import { type LoopPolicy, loopKinds, type StepEvent } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findLoops, hasMoved } from "./find-loops.ts";
import { followStep } from "./follow-steps.ts";
import { plainLoops } from "./plain-loops.test-support.ts";
import { newTrail, type StepTrail, startAnew } from "./step.ts";

/** Thresholds of one, so that everything is told. */
const curious = Object.fromEntries(
  loopKinds.map((kind) => [kind, { enabled: true, suspect: 1, stuck: 3 }]),
) as LoopPolicy;

const digest = fc.constantFrom("a", "b", "c", null);
const tool = fc.constantFrom("shell", "edit", "read", "think", "bashoutput", "scroll_down", null);
const event: fc.Arbitrary<StepEvent> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("tool_call" as const), tool, id: digest, args_digest: digest }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("tool_result" as const),
      tool,
      id: digest,
      text_digest: digest,
      text_class: digest,
      failed: fc.constantFrom(true, true, false, null),
      cancelled: fc.constantFrom(null, null, null, true),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("message" as const),
      role: fc.constantFrom("agent", "agent", "user"),
      text_class: digest,
      text_digest: digest,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("error" as const), role: fc.constantFrom("provider", null) }) },
);

/** Recurring parts: chance alone rarely makes a loop. */
const run = fc
  .array(fc.tuple(fc.array(event, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 12 })), { maxLength: 12 })
  .map((parts) => parts.flatMap(([part, times]) => Array.from({ length: times }, () => part).flat()));

function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
}

const loopsOf = (trail: StepTrail) =>
  Object.fromEntries(findLoops(trail, curious).map(({ kind, times, events }) => [kind, { times, events }]));

describe("following a run", () => {
  it("finds, event by event and in bounded memory, what a look at the whole run from its beginning finds", () => {
    fc.assert(
      fc.property(run, (events) => {
        let trail = newTrail;
        for (const [index, one] of events.entries()) trail = followStep(trail, one, index * 1000);
        expect(loopsOf(trail)).toEqual(plainLoops(events));
      }),
      { numRuns: 300 },
    );
  });

  it("finds after a new start only what came after it", () => {
    fc.assert(
      fc.property(run, run, (before, after) => {
        let trail = newTrail;
        for (const one of before) trail = followStep(trail, one, 0);
        trail = startAnew(trail);
        for (const one of after) trail = followStep(trail, one, 0);
        expect(loopsOf(trail)).toEqual(plainLoops([...before, ...after], before.length));
      }),
      { numRuns: 150 },
    );
  });

  it("changes nothing it was given, and goes on from what was saved and read back", () => {
    fc.assert(
      fc.property(run, (events) => {
        let kept = newTrail;
        let saved = newTrail;
        for (const [index, one] of events.entries()) {
          kept = frozen(followStep(kept, frozen(one), index));
          saved = JSON.parse(JSON.stringify(followStep(saved, one, index))) as StepTrail;
        }
        expect(saved).toEqual(kept);
      }),
      { numRuns: 100 },
    );
  });

  it("says that there is nothing new to look at only when another look would find the same", () => {
    fc.assert(
      fc.property(run, (events) => {
        let trail = newTrail;
        for (const one of events) {
          const next = followStep(trail, one, 0);
          if (!hasMoved(trail, next)) expect(loopsOf(next)).toEqual(loopsOf(trail));
          trail = next;
        }
      }),
      { numRuns: 100 },
    );
  });

  it("takes as much room after 100,000 events as after 10,000", () => {
    let trail = newTrail;
    const sizes: number[] = [];
    for (let n = 0; n < 100_000; n++) {
      if (n === 10_000) sizes.push(JSON.stringify(trail).length);
      trail = followStep(trail, endless(n), n);
    }
    sizes.push(JSON.stringify(trail).length);
    expect(Math.max(...sizes)).toBeLessThan(32_768);
    expect((sizes[1] ?? 0) - (sizes[0] ?? 0)).toBeLessThan(500);
  });
});

function endless(n: number): StepEvent {
  const text = `${n}`.padStart(16, "0");
  if (n % 3 === 0) return { kind: "tool_call", tool: "shell", args_digest: text };
  if (n % 3 === 1) return { kind: "tool_result", text_digest: text, text_class: text, failed: n % 2 === 0 };
  return { kind: "message", role: "agent", text_digest: text, text_class: text };
}
