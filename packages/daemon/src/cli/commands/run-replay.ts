import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { findPolicy } from "../../replay/find-policy.ts";
import { findRecordings, type Recording } from "../../replay/find-recordings.ts";
import { measureLabels } from "../../replay/measure-labels.ts";
import { collectProblems, type Problems } from "../../replay/note-problems.ts";
import { type Label, readLabels } from "../../replay/read-labels.ts";
import { replayRecordings } from "../../replay/replay-recordings.ts";
import { writeReport } from "../../replay/report/write-report.ts";
import { createProgressLine } from "../../replay/tell-progress.ts";
import { exit } from "../exit-codes.ts";
import type { Surroundings } from "../surroundings.ts";
import { firstOf, type PrintOptions, showCompared, showOutcome } from "./print-replay.ts";

export interface ReplayRequest extends PrintOptions {
  readonly files: readonly string[];
  /** One to judge by, or two to compare; `undefined` is the user's own configuration. */
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

interface Input {
  readonly recordings: readonly Recording[];
  readonly labels: ReadonlyMap<string, Label> | null;
}

async function findInput(here: Surroundings, { files, labels }: ReplayRequest, problems: Problems): Promise<Input> {
  const find = (names: readonly string[]) => findRecordings(names, here.workingFolder, process.stdin, problems);
  if (labels === undefined) return { recordings: find(files), labels: null };
  const [labelled] = find([labels]);
  return {
    // Whoever names *.jsonl names the labels as well.
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
