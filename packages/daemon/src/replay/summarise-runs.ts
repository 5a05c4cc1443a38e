import type { JudgedRun } from "./replay-recordings.ts";
import { countVerdicts, type Replayed, type Verdict, type VerdictCounts, verdicts } from "./replay-run.ts";

export interface SourceSummary {
  /** `null` for runs whose name has no `/`. */
  readonly source: string | null;
  readonly runs: number;
  readonly events: number;
  readonly verdicts: VerdictCounts;
}

interface RunsSummary extends Omit<SourceSummary, "source"> {
  /** In the order of their names. */
  readonly sources: readonly SourceSummary[];
}

/** The source of a run: its name up to the first `/`. */
export function sourceOf(trace: string): string | null {
  const slash = trace.indexOf("/");
  return slash > 0 ? trace.slice(0, slash) : null;
}

export function summariseRuns(runs: readonly Replayed[]): RunsSummary {
  const bySource = new Map<string | null, Replayed[]>();
  for (const run of runs) {
    const source = sourceOf(run.trace);
    const mates = bySource.get(source);
    if (mates === undefined) bySource.set(source, [run]);
    else mates.push(run);
  }
  const sources = [...bySource].toSorted(([a], [b]) => compareNames(a, b));
  return { ...count(runs), sources: sources.map(([source, mates]) => ({ source, ...count(mates) })) };
}

const compareNames = (a: string | null, b: string | null): number => {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return a < b ? -1 : 1;
};

const count = (runs: readonly Replayed[]): Omit<SourceSummary, "source"> => ({
  runs: runs.length,
  events: runs.reduce((sum, run) => sum + run.events, 0),
  verdicts: countVerdicts(runs),
});

/** The gravest verdict first; equals in the order they came. */
export const worstFirst = (runs: readonly Replayed[]): readonly Replayed[] =>
  runs.toSorted((a, b) => verdicts.indexOf(b.verdict) - verdicts.indexOf(a.verdict));

/** One run under two policies. */
export interface Comparison {
  readonly trace: string;
  readonly a: Replayed;
  readonly b: Replayed;
  /** What differs; empty when both policies do the same. */
  readonly differs: readonly Difference[];
}

type Difference = "verdict" | "index" | "alerts" | "terminations";

export interface ComparisonSummary {
  readonly runs: number;
  readonly differing: number;
  /** How many runs have which verdicts under both policies, where the verdicts differ. */
  readonly verdicts: readonly { readonly a: Verdict; readonly b: Verdict; readonly runs: number }[];
  readonly a: Totals;
  readonly b: Totals;
}

export interface Totals {
  readonly verdicts: VerdictCounts;
  readonly alerts: number;
  readonly terminations: number;
}

export function comparePolicies(runs: readonly JudgedRun[]): readonly Comparison[] {
  return runs.flatMap(({ trace, judged: [a, b] }) => {
    if (a === undefined || b === undefined) return [];
    const differs = (["verdict", "index", "alerts", "terminations"] as const).filter((what) => a[what] !== b[what]);
    return [{ trace, a, b, differs }];
  });
}

export function summariseComparison(compared: readonly Comparison[]): ComparisonSummary {
  const pairs = new Map<string, { a: Verdict; b: Verdict; runs: number }>();
  for (const { a, b } of compared) {
    if (a.verdict === b.verdict) continue;
    const pair = pairs.get(`${a.verdict} ${b.verdict}`) ?? { a: a.verdict, b: b.verdict, runs: 0 };
    pair.runs += 1;
    pairs.set(`${a.verdict} ${b.verdict}`, pair);
  }
  return {
    runs: compared.length,
    differing: compared.filter(({ differs }) => differs.length > 0).length,
    verdicts: [...pairs.values()].toSorted((one, other) => other.runs - one.runs),
    a: total(compared.map(({ a }) => a)),
    b: total(compared.map(({ b }) => b)),
  };
}

function total(runs: readonly Replayed[]): Totals {
  const sum = (what: "alerts" | "terminations") => runs.reduce((all, run) => all + run[what], 0);
  return { verdicts: countVerdicts(runs), alerts: sum("alerts"), terminations: sum("terminations") };
}
