import { Fault } from "@rouse/contract";
import type { Command } from "commander";
import { connect } from "../../find-daemon.ts";
import { documentOf, type PsPlan, picture } from "../../show/agents.ts";
import type { AddCommand } from "../add-command.ts";
import type { PsFilters } from "./filter-agents.ts";

interface PsOptions extends PsFilters {
  readonly all?: true;
  readonly watch?: true;
  readonly json?: true;
}

const help = `
What is over is left out, unless a person is called for it; --all shows it, and
so does --state with a word for it: FINISHED, EXITED or TERMINATED.

Examples:
  rouse ps --state STUCK,FAILING
  rouse ps --needs-me
  rouse ps -w --node build-1`;

export const addPs: AddCommand = (program, here, finish) => {
  program
    .command("ps")
    .aliases(["list", "ls"])
    .description("list the agents and what they are doing")
    .option("-a, --all", "also those that are over")
    .option("-w, --watch", "go on showing it as it changes; Ctrl-C ends it")
    .option("--state <list>", "only in these states, separated by commas")
    .option("--activity <list>", "only these activities, separated by commas")
    .option("--node <id>", "only on this node")
    .option("--type <id>", "only of this type")
    .option("--task <id>", "only at work on this task")
    .option("--unhealthy", "only those that are not well")
    .option("--needs-me", "only those that wait for a person")
    .option("--json", "print one JSON document; with --watch one line per change")
    .addHelpText("after", help)
    .action(async (options: PsOptions, command: Command) => {
      const plan = await planOf(options, command);
      const rouse = await connect(here);
      if (options.watch)
        return finish(await (await import("./watch-agents.ts")).watchAgents(here, rouse, plan, options));
      const fleet = await rouse.fleet();
      if (options.json) here.printJson(documentOf(fleet, plan));
      else here.print(picture(fleet, plan, here));
    });
};

/** Loads the filters only when one was given: most calls have none. */
async function planOf({ all, watch: _, json: __, ...filters }: PsOptions, command: Command): Promise<PsPlan> {
  if (Object.keys(filters).length === 0)
    return { view: { all: all === true, filtered: false }, choose: (agents) => agents };
  const { readFilters } = await import("./filter-agents.ts");
  const chosen = readFilters(filters);
  if (chosen instanceof Fault) command.error(`error: ${chosen.message}`);
  return { view: { all: all === true || chosen.namesEnds, filtered: true }, choose: chosen.choose };
}
