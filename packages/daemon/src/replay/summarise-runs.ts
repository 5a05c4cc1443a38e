import { type Replayed, type Verdict, verdicts } from "./replay-run.ts";

export type VerdictCounts = Readonly<Record<Verdict, number>>;

export interface SourceSummary {
  /** `null` for runs whose name has no `/`. */
  readonly source: string | null;
  readonly runs: number;
  readonly events: number;
  readonly verdicts: VerdictCounts;
}

export interface RunsSummary extends Omit<SourceSummary, "source"> {
  /** In the order of their names. */
  readonly sources: readonly SourceSummary[];
}

/** Where a run comes from: its name up to the first `/`. */
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

function count(runs: readonly Replayed[]): Omit<SourceSummary, "source"> {
  const counts = Object.fromEntries(verdicts.map((verdict) => [verdict, 0])) as Record<Verdict, number>;
  let events = 0;
  for (const run of runs) {
    counts[run.verdict] += 1;
    events += run.events;
  }
  return { runs: runs.length, events, verdicts: counts };
}

/** The gravest first; among equals, in the order they came. */
export const worstFirst = (runs: readonly Replayed[]): readonly Replayed[] =>
  runs.toSorted((a, b) => verdicts.indexOf(b.verdict) - verdicts.indexOf(a.verdict));
