import { printable } from "@rouse/contract";
import { z } from "zod";
import { describeReadError } from "../config/config-problem.ts";
import type { Recording } from "./find-recordings.ts";
import type { Problems } from "./note-problems.ts";
import { readLines } from "./read-lines.ts";
import { countVerdicts, type Replayed, type Verdict, type VerdictCounts } from "./replay-run.ts";

/** A part of a whole. The share is `null`, not 0, when the whole is empty. */
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

/** How the verdicts agree with people's labels. An alarm is `stuck` or `failing`; `suspect` is none. */
export interface Accuracy {
  readonly labelled: number;
  /** Labels of runs that were not replayed. */
  readonly absent: number;
  readonly precision: {
    /** An alarm for a run that repeated itself for a while counts as right. */
    readonly transientsRight: Share;
    readonly transientsWrong: Share;
  };
  readonly recall: Share;
  readonly recallByKind: Readonly<Record<string, Share>>;
  /** Verdicts by label. */
  readonly verdicts: Readonly<Record<Label["label"], VerdictCounts>>;
  readonly missed: readonly Mistake[];
  /** Alarms for runs that were not stuck, or only for a while. */
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
  const verdictsOf = (wanted: Label["label"]) =>
    countVerdicts(cases.filter(({ label }) => label.label === wanted).map(({ run }) => run));
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
      stuck: verdictsOf("stuck"),
      transient: verdictsOf("transient"),
      not_stuck: verdictsOf("not_stuck"),
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

const kindOf = ({ kind }: Label): string => kind ?? "no kind";

const describe = ({ run, label }: Case): Mistake => ({
  trace: run.trace,
  verdict: run.verdict,
  label: label.label,
  kind: kindOf(label),
  why: label.why ?? null,
});

/** What a person says about a run. `transient`: it repeated itself and moved on. */
export const Label = z.object({
  trace: z.string().min(1),
  label: z.enum(["stuck", "transient", "not_stuck"]),
  kind: z.string().nullish(),
  why: z.string().nullish(),
});
export type Label = z.infer<typeof Label>;

/** Labels by the name of their run. A label that cannot be read is noted and left out. */
export async function readLabels({ name, open }: Recording, problems: Problems): Promise<ReadonlyMap<string, Label>> {
  const labels = new Map<string, Label>();
  const refuse = (line: number | null, message: string) =>
    problems.note({ kind: "bad-label", file: name, line, message });
  try {
    for await (const { number, text } of readLines(open())) {
      if (text?.trim() === "") continue;
      const label = text === null ? null : parse(text);
      if (label === null) refuse(number, `is no label: ${printable(text ?? "too long", 60)}`);
      else if (labels.has(label.trace)) refuse(number, `labels ${label.trace} a second time; the first counts`);
      else labels.set(label.trace, label);
    }
  } catch (error) {
    refuse(null, describeReadError(error));
  }
  return labels;
}

function parse(text: string): Label | null {
  try {
    return Label.parse(JSON.parse(text));
  } catch {
    return null;
  }
}
