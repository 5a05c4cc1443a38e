import type { Sight } from "@rouse/contract";
import fc from "fast-check";
import type { Kind, Step } from "./ladder-life.test-support.ts";

const word = <const T extends string>(name: T) => fc.constant(name);
const few = fc.constantFrom("a", "b");

const sight = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: word("output"), rows: fc.nat(3), novel: fc.nat(8) }) },
  {
    weight: 6,
    arbitrary: fc.record({ kind: word("error"), pattern: few, digest: few, text: fc.constant("secret words") }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: word("asks"), what: fc.constantFrom("prompt", "question"), pattern: few }),
  },
  { weight: 1, arbitrary: fc.record({ kind: word("completed"), pattern: few }) },
  { weight: 2, arbitrary: fc.record({ kind: word("turn-ended"), outcome: word("success"), reason: few }) },
) as fc.Arbitrary<Sight>;

const sometimes = <T>(one: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: one });

const said = fc.constantFrom("update", "handoff", "blocker");
const seconds = fc.integer({ min: 1, max: 60 });

/** What may happen next. Time passes and hands answer often, so that the upper rungs are reached. */
export const steps = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: word("wait"), seconds }) },
  { weight: 24, arbitrary: fc.record({ do: word("live"), seconds }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: word("beat"), answer: sometimes(said), said: fc.nat(3) }),
  },
  { weight: 5, arbitrary: fc.record({ do: word("report"), sights: fc.array(sight, { minLength: 1, maxLength: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ do: word("step"), same: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: word("exit"),
      code: fc.constantFrom(0, 1, 1),
      cause: fc.constantFrom("by-itself", "by-itself", "stopped", "stopped", "killed", "person"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: word("lose"), process: fc.constantFrom("gone", "alive") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("return", "register", "checkpoint", "be-nudged") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("be-escalated", "acknowledge", "acknowledge") }) },
  { weight: 3, arbitrary: fc.record({ do: word("start-again") }) },
  { weight: 1, arbitrary: fc.record({ do: word("attach"), terminals: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ do: word("processes"), are: fc.constantFrom("quiet", "busy", "unknown") }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: word("order"),
      order: fc.constantFrom("stop", "restart"),
      force: fc.boolean(),
      again: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: word("decide"),
      decision: fc.constantFrom("allow_more_time", "force_handoff", "terminate_and_recover"),
      right: fc.constantFrom(true, true, false),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: word("answer"), kind: said }) },
  { weight: 16, arbitrary: fc.record({ do: word("hands"), which: fc.constantFrom(0, 0, 0, 1, 2), how: fc.nat(11) }) },
  { weight: 1, arbitrary: fc.record({ do: word("blind"), seconds: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("freeze", "hold", "block-critical"), on: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: word("brake"), seconds: fc.nat(40) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: word("mode"), mode: fc.constantFrom("observe", "assist", "act", "act", "act") }),
  },
) as fc.Arbitrary<Step>;

const rarely = fc.constantFrom(false, false, false, false, false, true);

export const kinds: fc.Arbitrary<Kind> = fc.record({
  held: fc.constantFrom(true, true, true, false),
  mode: fc.constantFrom("act", "act", "act", "assist", "observe"),
  protected: rarely,
  task: fc.boolean(),
  input: fc.constantFrom("stdin", "terminal", "none"),
  foreground: rarely,
  killsForErrors: fc.boolean(),
  killsIdle: fc.constantFrom(true, true, false),
  acceptsUnsaved: fc.boolean(),
  promptHands: fc.boolean(),
  cannot: fc.constantFrom(null, null, null, "save-work", "stop-agent", "restart-agent", "nudge-agent", "escalate"),
});
