import { constants } from "node:os";
import { type ExitStatus, Fault } from "@rouse/contract";
import { type DaemonWish, daemonOption, nobodyWatches, noDaemonOption, offerDaemon } from "../../offer-daemon.ts";
import { type AgentWishes, prepareAgent, type Surface } from "../../prepare-agent.ts";
import type { Surroundings } from "../../surroundings.ts";
import type { AddCommand } from "../add-command.ts";

interface RunOptions extends DaemonWish {
  readonly name?: string;
  readonly type?: string;
  readonly task?: string;
  readonly policy?: string;
}

const afterword = `
The command runs as if Rouse were not there: same terminal, same keys, same exit
code. In a pipe its output passes byte for byte. Without a running Rouse you are
asked whether to start one. If you say no, or there is no terminal to ask on, the
command runs anyway; what happened is kept and reported when Rouse is started.

Examples:
  rouse run -- claude -p "fix the tests" --output-format stream-json --verbose
  rouse run --name builder --task bd-288 -- ./agent-loop.sh
  rouse run -- python3 agent.py | tee agent.log`;

export const addRun: AddCommand = (program, here, finish) => {
  program
    .command("run")
    .description("run a command here and watch it")
    .usage("[options] -- COMMAND...")
    .argument("<command...>", "what to run, after --")
    .passThroughOptions()
    .option("--name <id>", "what the agent is called; COMMAND and a number when not given")
    .option("--type <id>", "its type, for settings of that type")
    .option("--task <id>", "the task it works on")
    .option("--policy <name>", "a policy of config.yaml or a preset")
    .option(...daemonOption)
    .option(...noDaemonOption)
    .addHelpText("after", afterword)
    .action(async (command: string[], options: RunOptions) => {
      const { stdin, stdout } = process;
      const io = stdin.isTTY && stdout.isTTY ? "terminal" : "pipes";
      const surface = { foreground: true, io, cols: stdout.columns || 80, rows: stdout.rows || 24 } as const;
      finish(
        await runWatched(here, { command, ...options }, surface).catch((error: unknown) => asShellsDo(here, error)),
      );
    });
};

async function runWatched(here: Surroundings, wishes: AgentWishes & DaemonWish, surface: Surface): Promise<number> {
  const { spec, home, watched } = await prepareAgent(here, wishes, surface);
  if (!watched && wishes.not === undefined) {
    const offered = await offerDaemon(here, wishes);
    if (offered.kind === "over") return offered.code;
    if (offered.kind === "started") return runWatched(here, { ...wishes, not: [] }, surface);
    here.warn(nobodyWatches);
  }
  const { runInForeground } = await import("@rouse/holder/run-in-foreground");
  try {
    return exitCodeOfProcess(await runInForeground(spec, home));
  } catch (error) {
    // Another agent that was started at the same time took the name.
    if (wishes.name !== undefined || !(error instanceof Fault && error.code === "name-taken")) throw error;
    return runWatched(here, { ...wishes, not: [...(wishes.not ?? []), spec.agentId] }, surface);
  }
}

/** A command that cannot be run ends with the exit code that a shell would give. */
function asShellsDo(here: Surroundings, error: unknown): number {
  if (!(error instanceof Fault)) throw error;
  const code = error.code === "command-not-found" ? 127 : error.code === "not-executable" ? 126 : null;
  if (code === null) throw error;
  here.warn(error.message);
  return code;
}

/** The exit code as shells report it: after a signal, 128 and its number. */
function exitCodeOfProcess({ code, signal }: ExitStatus): number {
  if (signal === null) return code ?? 1;
  return 128 + (constants.signals[signal as NodeJS.Signals] ?? 0);
}
