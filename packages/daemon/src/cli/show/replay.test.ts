import { policyFrom, settingsOf } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { measureLabels } from "../../replay/measure-labels.ts";
import { busy, hostile, looping } from "../../replay/recorded.test-support.ts";
import { replayRun } from "../../replay/replay-run.ts";
import { comparePolicies, summariseComparison } from "../../replay/summarise-runs.ts";
import { type Line, paintLine, widthOf } from "../text/styled-text.ts";
import { showAccuracy, showComparison, showComparisonSummary, showRuns, showSummary, sumUp } from "./replay.ts";

const policy = policyFrom("default", settingsOf("default"));
const strange = `${"s".repeat(30)}/${hostile}${"x".repeat(100)}`;
const fine = replayRun({ trace: "x/fine", events: busy("x/fine") }, policy);
const bad = replayRun({ trace: "x/bad", events: looping("x/bad") }, policy);
const meh = replayRun({ trace: strange, events: looping(strange, 3) }, policy);
const runs = [fine, meh, bad];
const labels = new Map(
  [fine, meh, bad].map(({ trace }) => [trace, { trace, label: "stuck" as const, kind: hostile, why: hostile }]),
);
const plain = (lines: readonly Line[]) => lines.map((line) => paintLine(line, false)).join("\n");

describe("rouse replay", () => {
  it("lists the runs that are not healthy, the worst first, with where and why", () => {
    const text = plain(showRuns([fine, bad], false, 80));
    expect(text).toBe(
      [
        "stuck    x/bad",
        "         event 9 of 16: the same call with the same result 5 times, and no edit",
        "         was seen in between",
        "",
      ].join("\n"),
    );
    expect(plain(showRuns([fine, bad], true, 80))).toContain("healthy  x/fine\n         24 events");
  });

  it("sums up by source", () => {
    const rows = plain(showSummary([fine, bad], 80)).split("\n");
    expect(rows.map((row) => row.split(/\s+/).join(" "))).toEqual([
      "SOURCE RUNS EVENTS HEALTHY SUSPECT STUCK FAILING",
      "x 2 40 1 – 1 –",
      "all 2 40 1 – 1 –",
    ]);
    expect(sumUp([fine, bad])).toBe("2 runs, 40 events: 1 healthy, 0 suspect, 1 stuck, 0 failing");
  });

  it("shows precision, recall, what was missed and false alarms", () => {
    const text = plain(showAccuracy(measureLabels([fine, bad], labels), 80));
    expect(text).toContain("Against 2 labels (1 more are of runs that are not here)");
    expect(text).toMatch(/precision, transients wrong +1\.00 +1 of 1/);
    expect(text).toMatch(/recall, all stuck +0\.50 +1 of 2/);
    expect(text).toMatch(/Missed \(1\)\nhealthy +x\/fine/);
    expect(text).not.toContain("False alarms");
  });

  it("fits into 80 columns, and nothing a trace or a label says acts on the terminal", () => {
    const compared = comparePolicies(runs.map((run) => ({ trace: run.trace, judged: [run, bad], sketch: null })));
    const lines = [
      ...showRuns(runs, true, 80),
      ...showSummary(runs, 80),
      ...showAccuracy(measureLabels(runs, labels), 80),
      ...showComparison(compared, true, 80),
      ...showComparisonSummary(summariseComparison(compared), [`/${hostile}`, "b".repeat(90)], 80),
    ];
    for (const line of lines) expect(widthOf(paintLine(line, false))).toBeLessThanOrEqual(80);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
    expect(plain(lines)).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  });
});

describe("rouse replay --compare", () => {
  it("shows each side where they differ, and how many moved from what to what", () => {
    const compared = comparePolicies([
      { trace: "x/bad", judged: [bad, fine], sketch: null },
      { trace: "x/fine", judged: [fine, fine], sketch: null },
    ]);
    expect(plain(showComparison(compared, false, 80))).toMatch(
      /^x\/bad\n {2}a {2}stuck {2}event 9, 1 alert: the same call.*\n.*\n {2}b {2}healthy\n$/,
    );
    const summary = plain(showComparisonSummary(summariseComparison(compared), ["a.yaml", "b.yaml"], 80));
    expect(summary).toMatch(/POLICY +HEALTHY +SUSPECT +STUCK +FAILING +ALERTS +KILLS/);
    expect(summary).toContain("They differ in 1 of 2 runs.\n      1  a stuck, b healthy");
  });
});
