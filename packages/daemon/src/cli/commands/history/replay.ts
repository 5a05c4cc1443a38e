import { Fault } from "@rouse/contract";
import { Option } from "commander";
import type { AddCommand } from "../add-command.ts";

interface ReplayOptions {
  readonly policy?: string;
  readonly labels?: string;
  readonly compare?: readonly string[];
  readonly report?: string;
  readonly all?: true;
  readonly unfinished?: true;
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
{"summary": …} follows. A run that ends in the middle of a loop is stuck, though
a live agent in the same place would only be suspect: it may still move on.

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
    .option("--unfinished", "the runs may still be going on: their end says nothing")
    .option("--all", "show the healthy runs and those without a difference too")
    .option("--json", "print one JSON document per run")
    .addHelpText("after", help)
    .action(async (files: readonly string[], options: ReplayOptions) => {
      // An option that takes several words takes the files behind it as well.
      const [a, b, ...rest] = options.compare ?? [];
      const names = [...files, ...rest];
      if (names.length === 0)
        throw new Fault("bad-request", "which files? name recordings, a folder of them, or - for stdin");
      if (options.compare !== undefined && b === undefined)
        throw new Fault("bad-request", "--compare takes two policies");
      const { runReplay } = await import("./run-replay.ts");
      const policies = options.compare === undefined ? [options.policy] : [a, b];
      finish(await runReplay(here, { ...options, files: names, policies }));
    });
};
