import { comparePolicies, summariseComparison } from "../../replay/compare-policies.ts";
import { measureLabels } from "../../replay/measure-labels.ts";
import type { Label } from "../../replay/read-labels.ts";
import type { JudgedRun } from "../../replay/replay-recordings.ts";
import type { Replayed } from "../../replay/replay-run.ts";
import { summariseRuns } from "../../replay/summarise-runs.ts";
import { showAccuracy, showComparison, showComparisonSummary, showRuns, showSummary, sumUp } from "../show/replay.ts";
import type { Surroundings } from "../surroundings.ts";

type Labels = ReadonlyMap<string, Label> | null;

export interface PrintOptions {
  readonly all?: true;
  readonly json?: true;
}

export const firstOf = (runs: readonly JudgedRun[]): Replayed[] => runs.flatMap(({ judged }) => judged.slice(0, 1));

export function showOutcome(
  here: Surroundings,
  runs: readonly JudgedRun[],
  labels: Labels,
  { all, json }: PrintOptions,
): void {
  const judged = firstOf(runs);
  const accuracy = labels === null ? null : measureLabels(judged, labels);
  if (!json) {
    here.print([...showRuns(judged, all === true, here.width), ...showSummary(judged, here.width)]);
    if (accuracy !== null) here.print(showAccuracy(accuracy, here.width));
    return;
  }
  for (const run of judged) here.printJsonLine({ ...documentOf(run), ...labelOf(run, labels) });
  if (accuracy !== null) here.printJsonLine({ summary: { ...summariseRuns(judged), accuracy } });
  here.warn(sumUp(judged));
}

export function showCompared(
  here: Surroundings,
  runs: readonly JudgedRun[],
  labels: Labels,
  names: readonly [string, string],
  { all, json }: PrintOptions,
): void {
  const compared = comparePolicies(runs);
  const summary = summariseComparison(compared);
  const sides = [compared.map(({ a }) => a), compared.map(({ b }) => b)];
  const accuracy = labels === null ? null : sides.map((side) => measureLabels(side, labels));
  if (json) {
    for (const { trace, a, b, differs } of compared)
      if (all || differs.length > 0) here.printJsonLine({ trace, differs, a: sideOf(a), b: sideOf(b) });
    const [a, b] = accuracy ?? [];
    here.printJsonLine({
      summary: { policies: names, ...summary, ...(accuracy === null ? {} : { accuracy: { a, b } }) },
    });
    return;
  }
  here.print([
    ...showComparison(compared, all === true, here.width),
    ...showComparisonSummary(summary, names, here.width),
    ...(accuracy ?? []).flatMap((one, side) => [
      [],
      [`${side === 0 ? "a" : "b"}  ${names[side]}`],
      ...showAccuracy(one, here.width),
    ]),
  ]);
}

function documentOf({ trace, ...run }: Replayed) {
  return { trace, ...sideOf({ trace, ...run }), events: run.events };
}

function sideOf({ verdict, index, because, alerts, terminations }: Replayed) {
  return {
    verdict,
    index,
    because: because.map(({ kind, level, text, confidence, evidence }) => ({
      kind,
      level,
      text,
      confidence,
      evidence,
    })),
    alerts,
    terminations,
  };
}

function labelOf({ trace }: Replayed, labels: Labels) {
  const label = labels?.get(trace);
  return label === undefined ? {} : { label: label.label, labelKind: label.kind ?? null };
}
