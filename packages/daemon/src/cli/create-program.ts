import { Command } from "commander";
import { version } from "../version.ts";
import type { OpenAuditHands } from "./audit-trail.ts";
import type { AddCommand } from "./commands/add-command.ts";
import type { Up } from "./commands/daemon/up.ts";
import type { OpenWorkspaces } from "./commands/tasks/checkpoints.ts";
import { exitMeanings } from "./exit-codes.ts";
import type { Surroundings } from "./surroundings.ts";

const examples: readonly (readonly [string, string])[] = [
  ["rouse up -d", "start watching, in the background"],
  ["rouse run -- claude", "run an agent here and watch it"],
  ["rouse spawn --name w1 -- ./agent.sh", "the same in the background"],
  ["rouse ps", "who is there"],
  ["rouse why worker-1", "why does it say STUCK?"],
  ["rouse events -f --agent worker-1", "watch one agent"],
  ["rouse health worker-1 || notify-me", "a condition in a script"],
];

interface Hands {
  readonly up: Up;
  readonly openWorkspaces?: OpenWorkspaces | undefined;
  readonly openAuditHands?: OpenAuditHands | undefined;
}

/** The commands in the order of the help. Each is loaded when it is called: loading all of them takes too long. */
const commands: Readonly<Record<string, (hands: Hands) => Promise<AddCommand>>> = {
  up: async ({ up }) => (await import("./commands/daemon/up.ts")).addUp(up),
  down: async () => (await import("./commands/daemon/down.ts")).addDown,
  status: async () => (await import("./commands/daemon/status.ts")).addStatus,
  service: async () => (await import("./commands/daemon/service.ts")).addService,
  run: async () => (await import("./commands/agents/run.ts")).addRun,
  spawn: async () => (await import("./commands/agents/spawn.ts")).addSpawn,
  ps: async () => (await import("./commands/agents/ps.ts")).addPs,
  tasks: async () => (await import("./commands/tasks/tasks.ts")).addTasks,
  attach: async () => (await import("./commands/agents/attach.ts")).addAttach,
  nudge: async () => (await import("./commands/agents/nudge.ts")).addNudge,
  escalate: async () => (await import("./commands/agents/escalations.ts")).addEscalate,
  escalations: async () => (await import("./commands/agents/escalations.ts")).addEscalations,
  terminate: async () => (await import("./commands/agents/order-agent.ts")).addTerminate,
  recover: async () => (await import("./commands/agents/order-agent.ts")).addRecover,
  rm: async () => (await import("./commands/agents/remove.ts")).addRm,
  prune: async () => (await import("./commands/agents/remove.ts")).addPrune,
  adopt: async () => (await import("./commands/agents/adopt.ts")).addAdopt,
  health: async () => (await import("./commands/agents/health.ts")).addHealth,
  why: async () => (await import("./commands/agents/health.ts")).addWhy,
  breakers: async () => (await import("./commands/agents/breakers.ts")).addBreakers,
  logs: async () => (await import("./commands/agents/logs.ts")).addLogs,
  events: async () => (await import("./commands/history/events.ts")).addEvents,
  audit: async ({ openAuditHands }) => (await import("./commands/history/audit.ts")).addAudit(openAuditHands),
  checkpoints: async ({ openWorkspaces }) =>
    (await import("./commands/tasks/checkpoints.ts")).addCheckpoints(openWorkspaces),
  record: async () => (await import("./commands/history/record.ts")).addRecord,
  replay: async () => (await import("./commands/history/replay.ts")).addReplay,
  config: async () => (await import("./commands/daemon/config.ts")).addConfig,
  freeze: async () => (await import("./commands/agents/freeze.ts")).addFreeze,
  thaw: async () => (await import("./commands/agents/freeze.ts")).addThaw,
  token: async () => (await import("./commands/daemon/token.ts")).addToken,
  mcp: async () => (await import("./commands/daemon/mcp.ts")).addMcp,
  demo: async () => (await import("./commands/daemon/demo.ts")).addDemo,
  completion: async ({ up }) =>
    (await import("./commands/daemon/completion.ts")).addCompletion((here) => createProgram([], here, up, () => {})),
  doctor: async () => (await import("./commands/daemon/status.ts")).addDoctor,
};

/** Other names of commands, which people know from elsewhere. Those of orders say which command they run. */
const otherWords: Readonly<Record<string, string>> = {
  list: "ps",
  ls: "ps",
  stop: "terminate",
  kill: "terminate",
  restart: "recover",
};

/** Words that people try, and the command they want. The most similar name would often do something else. */
const wanted: Readonly<Record<string, string>> = {
  remove: "rm",
  delete: "rm",
  start: "spawn",
  create: "spawn",
  exec: "attach",
  top: "ps -w",
  watch: "ps -w",
  inspect: "health",
  describe: "health",
  show: "health",
  log: "logs",
  tail: "logs -f",
  version: "--version",
  "-v": "--version",
};

/** Creates the program for `words`: with the command they name, or with all commands where help is needed. */
export async function createProgram(
  words: readonly string[],
  here: Surroundings,
  up: Up,
  finish: (code: number) => void,
  openWorkspaces?: OpenWorkspaces,
  openAuditHands?: OpenAuditHands,
): Promise<Command> {
  const [first = ""] = words;
  const instead = Object.hasOwn(wanted, first) ? wanted[first] : undefined;
  const program = new Command("rouse")
    .description("Health monitoring for autonomous agents.")
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show this help")
    .helpCommand("help [command]", "show the help of a command")
    .configureHelp({ subcommandTerm: describeUse })
    .configureOutput({
      getOutHelpWidth: () => Math.min(here.width, 80),
      getErrHelpWidth: () => Math.min(here.width, 80),
      outputError: (text, write) =>
        write(text.replace(/^error: /, "rouse: ") + (instead === undefined ? "" : `(Did you mean ${instead}?)\n`)),
    })
    .showSuggestionAfterError(instead === undefined)
    .addHelpText("after", helpTail())
    .enablePositionalOptions()
    .exitOverride();
  const hands = { up, openWorkspaces, openAuditHands };
  const adding = await Promise.all(namesIn(words).map((name) => commands[name]?.(hands)));
  for (const add of adding) add?.(program, here, finish);
  const meant = otherWords[first];
  if (meant !== undefined && meant !== "ps")
    program.hook("preAction", () => here.warn(`${first} is \`rouse ${meant}\``));
  return program;
}

function namesIn([first = ""]: readonly string[]): readonly string[] {
  const name = otherWords[first] ?? first;
  return Object.hasOwn(commands, name) ? [name] : Object.keys(commands);
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
    "  ROUSE_PORT   where `rouse up` listens (default: 7433)",
    "  ROUSE_URL    a Rouse other than the one of ROUSE_HOME",
    "  ROUSE_TOKEN  its token, when it is not in ROUSE_HOME",
    "  NO_COLOR     no colours",
  ].join("\n");
}
