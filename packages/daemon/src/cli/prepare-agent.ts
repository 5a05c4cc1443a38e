import { basename, resolve } from "node:path";
import {
  type DurationMs,
  Fault,
  idRule,
  isAgentId,
  isId,
  ownPrefixRule,
  type RestartRule,
  type Settings,
  settingsOf,
} from "@rouse/contract";
import { chooseFamily, takesMessages } from "@rouse/core";
import { findCommand, nextIncarnation, readStore, type Spec } from "@rouse/holder";
import { isConfigured, type SettingsBook, shippedConfig } from "../config/shipped-config.ts";
import { environmentFor } from "../holders/agent-environment.ts";
import { openHome } from "../home/open-home.ts";
import { askDaemon, type DaemonAnswer } from "./ask-daemon.ts";
import { choosePort, defaultPort } from "./choose-port.ts";
import { usualRestartRule } from "./restart-rule.ts";
import type { Surroundings } from "./surroundings.ts";

/** What a person says of an agent they start. */
export interface AgentWishes {
  readonly command: readonly string[];
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  readonly task?: string | undefined;
  readonly policy?: string | undefined;
  readonly cwd?: string | undefined;
  readonly env?: readonly string[] | undefined;
  /** Its owner's own rule: stop it after so long without any sign of work. */
  readonly idleKill?: DurationMs | undefined;
  /** What follows when it ends; what is usual for such an agent when not said. */
  readonly restart?: RestartRule | undefined;
  /** Names that turned out to be taken; only for one that was not named. */
  readonly not?: readonly string[] | undefined;
}

export interface Surface {
  readonly foreground: boolean;
  readonly io: Spec["io"];
  readonly cols: number;
  readonly rows: number;
}

export interface PreparedAgent {
  readonly spec: Spec;
  readonly home: string;
  /** What holds for it by the configuration found here. */
  readonly settings: Settings;
  /** Whether a monitor is there to be told. */
  readonly watched: boolean;
}

/** Everything about an agent is settled before it is started: who it is, which life, what it runs in and what it is told. */
export async function prepareAgent(here: Surroundings, wishes: AgentWishes, surface: Surface): Promise<PreparedAgent> {
  const { folder: home, token } = openHome(here.home);
  const { command } = wishes;
  const name = wishes.name === undefined ? null : checkAgentId(wishes.name, "--name");
  const agentType = wishes.type === undefined ? null : checkId(wishes.type, "--type");
  const taskId = wishes.task === undefined ? null : checkId(wishes.task, "--task");
  const [{ agentId, daemon }, { config, settings }] = await Promise.all([
    name === null ? findName(here, home, wishes) : askDaemon(here, name).then((daemon) => ({ agentId: name, daemon })),
    readSettings(here),
  ]);
  const policy = wishes.policy === undefined ? null : checkPolicy(config, wishes.policy);
  const own = config?.settingsFor({ agentId, agentType, taskId, policy }) ?? settings;
  const incarnation = Math.max(nextIncarnation(home, agentId), (daemon.incarnation ?? 0) + 1);
  const url = daemon.url ?? `http://127.0.0.1:${choosePort(undefined, here.environment) || defaultPort}`;
  const base = { ...definedOnly(here.environment), ...readVariables(wishes.env ?? []) };
  const program = chooseFamily(command);
  const spec: Spec = {
    agentId,
    agentType,
    taskId,
    policy,
    incarnation,
    // With no monitor there, the one that was may be of a database that is gone by now.
    store: daemon.url === null ? null : (readStore(home)?.store ?? null),
    command: [...command],
    cwd: resolve(here.workingFolder, wishes.cwd ?? "."),
    env: environmentFor(base, { agentId, taskId, incarnation }, { url, token }),
    ...surface,
    // A terminal would echo our messages and cut long ones off; Claude Code does not even start with one as its input.
    ...(takesMessages(command) && !surface.foreground ? { io: "pipes" as const } : {}),
    ...program,
    keepBytes: Math.round(own.terminal.output_kept_mb * 1024 * 1024),
    watch: { patterns: [...own.terminal.patterns], completionMarker: own.terminal.completion_marker },
    idleKillMs: wishes.idleKill ?? null,
    // Whoever runs it in their own terminal starts it again themselves.
    ...(surface.foreground
      ? {}
      : { restart: wishes.restart ?? usualRestartRule({ ...program, taskId, settings: own }) }),
  };
  findCommand(command[0] ?? "", spec.cwd, spec.env); // before anything else is said
  return { spec, home, settings: own, watched: daemon.url !== null };
}

function checkAgentId(value: string, option: string): string {
  if (isAgentId(checkId(value, option))) return value;
  throw new Fault("bad-request", `${option}: ${ownPrefixRule}`);
}

function checkId(value: string, option: string): string {
  if (isId(value)) return value;
  throw new Fault("bad-request", `${option}: ${idRule}`);
}

/** `claude-1`, `claude-2`, …: the first that nobody holds and nobody beats under. */
async function findName(here: Surroundings, home: string, { command, not = [] }: AgentWishes): Promise<NamedAgent> {
  const { isHolderAlive, readHolderFile } = await import("../holders/read-holder-files.ts");
  const stem = stemOf(command[0] ?? "");
  for (let n = 1; ; n++) {
    const agentId = `${stem}-${n}`;
    const file = readHolderFile(home, agentId);
    if (not.includes(agentId) || (file !== null && isHolderAlive(file))) continue;
    try {
      return { agentId, daemon: await askDaemon(here, agentId) };
    } catch (error) {
      if (!(error instanceof Fault && error.code === "name-taken")) throw error;
    }
  }
}

interface NamedAgent {
  readonly agentId: string;
  readonly daemon: DaemonAnswer;
}

function stemOf(command: string): string {
  const stem = basename(command)
    .replace(/[^A-Za-z0-9._-]/g, "")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 60);
  return stem === "" || stem.startsWith("rouse.") ? "agent" : stem;
}

/** A config with mistakes is the daemon's to refuse; an agent is started all the same, read with the shipped settings. */
async function readSettings(here: Surroundings): Promise<{ config: SettingsBook | null; settings: Settings }> {
  const { home, workingFolder, environment } = here;
  if (!isConfigured(here)) return { config: shippedConfig, settings: shippedConfig.settings };
  const { loadConfig } = await import("../config/load-config.ts");
  const reading = await loadConfig({ configFile: undefined, home, workingFolder, environment }).catch(() => null);
  if (reading?.ok) return { config: reading.config, settings: reading.config.settings };
  here.warn(
    "the configuration has mistakes (`rouse config check` lists them); the agent is read with the shipped settings",
  );
  return { config: null, settings: settingsOf("default") };
}

function checkPolicy(config: SettingsBook | null, name: string): string {
  const names = config?.policyNames() ?? [];
  if (config === null || names.includes(name)) return name;
  throw new Fault("bad-request", `--policy: there is no policy ${name}; there are ${names.join(", ")}`);
}

function readVariables(given: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    given.map((text) => {
      const equals = text.indexOf("=");
      if (equals < 1) throw new Fault("bad-request", "--env: write it as NAME=VALUE");
      return [text.slice(0, equals), text.slice(equals + 1)];
    }),
  );
}

function definedOnly(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
