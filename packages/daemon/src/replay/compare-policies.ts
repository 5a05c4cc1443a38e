import type { JudgedRun } from "./replay-recordings.ts";
import type { Replayed, Verdict } from "./replay-run.ts";

/** One run under two policies. */
export interface Comparison {
  readonly trace: string;
  readonly a: Replayed;
  readonly b: Replayed;
  /** In what they differ; empty when both do the same. */
  readonly differs: readonly Difference[];
}

export type Difference = "verdict" | "index" | "alerts" | "terminations";

export interface ComparisonSummary {
  readonly runs: number;
  readonly differing: number;
  /** Runs by what the first policy says, then by what the second does; only where they differ. */
  readonly verdicts: readonly { readonly a: Verdict; readonly b: Verdict; readonly runs: number }[];
  readonly a: Totals;
  readonly b: Totals;
}

export interface Totals {
  readonly verdicts: Readonly<Record<Verdict, number>>;
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
  const verdicts: Record<Verdict, number> = { healthy: 0, suspect: 0, stuck: 0, failing: 0 };
  for (const { verdict } of runs) verdicts[verdict] += 1;
  const sum = (what: "alerts" | "terminations") => runs.reduce((all, run) => all + run[what], 0);
  return { verdicts, alerts: sum("alerts"), terminations: sum("terminations") };
}
