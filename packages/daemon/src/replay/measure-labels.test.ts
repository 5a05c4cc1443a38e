import { describe, expect, it } from "vitest";
import { type Label, measureLabels, readLabels } from "./measure-labels.ts";
import { collectProblems } from "./note-problems.ts";
import { recordingOf } from "./recorded.test-support.ts";
import type { Replayed, Verdict } from "./replay-run.ts";

const run = (trace: string, verdict: Verdict) => ({ trace, verdict }) as Replayed;
const labelsOf = (...labels: Label[]) => new Map(labels.map((label) => [label.trace, label]));

describe("verdicts against labels", () => {
  const labels = labelsOf(
    { trace: "a", label: "stuck", kind: "cycle" },
    { trace: "b", label: "stuck", kind: "cycle", why: "reworded" },
    { trace: "c", label: "stuck", kind: "silent_gap" },
    { trace: "d", label: "transient", kind: "retry" },
    { trace: "e", label: "not_stuck", kind: "progress" },
    { trace: "gone", label: "stuck", kind: "cycle" },
  );
  const runs = [
    run("a", "stuck"),
    run("b", "suspect"),
    run("c", "failing"),
    run("d", "stuck"),
    run("e", "stuck"),
    run("unlabelled", "stuck"),
  ];
  const accuracy = measureLabels(runs, labels);

  it("give precision both ways, and recall in all and by kind", () => {
    expect(accuracy).toMatchObject({
      labelled: 5,
      absent: 1,
      precision: {
        transientsRight: { count: 3, of: 4, share: 0.75 },
        transientsWrong: { count: 2, of: 4, share: 0.5 },
      },
      recall: { count: 2, of: 3 },
      recallByKind: { cycle: { count: 1, of: 2, share: 0.5 }, silent_gap: { count: 1, of: 1, share: 1 } },
    });
  });

  it("name what was missed, and whom a false alarm would have hit", () => {
    expect(accuracy.missed).toEqual([
      { trace: "b", verdict: "suspect", label: "stuck", kind: "cycle", why: "reworded" },
    ]);
    expect(accuracy.falseAlarms.map(({ trace }) => trace)).toEqual(["d", "e"]);
    expect(accuracy.verdicts.stuck).toEqual({ healthy: 0, suspect: 1, stuck: 1, failing: 1 });
  });

  it("have no precision when there was no alarm: that is unknown, not zero", () => {
    const { precision, recall } = measureLabels([run("e", "healthy")], labels);
    expect(precision.transientsRight).toEqual({ count: 0, of: 0, share: null });
    expect(recall.share).toBeNull();
  });
});

describe("a file of labels", () => {
  it("is read line by line; what is no label is told and left out", async () => {
    const text = [
      '{"trace":"a","label":"stuck","kind":"cycle","why":"w"}',
      '{"trace":"b","label":"perhaps"}',
      "nope",
      "",
      '{"trace":"a","label":"not_stuck"}',
      '{"trace":"c","label":"transient"}',
    ].join("\n");
    const problems = collectProblems();
    const labels = await readLabels(recordingOf("labels.jsonl", text), problems);
    expect([...labels.values()].map(({ trace, label }) => `${trace} ${label}`)).toEqual(["a stuck", "c transient"]);
    expect(problems.describe().map((one) => one.split(" ")[0])).toEqual([2, 3, 5].map((n) => `labels.jsonl:${n}:`));
    expect(problems.faults()).toBe(3);
  });
});
