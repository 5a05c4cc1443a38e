import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { findPolicy } from "../../../replay/find-policy.ts";
import { findRecordings, type Recording } from "../../../replay/find-recordings.ts";
import { type Label, measureLabels, readLabels } from "../../../replay/measure-labels.ts";
import { collectProblems, type Problems } from "../../../replay/note-problems.ts";
import { type JudgedRun, replayRecordings } from "../../../replay/replay-recordings.ts";
import type { Replayed } from "../../../replay/replay-run.ts";
import { writeReport } from "../../../replay/report/write-report.ts";
import { comparePolicies, summariseComparison, summariseRuns } from "../../../replay/summarise-runs.ts";
import { createProgressLine } from "../../../replay/tell-progress.ts";
import { exit } from "../../exit-codes.ts";
import {
  showAccuracy,
  showComparison,
  showComparisonSummary,
  showRuns,
  showSummary,
  sumUp,
} from "../../show/replay.ts";
import type { Surroundings } from "../../surroundings.ts";
import { given, type Json } from "../add-command.ts";

interface PrintOptions extends Json {
  readonly all?: true;
}

interface ReplayRequest extends PrintOptions {
  readonly files: readonly string[];
  /** One policy to judge by, or two to compare; `undefined` is the user's own configuration. */
  readonly policies: readonly (string | undefined)[];
  readonly labels?: string;
  readonly report?: string;
  readonly unfinished?: true;
}

/** Ctrl-C is left to the system: an exit of our own would wait for a pipe that is being read. */
export async function runReplay(here: Surroundings, request: ReplayRequest): Promise<number> {
  const problems = collectProblems();
  const policies = await Promise.all(request.policies.map((name) => findPolicy(name, here)));
  const { recordings, labels } = await findInput(here, request, problems);
  const progress = createProgressLine(process.stderr, totalBytes(recordings));
  const runs = await replayRecordings({
    recordings,
    policies: policies.map(({ policyOf }) => policyOf),
    problems,
    ended: request.unfinished === undefined,
    sketches: request.report !== undefined,
    tell: progress.tell,
  });
  progress.clear();
  for (const problem of problems.describe()) here.warn(problem);
  const [a = "", b] = policies.map(({ name }) => name);
  if (b === undefined) showOutcome(here, runs, labels, request);
  else showCompared(here, runs, labels, [a, b], request);
  if (request.report !== undefined) {
    const accuracy = labels === null ? null : measureLabels(firstOf(runs), labels);
    const page = writeReport({ runs, policy: a, accuracy, problems: problems.describe() });
    if (!save(here, request.report, page)) return exit.wrong;
  }
  return problems.faults() > 0 ? exit.usage : exit.fine;
}

async function findInput(here: Surroundings, { files, labels }: ReplayRequest, problems: Problems) {
  const find = (names: readonly string[]) => findRecordings(names, here.workingFolder, process.stdin, problems);
  if (labels === undefined) return { recordings: find(files), labels: null };
  const [labelled] = find([labels]);
  return {
    // A pattern such as *.jsonl names the file with the labels as well.
    recordings: find(files).filter(({ identity }) => identity !== labelled?.identity),
    labels: labelled === undefined ? new Map() : await readLabels(labelled, problems),
  };
}

function totalBytes(recordings: readonly Recording[]): number | null {
  const sizes = recordings.map(({ bytes }) => bytes);
  return sizes.includes(null) ? null : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}

function save(here: Surroundings, file: string, page: string): boolean {
  try {
    writeFileSync(resolve(here.workingFolder, file), page);
    here.warn(`the report is in ${file}`);
    return true;
  } catch (error) {
    here.warn(`the report cannot be written to ${file}: ${(error as NodeJS.ErrnoException).code ?? "unknown error"}`);
    return false;
  }
}

type Labels = ReadonlyMap<string, Label> | null;

const firstOf = (runs: readonly JudgedRun[]): Replayed[] => runs.flatMap(({ judged }) => judged.slice(0, 1));

function showOutcome(
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
  for (const run of judged) {
    const { trace, events } = run;
    here.printJsonLine({ trace, ...sideOf(run), events, ...labelOf(run, labels) });
  }
  if (accuracy !== null) here.printJsonLine({ summary: { ...summariseRuns(judged), accuracy } });
  here.warn(sumUp(judged));
}

function showCompared(
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
    const measured = accuracy === null ? undefined : { a: accuracy[0], b: accuracy[1] };
    return here.printJsonLine({ summary: { policies: names, ...summary, ...given({ accuracy: measured }) } });
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

function sideOf({ verdict, index, because, alerts, terminations }: Replayed) {
  const findings = because.map(({ kind, level, text, confidence, evidence }) => {
    return { kind, level, text, confidence, evidence };
  });
  return { verdict, index, because: findings, alerts, terminations };
}

function labelOf({ trace }: Replayed, labels: Labels) {
  const label = labels?.get(trace);
  return label === undefined ? {} : { label: label.label, labelKind: label.kind ?? null };
}
