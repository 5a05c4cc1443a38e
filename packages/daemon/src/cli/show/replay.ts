import { describeDuration } from "@rouse/contract";
import type { Accuracy, Mistake, Share } from "../../replay/measure-labels.ts";
import { type Replayed, type Verdict, verdicts } from "../../replay/replay-run.ts";
import type { Comparison, ComparisonSummary, Totals } from "../../replay/summarise-runs.ts";
import { type SourceSummary, summariseRuns, worstFirst } from "../../replay/summarise-runs.ts";
import { drawTable } from "../text/draw-table.ts";
import { type Line, type Span, type Style, styled, wrapLine } from "../text/styled-text.ts";

const styles: Readonly<Record<Verdict, Style>> = {
  healthy: "green",
  suspect: "yellow",
  stuck: "red",
  failing: "magenta",
};
const indent = 9;
const margin = " ".repeat(indent);

const styledVerdict = (verdict: Verdict): Span => styled(styles[verdict], verdict);
const paddedVerdict = (verdict: Verdict): Span => styled(styles[verdict], verdict.padEnd(indent));

/** The runs worth looking at, the worst first; all of them if asked. */
export function showRuns(runs: readonly Replayed[], all: boolean, width: number): Line[] {
  const shown = worstFirst(runs).filter(({ verdict }) => all || verdict !== "healthy");
  const lines = shown.flatMap((run) => [
    ...wrapLine([paddedVerdict(run.verdict), styled("bold", run.trace)], width, indent),
    ...wrapLine([margin, describeRun(run)], width, indent),
  ]);
  return lines.length === 0 ? [] : [...lines, []];
}

function describeRun(run: Replayed): string {
  if (run.index === null) return count(run.events, "event");
  const because = run.because.map(({ text }) => text).join("; ");
  return `event ${run.index} of ${run.events}${run.after === null ? "" : `, after ${describeDuration(run.after)}`}: ${because}`;
}

export function showSummary(runs: readonly Replayed[], width: number): Line[] {
  const { sources, ...all } = summariseRuns(runs);
  const columns = [{ title: "SOURCE", least: 12 }, { title: "RUNS" }, { title: "EVENTS" }];
  const row = (name: string, { runs: n, events, verdicts: counts }: Omit<SourceSummary, "source">) => [
    name,
    String(n),
    String(events),
    ...verdicts.map((verdict) => (counts[verdict] === 0 ? "–" : styled(styles[verdict], String(counts[verdict])))),
  ];
  return drawTable(
    [...columns, ...verdicts.map((verdict) => ({ title: verdict.toUpperCase() }))],
    [...sources.map(({ source, ...counts }) => row(source ?? "no source", counts)), row("all", all)],
    width,
  );
}

/** The summary in one sentence, for where a table would be in the way. */
export function sumUp(runs: readonly Replayed[]): string {
  const { verdicts: counts, events } = summariseRuns(runs);
  return `${count(runs.length, "run")}, ${count(events, "event")}: ${verdicts.map((one) => `${counts[one]} ${one}`).join(", ")}`;
}

export function showAccuracy(accuracy: Accuracy, width: number): Line[] {
  const { precision, recall, recallByKind, labelled, absent } = accuracy;
  const row = (name: string, share: Share) => [name, describeShare(share), `${share.count} of ${share.of}`];
  return [
    [],
    [
      styled("bold", `Against ${count(labelled, "label")}`),
      absent === 0 ? "" : ` (${absent} more are of runs that are not here)`,
    ],
    ...drawTable(
      [{ title: "MEASURE", least: 20 }, { title: "SHARE" }, { title: "RUNS" }],
      [
        row("precision, transients right", precision.transientsRight),
        row("precision, transients wrong", precision.transientsWrong),
        row("recall, all stuck", recall),
        ...Object.entries(recallByKind).map(([kind, share]) => row(`recall, ${kind}`, share)),
      ],
      width,
    ),
    [],
    ...drawTable(
      [{ title: "LABEL" }, ...verdicts.map((verdict) => ({ title: verdict.toUpperCase() }))],
      Object.entries(accuracy.verdicts).map(([label, counts]) => [
        label,
        ...verdicts.map((one) => String(counts[one])),
      ]),
      width,
    ),
    ...showMistakes("Missed", accuracy.missed, width),
    ...showMistakes("False alarms", accuracy.falseAlarms, width),
  ];
}

const describeShare = ({ share }: Share): string => (share === null ? "–" : share.toFixed(2));

function showMistakes(title: string, mistakes: readonly Mistake[], width: number): Line[] {
  if (mistakes.length === 0) return [];
  const lines = mistakes.flatMap(({ trace, verdict, label, kind, why }) => [
    ...wrapLine([paddedVerdict(verdict), trace], width, indent),
    ...wrapLine([margin, styled("dim", `${label}, ${kind}${why === null ? "" : `: ${why}`}`)], width, indent),
  ]);
  return [[], [styled("bold", `${title} (${mistakes.length})`)], ...lines];
}

/** What each of two policies would have done in the runs where they differ. */
export function showComparison(compared: readonly Comparison[], all: boolean, width: number): Line[] {
  const shown = compared.filter(({ differs }) => all || differs.length > 0);
  const lines = shown.flatMap(({ trace, a, b }) => [
    ...wrapLine([styled("bold", trace)], width, 2),
    ...showSide("a", a, width),
    ...showSide("b", b, width),
  ]);
  return lines.length === 0 ? [] : [...lines, []];
}

function showSide(side: "a" | "b", run: Replayed, width: number): Line[] {
  const deeds = [
    ...(run.alerts === 0 ? [] : [count(run.alerts, "alert")]),
    ...(run.terminations === 0 ? [] : [count(run.terminations, "termination")]),
  ];
  const where = run.index === null ? "" : `  event ${run.index}`;
  const why = run.because.map(({ text }) => text).join("; ");
  const words = [where, deeds.length === 0 ? "" : `, ${deeds.join(", ")}`, why === "" ? "" : `: ${why}`].join("");
  return wrapLine([`  ${side}  `, styledVerdict(run.verdict), words], width, 5);
}

export function showComparisonSummary(
  { runs, differing, verdicts: moved, a, b }: ComparisonSummary,
  names: readonly [string, string],
  width: number,
): Line[] {
  const row = (name: string, { verdicts: counts, alerts, terminations }: Totals) => [
    name,
    ...verdicts.map((verdict) => String(counts[verdict])),
    String(alerts),
    String(terminations),
  ];
  const all = count(runs, "run");
  const titles = [...verdicts.map((verdict) => verdict.toUpperCase()), "ALERTS", "KILLS"].map((title) => ({ title }));
  return [
    ...drawTable(
      [{ title: "POLICY", least: 8 }, ...titles],
      [row(`a  ${names[0]}`, a), row(`b  ${names[1]}`, b)],
      width,
    ),
    [],
    [differing === 0 ? `Both do the same in ${all}.` : `They differ in ${differing} of ${all}.`],
    ...moved.map(({ a: from, b: to, runs: n }) => {
      return [`  ${String(n).padStart(5)}  a `, styledVerdict(from), ", b ", styledVerdict(to)];
    }),
  ];
}

const count = (n: number, what: string): string => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
