import { policyFrom, type Settings, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { busy, looping, type RecordedLine } from "./recorded.test-support.ts";
import { replayRun } from "./replay-run.ts";
import { comparePolicies, sourceOf, summariseComparison, summariseRuns } from "./summarise-runs.ts";

const settings = settingsOf("default");
const policyOf = (over: Partial<Settings>) => policyFrom("p", { ...settings, ...over });
const patient = policyOf({ loops: { ...settings.loops, identical_step: { enabled: true, suspect: 4, stuck: 7 } } });

const compare = (a = policyOf({}), b = patient) =>
  comparePolicies(
    [looping("x/loop", 8), looping("x/short", 5), busy("y/work")].map((events: RecordedLine[]) => {
      const trace = events[0]?.trace ?? "";
      return { trace, judged: [a, b].map((policy) => replayRun({ trace, events }, policy)), sketch: null };
    }),
  );

describe("two policies side by side", () => {
  it("differ run by run in verdict, event and what they do", () => {
    expect(compare().map(({ trace, differs }) => [trace, differs])).toEqual([
      ["x/loop", ["index"]],
      ["x/short", ["verdict", "index", "alerts"]],
      ["y/work", []],
    ]);
    expect(summariseComparison(compare())).toMatchObject({
      runs: 3,
      differing: 2,
      verdicts: [{ a: "stuck", b: "suspect", runs: 1 }],
      a: { alerts: 2, terminations: 0, verdicts: { stuck: 2, healthy: 1 } },
      b: { alerts: 1, verdicts: { stuck: 1, suspect: 1, healthy: 1 } },
    });
  });

  it("differ in what they do alone when one of them only observes", () => {
    const [loop] = compare(policyOf({}), policyOf({ mode: "observe" }));
    expect(loop?.differs).toEqual(["alerts"]);
  });
});

describe("a summary", () => {
  it("counts verdicts by source, the part of the name before the first slash", () => {
    const runs = [...compare().map(({ b }) => b), replayRun({ trace: "alone", events: busy("alone") }, patient)];
    expect(summariseRuns(runs)).toMatchObject({
      runs: 4,
      verdicts: { healthy: 2, suspect: 1, stuck: 1, failing: 0 },
      sources: [
        { source: "x", runs: 2, events: 26 },
        { source: "y", runs: 1 },
        { source: null, runs: 1 },
      ],
    });
    expect(sourceOf("a/b/c")).toBe("a");
    expect(sourceOf("/b")).toBeNull();
  });
});
