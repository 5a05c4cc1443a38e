import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Fault } from "@rouse/contract";
import { Option } from "commander";
import type { Recording } from "../../replay/find-recordings.ts";
import type { Label } from "../../replay/read-labels.ts";
import { exit, interrupted } from "../exit-codes.ts";
import type { Surroundings } from "../surroundings.ts";
import type { AddCommand } from "./add-command.ts";

interface ReplayOptions {
  readonly policy?: string;
  readonly labels?: string;
  readonly compare?: readonly string[];
  readonly report?: string;
  readonly all?: true;
  readonly json?: true;
}

const help = `
Recorded runs go through the code that judges live agents, on virtual time, and
nothing is done to anybody. A FILE holds one JSON object per line (trace, kind,
tool, args_digest, …), as \`rouse record\` writes it; a folder stands for the
.jsonl files in it, - for stdin. Runs may be mixed and spread over files.

Lines that cannot be used are named on stderr and left out; the rest is judged,
and the command ends with 2. With --json stdout has one document per run: trace,
verdict (healthy, suspect, stuck, failing), index (the event at which it was
first reached, from 0) and because. With --labels or --compare a last document
{"summary": …} follows.

Examples:
  rouse replay runs/*.jsonl                    what would Rouse have said?
  rouse replay runs --report out.html          look at each run
  rouse replay runs --labels labels.jsonl      how often is it right?
  rouse replay runs --compare a.yaml b.yaml    before you trust a new policy
  rouse replay runs --json | jq -r 'select(.verdict == "stuck").trace'`;

export const addReplay: AddCommand = (program, here, finish) => {
  program
    .command("replay")
    .description("judge recorded runs, to tune a policy before trusting it")
    .argument("[files...]", "recordings, folders of them, or - for stdin")
    .addOption(
      new Option("--policy <policy>", "a preset, a policy of your config.yaml, or a file like it").conflicts("compare"),
    )
    .option("--labels <file>", "what people say of the runs: precision and recall")
    .addOption(new Option("--compare <policies...>", "two policies side by side").conflicts("report"))
    .option("--report <file>", "write an HTML page with a timeline of each run")
    .option("--all", "show the healthy runs and those without a difference too")
    .option("--json", "print one JSON document per run")
    .addHelpText("after", help)
    .action(async (files: readonly string[], options: ReplayOptions) => {
      process.on("SIGINT", () => process.exit(interrupted));
      // An option that takes several words takes the files behind it as well.
      const [a, b, ...rest] = options.compare ?? [];
      const names = [...files, ...rest];
      if (names.length === 0)
        throw new Fault("bad-request", "which files? name recordings, a folder of them, or - for stdin");
      if (options.compare !== undefined && b === undefined)
        throw new Fault("bad-request", "--compare takes two policies");
      finish(await replay(here, names, options.compare === undefined ? [options.policy] : [a, b], options));
    });
};

async function replay(
  here: Surroundings,
  names: readonly string[],
  wanted: readonly (string | undefined)[],
  options: ReplayOptions,
): Promise<number> {
  const { collectProblems } = await import("../../replay/note-problems.ts");
  const { findRecordings } = await import("../../replay/find-recordings.ts");
  const { findPolicy } = await import("../../replay/find-policy.ts");
  const { replayRecordings } = await import("../../replay/replay-recordings.ts");
  const { firstOf, showCompared, showOutcome } = await import("./print-replay.ts");
  const { createProgressLine } = await import("../../replay/tell-progress.ts");

  const problems = collectProblems();
  const policies = await Promise.all(wanted.map((name) => findPolicy(name, here)));
  const find = (what: readonly string[]) => findRecordings(what, here.workingFolder, process.stdin, problems);
  const [labelled] = options.labels === undefined ? [] : find([options.labels]);
  const labels = options.labels === undefined ? null : await readLabels(labelled);
  // Whoever names *.jsonl names the labels as well.
  const recordings = find(names).filter(({ identity }) => identity !== labelled?.identity);
  const progress = createProgressLine(process.stderr, totalBytes(recordings));
  const runs = await replayRecordings({
    recordings,
    policies: policies.map(({ policyOf }) => policyOf),
    problems,
    sketches: options.report !== undefined,
    tell: progress.tell,
  });
  progress.clear();
  for (const problem of problems.describe()) here.warn(problem);
  const [a, b] = policies.map(({ name }) => name);
  if (b === undefined) showOutcome(here, runs, labels, options);
  else showCompared(here, runs, labels, [a ?? "", b], options);
  const written = options.report === undefined || (await report(options.report));
  if (!written) return exit.wrong;
  return problems.faults() > 0 ? exit.usage : exit.fine;

  async function readLabels(file: Recording | undefined): Promise<ReadonlyMap<string, Label>> {
    const { readLabels: read } = await import("../../replay/read-labels.ts");
    return file === undefined ? new Map() : read(file, problems);
  }

  async function report(file: string): Promise<boolean> {
    const { measureLabels } = await import("../../replay/measure-labels.ts");
    const { writeReport } = await import("../../replay/report/write-report.ts");
    const accuracy = labels === null ? null : measureLabels(firstOf(runs), labels);
    const page = writeReport({ runs, policy: a ?? "", accuracy, problems: problems.describe() });
    try {
      writeFileSync(resolve(here.workingFolder, file), page);
      if (!options.json) here.warn(`the report is in ${file}`);
      return true;
    } catch (error) {
      here.warn(`the report cannot be written to ${file}: ${(error as NodeJS.ErrnoException).code ?? "unknown error"}`);
      return false;
    }
  }
}

function totalBytes(recordings: readonly { readonly bytes: number | null }[]): number | null {
  const sizes = recordings.map(({ bytes }) => bytes);
  return sizes.includes(null) ? null : sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
}
