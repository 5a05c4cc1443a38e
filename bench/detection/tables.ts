import { alignRows } from "../report.ts";
import { alarmsOf, isAlarm, isDevelopment, type Judged, judges } from "./judge-traces.ts";
import type { LabelledRun } from "./read-traces.ts";
import { type Score, scoreAlarms, showShare } from "./score.ts";

const measures: readonly (readonly [string, keyof Score])[] = [
  ["precision, transients right", "precisionTransientsRight"],
  ["precision, transients wrong", "precisionTransientsWrong"],
  ["recall of all stuck runs", "recall"],
  ["recall of the mechanically repetitive", "recallMechanical"],
];

/** Every judge on all labelled runs, on those the thresholds were developed on, and on the others. */
export function agreementTable(judged: readonly Judged[], labels: readonly LabelledRun[]): string {
  const sourceOf = new Map(judged.map((one) => [one.trace, one.source]));
  const isOfDevelopment = ({ trace }: LabelledRun) => isDevelopment({ source: sourceOf.get(trace) ?? "" });
  const splits: readonly (readonly [string, readonly LabelledRun[]])[] = [
    ["all", labels],
    ["developed on", labels.filter(isOfDevelopment)],
    ["others", labels.filter((label) => !isOfDevelopment(label))],
  ];
  const rows = [["agreement with the labels", "runs", ...judges]];
  for (const [measure, field] of measures) {
    for (const [split, of] of splits) {
      const shares = judges.map((judge) => showShare(scoreAlarms(of, alarmsOf(judge, judged))[field]));
      rows.push([measure, `${split} (${of.length})`, ...shares]);
    }
  }
  return print(rows);
}

/** How every source was judged, labelled or not. */
export function sourcesTable(judged: readonly Judged[]): string {
  const sources = [...new Set(judged.map(({ source }) => source))].toSorted();
  const rows = [["source", "runs", "stuck", "suspect", "OpenHands rule", "Gemini CLI rule"]];
  for (const source of sources) {
    const runs = judged.filter((one) => one.source === source);
    const count = (of: (one: Judged) => boolean) => String(runs.filter(of).length);
    rows.push([
      isDevelopment({ source }) ? `${source} (developed on)` : source,
      String(runs.length),
      count(isAlarm),
      count(({ verdict }) => verdict === "suspect"),
      count(({ openHands }) => openHands),
      count(({ gemini }) => gemini),
    ]);
  }
  return print(rows);
}

/** Where we disagree with the labels: each a question to look at. */
export function disagreementsTable(judged: readonly Judged[], labels: readonly LabelledRun[]): string {
  const byTrace = new Map(judged.map((one) => [one.trace, one]));
  const rows = [["disagreement", "label", "kind", "verdict"]];
  for (const { trace, label, kind } of labels) {
    const one = byTrace.get(trace);
    if (one === undefined || isAlarm(one) === (label === "stuck")) continue;
    rows.push([trace, label, kind, one.verdict]);
  }
  return print(rows);
}

const print = (rows: readonly (readonly string[])[]): string => `${alignRows(rows).join("\n")}\n`;
