import { Command } from "commander";
import { noWorkspaces } from "../ports/workspaces.ts";
import { version } from "../version.ts";
import { addAdopt } from "./commands/adopt.ts";
import { addAttach } from "./commands/attach.ts";
import { addAudit } from "./commands/audit.ts";
import { addCheckpoints, type OpenWorkspaces } from "./commands/checkpoints.ts";
import { addConfig } from "./commands/config.ts";
import { addDemo } from "./commands/demo.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addEscalate } from "./commands/escalate.ts";
import { addEscalations } from "./commands/escalations.ts";
import { addEvents } from "./commands/events.ts";
import { addFreeze, addThaw } from "./commands/freeze.ts";
import { addHealth } from "./commands/health.ts";
import { addLogs } from "./commands/logs.ts";
import { addMcp } from "./commands/mcp.ts";
import { addNudge } from "./commands/nudge.ts";
import { addPs } from "./commands/ps.ts";
import { addRecord } from "./commands/record.ts";
import { addRecover } from "./commands/recover.ts";
import { addReplay } from "./commands/replay.ts";
import { addRun } from "./commands/run.ts";
import { addSpawn } from "./commands/spawn.ts";
import { addTasks } from "./commands/tasks.ts";
import { addTerminate } from "./commands/terminate.ts";
import { addToken } from "./commands/token.ts";
import { addUp, type Up } from "./commands/up.ts";
import { addWhy } from "./commands/why.ts";
import { exitMeanings } from "./exit-codes.ts";
import { noAuditHands, type OpenAuditHands } from "./gather-trail.ts";
import type { Surroundings } from "./surroundings.ts";

const examples: readonly (readonly [string, string])[] = [
  ["rouse up", "start watching, in one terminal"],
  ["rouse run -- claude", "run an agent here and watch it"],
  ["rouse spawn --name w1 -- ./agent.sh", "the same in the background"],
  ["rouse ps", "who is there"],
  ["rouse why worker-1", "why does it say STUCK?"],
  ["rouse events -f --agent worker-1", "watch one agent"],
  ["rouse health worker-1 || notify-me", "a condition in a script"],
];

export function createProgram(
  here: Surroundings,
  up: Up,
  finish: (code: number) => void,
  openWorkspaces: OpenWorkspaces = async () => noWorkspaces,
  openAuditHands: OpenAuditHands = noAuditHands,
): Command {
  const program = new Command("rouse")
    .description("Health monitoring for autonomous agents.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show the help of a command")
    .configureHelp({ subcommandTerm: describeUse })
    .configureOutput({
      getOutHelpWidth: () => Math.min(here.width, 80),
      getErrHelpWidth: () => Math.min(here.width, 80),
      outputError: (text, write) => write(text.replace(/^error: /, "rouse: ")),
    })
    .addHelpText("after", helpTail())
    .enablePositionalOptions()
    .exitOverride();
  const commands = [
    addUp(up),
    addRun,
    addSpawn,
    addPs,
    addTasks,
    addAttach,
    addNudge,
    addEscalate,
    addEscalations,
    addTerminate,
    addRecover,
    addAdopt,
    addHealth,
    addWhy,
    addLogs,
    addEvents,
    addAudit(openAuditHands),
    addCheckpoints(openWorkspaces),
    addRecord,
    addReplay,
    addConfig,
    addFreeze,
    addThaw,
    addToken,
    addMcp,
    addDemo,
    addDoctor,
  ];
  for (const add of commands) add(program, here, finish);
  return program;
}

function describeUse(command: Command): string {
  const words = command.registeredArguments.map((one) => (one.required ? `<${one.name()}>` : `[${one.name()}]`));
  return [command.name(), ...words, ...(command.commands.length > 0 ? ["<command>"] : [])].join(" ");
}

function helpTail(): string {
  const width = Math.max(...examples.map(([command]) => command.length)) + 2;
  return [
    "",
    "Examples:",
    ...examples.map(([command, what]) => `  ${command.padEnd(width)}${what}`),
    "",
    "Exit codes:",
    ...exitMeanings.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`),
    "",
    "Environment:",
    "  ROUSE_HOME   data, token and config.yaml (default: ~/.rouse)",
    "  ROUSE_URL    a Rouse other than the one of ROUSE_HOME",
    "  ROUSE_TOKEN  its token, when it is not in ROUSE_HOME",
    "  NO_COLOR     no colours",
  ].join("\n");
}
