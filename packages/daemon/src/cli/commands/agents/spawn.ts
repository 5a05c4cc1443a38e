import { type DurationMs, days, type RestartRule, seconds } from "@rouse/contract";
import { type Command, InvalidArgumentError } from "commander";
import { type DaemonWish, daemonOption, nobodyWatches, noDaemonOption, offerDaemon } from "../../offer-daemon.ts";
import { awaitKnown, prepareAgent } from "../../prepare-agent.ts";
import { announceRestartRule, describeOwnerRules, reportRestartRule } from "../../show/owner-rules.ts";
import { styled } from "../../text/styled-text.ts";
import { type AddCommand, jsonOption, readDuration } from "../add-command.ts";

interface SpawnOptions extends DaemonWish {
  readonly name: string;
  readonly type?: string;
  readonly task?: string;
  readonly healthPolicy?: string;
  readonly policy?: string;
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly idleKill?: DurationMs;
  readonly restart?: RestartRule;
}

const afterword = `
It goes on when this terminal is closed and when Rouse itself stops. Look at it
with \`rouse attach NAME\` and \`rouse logs -f NAME\`, end it with \`rouse terminate
NAME\`. Its command and environment are kept in $ROUSE_HOME/holders/NAME, readable
by you alone, so that it can be started again the same way.

An agent with a task, and a program that is known to be an agent (claude, codex,
opencode, gemini, aider), is started again if it fails, as often as its policy
says (restart.max_attempts). Any other command is run once. --restart says it
otherwise: no, on-failure, on-failure:5, always (also after status 0).

Examples:
  rouse spawn --name worker-1 --task bd-288 -- claude -p "fix the tests"
  rouse spawn --name worker --restart on-failure:5 -- ./worker.sh
  rouse spawn --name batch --idle-kill 30m -- ./batch.sh
  rouse spawn --name nightly --cwd ~/project --env MODE=slow -- ./agent-loop.sh`;

function addVariable(text: string, before: Readonly<Record<string, string>> = {}) {
  const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("Write it as NAME=VALUE.");
  return { ...before, [name]: value };
}

const readIdleKill = readDuration(
  "a duration such as 30m or 2h, from 1s to 30d",
  (duration) => duration >= seconds(1) && duration <= days(30),
);

const mostRestarts = 1000;

/** Reads `no`, `on-failure`, `on-failure:5` or `always`. */
function readRestartRule(text: string): RestartRule {
  if (text === "no" || text === "always") return { when: text };
  const given = /^on-failure(?::(\d+))?$/.exec(text);
  const max = given?.[1] === undefined ? null : Number(given[1]);
  if (given !== null && (max === null || (max >= 1 && max <= mostRestarts))) return { when: "on-failure", max };
  throw new InvalidArgumentError(
    `Expected no, on-failure, on-failure:N (1 to ${mostRestarts} times in its policy's window) or always.`,
  );
}

export const addSpawn: AddCommand = (program, here, finish) => {
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
    .option("--env <NAME=VALUE>", "a variable of its environment; may be given more than once", addVariable)
    .option("--idle-kill <duration>", "stop it after so long without any sign of work, such as 30m", readIdleKill)
    .option("--restart <when>", "no, on-failure[:N] or always: what follows when it ends", readRestartRule)
    .option(...daemonOption)
    .option(...noDaemonOption)
    .option(...jsonOption)
    .addHelpText("after", afterword)
    .action(async (command: string[], options: SpawnOptions, cli: Command) => {
      if (options.healthPolicy !== undefined && options.policy !== undefined)
        cli.error("error: --policy and --health-policy are the same; give one");
      const { columns: cols, rows } = process.stdout;
      const surface = { foreground: false, io: "terminal", cols: cols || 120, rows: rows || 40 } as const;
      const policy = options.healthPolicy ?? options.policy;
      const prepare = () => prepareAgent(here, { ...options, command, policy }, surface);
      let prepared = await prepare();
      const offered = prepared.watched ? null : await offerDaemon(here, options);
      if (offered?.kind === "over") return finish(offered.code);
      if (offered?.kind === "started") prepared = await prepare();
      const { spec, home, watched, settings } = prepared;
      const { agentId, incarnation } = spec;
      const { startHolder } = await import("@rouse/holder/start-holder");
      const held = await startHolder(home, spec);
      const pid = held.agent?.pid ?? null;
      if (watched) await awaitKnown(here, agentId, incarnation);
      const idleKill = options.idleKill ?? null;
      const restartRule = reportRestartRule(spec.restart ?? { when: "no" }, settings);
      if (options.json) {
        const idleKillSeconds = idleKill === null ? null : idleKill / 1000;
        return here.printJson({ agentId, incarnation, pid, tier: held.tier, watched, idleKillSeconds, restartRule });
      }
      const ways = `\`rouse attach ${agentId}\` shows it, \`rouse terminate ${agentId}\` ends it.`;
      here.print([
        [styled("bold", agentId), ` runs as process ${pid}. ${ways}`],
        [announceRestartRule(agentId, restartRule, settings, options.restart !== undefined)],
        ...describeOwnerRules(agentId, idleKill, settings, restartRule).map((rule) => [rule]),
      ]);
      if (!watched) here.warn(nobodyWatches);
    });
};
