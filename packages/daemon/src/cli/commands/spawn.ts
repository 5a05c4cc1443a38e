import { type Command, InvalidArgumentError } from "commander";
import { awaitKnown } from "../ask-daemon.ts";
import { prepareAgent } from "../prepare-agent.ts";
import { styled } from "../show/styled-text.ts";
import type { AddCommand } from "./add-command.ts";

interface SpawnOptions {
  readonly name: string;
  readonly type?: string;
  readonly task?: string;
  readonly healthPolicy?: string;
  readonly policy?: string;
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly json?: true;
}

const afterword = `
It goes on when this terminal is closed and when Rouse itself stops. Look at it
with \`rouse attach NAME\` and \`rouse logs -f NAME\`, end it with \`rouse terminate
NAME\`. Its command and environment are kept in $ROUSE_HOME/holders/NAME, readable
by you alone, so that it can be started again the same way.

Examples:
  rouse spawn --name worker-1 --task bd-288 -- claude -p "fix the tests"
  rouse spawn --name nightly --cwd ~/project --env MODE=slow -- ./agent-loop.sh`;

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => {
  if (!/^[^=]+=/.test(value)) throw new InvalidArgumentError("Write it as NAME=VALUE.");
  return [...(before ?? []), value];
};

export const addSpawn: AddCommand = (program, here) => {
  program
    .command("spawn")
    .description("start a command in a terminal of its own and watch it")
    .usage("--name NAME [options] -- COMMAND...")
    .argument("<command...>", "what to run, after --")
    .passThroughOptions()
    .requiredOption("--name <id>", "what the agent is called")
    .option("--type <id>", "its type, for settings of that type")
    .option("--task <id>", "the task it works on")
    .option("--health-policy <name>", "a policy of config.yaml or a preset")
    .option("--policy <name>", "the same")
    .option("--cwd <folder>", "where it runs; here when not given")
    .option("--env <NAME=VALUE>", "a variable of its environment; may be given more than once", collect)
    .option("--json", "print one JSON document")
    .addHelpText("after", afterword)
    .action(async (command: string[], options: SpawnOptions, cli: Command) => {
      if (options.healthPolicy !== undefined && options.policy !== undefined)
        cli.error("error: --policy and --health-policy are the same; give one");
      const { stdout } = process;
      const surface = {
        foreground: false,
        io: "terminal",
        cols: stdout.columns || 120,
        rows: stdout.rows || 40,
      } as const;
      const policy = options.healthPolicy ?? options.policy;
      const { spec, home, watched } = await prepareAgent(here, { ...options, command, policy }, surface);
      const { startHolder } = await import("../../holder/start-holder.ts");
      const held = await startHolder(home, spec);
      const pid = held.agent?.pid ?? null;
      if (watched) await awaitKnown(here, spec.agentId, spec.incarnation);
      if (options.json)
        return here.printJson({ agentId: spec.agentId, incarnation: spec.incarnation, pid, tier: held.tier, watched });
      here.print([
        [
          styled("bold", spec.agentId),
          ` runs as process ${pid}. \`rouse attach ${spec.agentId}\` shows it, \`rouse terminate ${spec.agentId}\` ends it.`,
        ],
      ]);
      if (!watched) here.warn("no Rouse is running, so nobody watches yet; `rouse up` picks this agent up");
    });
};
