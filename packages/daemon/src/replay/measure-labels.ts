import type { Label } from "./read-labels.ts";
import type { Replayed, Verdict } from "./replay-run.ts";

/** A part of a whole. The share is `null` when there is nothing to have a share of: that is not known, not 0. */
export interface Share {
  readonly count: number;
  readonly of: number;
  readonly share: number | null;
}

export interface Mistake {
  readonly trace: string;
  readonly verdict: Verdict;
  readonly label: Label["label"];
  readonly kind: string;
  readonly why: string | null;
}

/** How the verdicts agree with what people say. An alarm is `stuck` or `failing`; `suspect` is none. */
export interface Accuracy {
  readonly labelled: number;
  /** Labels of runs that were not replayed. */
  readonly absent: number;
  readonly precision: {
    /** An alarm for a run that repeated itself for a while and moved on is right. */
    readonly transientsRight: Share;
    readonly transientsWrong: Share;
  };
  readonly recall: Share;
  readonly recallByKind: Readonly<Record<string, Share>>;
  /** Verdicts by label: who was judged how. */
  readonly verdicts: Readonly<Record<Label["label"], Readonly<Record<Verdict, number>>>>;
  readonly missed: readonly Mistake[];
  /** Runs that were not stuck, and those that were for a while only. */
  readonly falseAlarms: readonly Mistake[];
}

interface Case {
  readonly run: Replayed;
  readonly label: Label;
  readonly alarm: boolean;
}

export function measureLabels(runs: readonly Replayed[], labels: ReadonlyMap<string, Label>): Accuracy {
  const cases = runs.flatMap((run): Case[] => {
    const label = labels.get(run.trace);
    return label === undefined ? [] : [{ run, label, alarm: isAlarm(run.verdict) }];
  });
  const alarms = cases.filter(({ alarm }) => alarm);
  const stuck = cases.filter(({ label }) => label.label === "stuck");
  return {
    labelled: cases.length,
    absent: labels.size - cases.length,
    precision: {
      transientsRight: shareOf(alarms, ({ label }) => label.label !== "not_stuck"),
      transientsWrong: shareOf(alarms, ({ label }) => label.label === "stuck"),
    },
    recall: shareOf(stuck, ({ alarm }) => alarm),
    recallByKind: byKind(stuck),
    verdicts: {
      stuck: countVerdicts(cases, "stuck"),
      transient: countVerdicts(cases, "transient"),
      not_stuck: countVerdicts(cases, "not_stuck"),
    },
    missed: stuck.filter(({ alarm }) => !alarm).map(describe),
    falseAlarms: alarms.filter(({ label }) => label.label !== "stuck").map(describe),
  };
}

const isAlarm = (verdict: Verdict): boolean => verdict === "stuck" || verdict === "failing";

function shareOf(cases: readonly Case[], belongs: (one: Case) => boolean): Share {
  const count = cases.filter(belongs).length;
  return { count, of: cases.length, share: cases.length === 0 ? null : count / cases.length };
}

function byKind(stuck: readonly Case[]): Readonly<Record<string, Share>> {
  const kinds = [...new Set(stuck.map(({ label }) => kindOf(label)))].toSorted();
  const shares = kinds.map((kind) => {
    const alike = stuck.filter(({ label }) => kindOf(label) === kind);
    return [kind, shareOf(alike, ({ alarm }) => alarm)] as const;
  });
  return Object.fromEntries(shares);
}

function countVerdicts(cases: readonly Case[], label: Label["label"]): Record<Verdict, number> {
  const counts: Record<Verdict, number> = { healthy: 0, suspect: 0, stuck: 0, failing: 0 };
  for (const one of cases) if (one.label.label === label) counts[one.run.verdict] += 1;
  return counts;
}

const kindOf = ({ kind }: Label): string => kind ?? "no kind";

const describe = ({ run, label }: Case): Mistake => ({
  trace: run.trace,
  verdict: run.verdict,
  label: label.label,
  kind: kindOf(label),
  why: label.why ?? null,
});
