import type { Eye, Sight } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stepOfSight } from "../steps/step-of-sight.ts";
import { joinEyes, startJoining } from "./join-eyes.ts";

const call = (id: string): Sight => ({ kind: "tool-started", id, name: "Bash", argsDigest: "a", timeoutSeconds: null });
const result = (id: string): Sight => ({ kind: "tool-ended", id, failed: true, resultDigest: "r" });
const said = (digest: string): Sight => ({ kind: "said", digest });
const ended: Sight = { kind: "turn-ended", outcome: "success", reason: "x" };

/** Joins what the eyes tell, in the given order. */
function joined(told: readonly (readonly [Eye, Sight])[]): Sight[] {
  let state = startJoining();
  return told.flatMap(([eye, sight]) => {
    const step = joinEyes(state, eye, [sight]);
    state = step.state;
    return step.sights;
  });
}

type Happening = "call" | "said" | "limit" | "retry" | "turn";
const happenings = fc.array(fc.constantFrom<Happening>("call", "call", "said", "limit", "retry", "turn"), {
  maxLength: 30,
});

/** A run as an eye tells it that sees everything. */
function runOf(happened: readonly Happening[]): Sight[] {
  const tell = (what: Happening, n: number): Sight[] => {
    switch (what) {
      case "call":
        return [call(`c${n}`), result(`c${n}`), { kind: "model-asked" }, { kind: "tokens", total: n * 10 }];
      case "said":
        return [said(`w${n % 3}`)];
      case "limit":
        return [{ kind: "rate-limited", pattern: "p", resetsInMs: null, by: "stream" }];
      case "retry":
        return [{ kind: "retries", attempt: 1, inMs: 0, status: null }];
      case "turn":
        return [ended];
    }
  };
  return happened.flatMap(tell);
}

/** Hooks tell tools and turns, but no messages. */
const tells = (eye: Eye, sight: Sight): boolean =>
  eye !== "hooks" || (sight.kind !== "said" && sight.kind !== "retries" && sight.kind !== "tokens");

const steps = (sights: readonly Sight[]): string[] =>
  sights
    .filter((sight) => stepOfSight(sight) !== null)
    .map((sight) =>
      "id" in sight ? `${sight.kind} ${sight.id}` : "digest" in sight ? `said ${sight.digest}` : sight.kind,
    )
    .sort();

describe("what several eyes tell of one run", () => {
  it("has the end of a limit, whichever eye told of the limit first", () => {
    const limit = (resetsInMs: number | null): Sight => ({
      kind: "rate-limited",
      pattern: "p",
      resetsInMs,
      by: "stream",
    });
    const told = joined([
      ["hooks", limit(null)],
      ["stream", limit(40_000)],
      ["session-file", limit(null)],
    ]);
    expect(told).toEqual([limit(null), limit(40_000)]);
  });

  it("has a call open until it is over, whatever an eye says that does not see calls while they run", () => {
    const asked: Sight = { kind: "model-asked" };
    const told = joined([
      ["session-file", asked],
      ["session-file", call("c1")],
      ["stream", asked],
      ["stream", call("c1")],
      ["stream", result("c1")],
      ["stream", asked],
    ]);
    expect(told).toEqual([asked, call("c1"), result("c1"), asked]);
  });

  it("has the model at work when a call was given up, by the word of who told of that call, or with the next turn", () => {
    const asked: Sight = { kind: "model-asked" };
    const open: [Eye, Sight] = ["session-file", call("c1")];
    expect(joined([open, ["session-file", asked]])).toEqual([call("c1"), asked]);
    expect(joined([["stream", asked], open, ["session-file", asked], ["stream", asked]]).at(-1)).toEqual(asked);
    expect(joined([open, ["stream", ended], ["stream", asked]]).at(-1)).toEqual(asked);
  });

  it("is the steps of the run, whichever eyes are open and in whatever order they tell them", () => {
    const eyes = fc.subarray<Eye>(["stream", "hooks", "session-file"], { minLength: 1 });
    fc.assert(
      fc.property(happenings, eyes, fc.infiniteStream(fc.nat()), (happened, open, picks) => {
        const run = runOf(happened);
        const queues = open.map((eye) => ({ eye, left: run.filter((sight) => tells(eye, sight)) }));
        const told: [Eye, Sight][] = [];
        for (const pick of picks) {
          const waiting = queues.filter(({ left }) => left.length > 0);
          const next = waiting[pick % Math.max(1, waiting.length)];
          if (next === undefined) break;
          told.push([next.eye, next.left.shift() as Sight]);
        }
        const seen = run.filter((sight) => open.some((eye) => tells(eye, sight)));
        expect(steps(joined(told))).toEqual(steps(seen));
      }),
      { numRuns: 400 },
    );
  });

  it("counts a call once when its file is found long after its hooks have told of it", () => {
    const calls = Array.from({ length: 500 }, (_, n) => [call(`c${n}`), result(`c${n}`)]).flat();
    const told = [
      ...calls.map((sight) => ["hooks", sight] as const),
      ...calls.map((s) => ["session-file", s] as const),
    ];
    expect(joined(told)).toHaveLength(1000);
  });

  it("hears of how things stand from the best eye only: a slower one would say how they stood", () => {
    const asked: Sight = { kind: "model-asked" };
    expect(
      joined([
        ["session-file", asked],
        ["hooks", asked],
        ["session-file", asked],
      ]),
    ).toHaveLength(2);
  });

  it("hears from its hooks what wakes it, also when its file was first to tell that the turn is over", () => {
    const ended: Sight = { kind: "turn-ended", outcome: "success", reason: "r" };
    const woken: Sight = { ...ended, wokenBy: "children" };
    expect(
      joined([
        ["session-file", ended],
        ["hooks", woken],
        ["hooks", ended],
        ["session-file", woken],
      ]),
    ).toEqual([ended, woken, ended]);
  });

  it("takes no limit off the screen once the program itself has told of one", () => {
    const words: Sight = { kind: "rate-limited", pattern: "words", resetsInMs: null };
    const told: Sight = { kind: "rate-limited", pattern: "told", resetsInMs: 1000, by: "stream" };
    expect(
      joined([
        ["screen", words],
        ["hooks", told],
        ["screen", words],
        ["screen", { ...words, resetsInMs: 90_000 }],
      ]),
    ).toEqual([words, told]);
  });

  it("hears from the screen what only that says, also when the program itself has told of its trouble", () => {
    const told: Sight = { kind: "rate-limited", pattern: "told", resetsInMs: null, by: "stream" };
    const failed: Sight = { kind: "error", pattern: "told", digest: "d", text: "t" };
    const goesOn: Sight = { kind: "rate-limited", pattern: "words", resetsInMs: null, continues: true };
    const shown: Sight = { kind: "error", pattern: "words", digest: "e", text: "t" };
    expect(
      joined([
        ["stream", told],
        ["stream", failed],
        ["screen", goesOn],
        ["screen", shown],
      ]),
    ).toEqual([told, failed, goesOn, shown]);
  });

  it("has trouble once that several eyes tell", () => {
    const retry: Sight = { kind: "retries", attempt: 1, inMs: 0, status: null };
    const failed: Sight = { kind: "error", pattern: "p", digest: "d", text: "t" };
    expect(
      joined([
        ["stream", retry],
        ["session-file", retry],
        ["stream", failed],
        ["session-file", failed],
        ["screen", retry],
      ]),
    ).toEqual([retry, failed]);
  });

  it("lets what only a screen shows through", () => {
    const asks: Sight = { kind: "asks", what: "permission", pattern: "p" };
    const error: Sight = { kind: "error", pattern: "p", digest: "d", text: "t" };
    expect(
      joined([
        ["screen", asks],
        ["hooks", asks],
        ["screen", error],
        ["screen", error],
      ]),
    ).toHaveLength(4);
  });

  it("remembers no more than it needs, however long the run", () => {
    let state = startJoining();
    for (let n = 0; n < 9000; n++) state = joinEyes(state, "hooks", [call(`c${n}`), result(`c${n}`), said("w")]).state;
    expect(state.started.length).toBeLessThanOrEqual(4000);
    expect(state.ended.length).toBeLessThanOrEqual(4000);
    expect(JSON.stringify(state).length).toBeLessThan(100_000);
  });
});
