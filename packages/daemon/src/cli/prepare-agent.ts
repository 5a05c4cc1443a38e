import { basename, resolve } from "node:path";
import {
  type AgentFamily,
  type AgentHealth,
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
import { connectRouse } from "@rouse/sdk";
import { isConfigured, type SettingsBook, shippedConfig } from "../config/shipped-config.ts";
import { environmentFor } from "../holders/agent-environment.ts";
import { openHome } from "../home/open-home.ts";
import { choosePort, defaultPort } from "./choose-port.ts";
import { findDaemon } from "./find-daemon.ts";
import type { Surroundings } from "./surroundings.ts";

/** What a person wants of an agent they start. */
export interface AgentWishes {
  readonly command: readonly string[];
  readonly name?: string | undefined;
  readonly type?: string | undefined;
  readonly task?: string | undefined;
  readonly policy?: string | undefined;
  readonly cwd?: string | undefined;
  /** Variables besides those of our own environment. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The owner's rule: stop the agent after so long without any sign of work. */
  readonly idleKill?: DurationMs | undefined;
  /** What follows when the agent ends; when not given, what is usual for such an agent. */
  readonly restart?: RestartRule | undefined;
  /** Names that turned out to be taken; only for an agent that the person did not name. */
  readonly not?: readonly string[] | undefined;
}

export interface Surface {
  readonly foreground: boolean;
  readonly io: Spec["io"];
  readonly cols: number;
  readonly rows: number;
}

interface PreparedAgent {
  readonly spec: Spec;
  readonly home: string;
  /** The settings of this agent, by the configuration found here. */
  readonly settings: Settings;
  /** Whether a monitor runs that watches it. */
  readonly watched: boolean;
}

/** Settles everything about an agent before it is started: its id, incarnation, folder, environment and settings. */
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
  const defined = Object.entries(here.environment).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const base = { ...Object.fromEntries(defined), ...wishes.env };
  const program = chooseFamily(command);
  const spec: Spec = {
    agentId,
    agentType,
    taskId,
    policy,
    incarnation,
    // Without a running monitor the last one may have had a database that is gone by now.
    store: daemon.url === null ? null : (readStore(home)?.store ?? null),
    command: [...command],
    cwd: resolve(here.workingFolder, wishes.cwd ?? "."),
    env: environmentFor(base, { agentId, taskId, incarnation }, { url, token, home }),
    ...surface,
    // A terminal would echo our messages and cut long ones off; Claude Code does not even start with one as its input.
    ...(takesMessages(command) && !surface.foreground ? { io: "pipes" as const } : {}),
    ...program,
    keepBytes: Math.round(own.terminal.output_kept_mb * 1024 * 1024),
    watch: { patterns: [...own.terminal.patterns], completionMarker: own.terminal.completion_marker },
    idleKillMs: wishes.idleKill ?? null,
    // An agent in a person's own terminal is started again by that person.
    ...(surface.foreground ? {} : { restart: wishes.restart ?? usualRestartRule(program.family, taskId, own) }),
  };
  findCommand(command[0] ?? "", spec.cwd, spec.env); // before anything else is said
  return { spec, home, settings: own, watched: daemon.url !== null };
}

/**
 * What follows an agent's end when nobody said. An agent with a task, and a program that is known to be an agent, is
 * started again if it fails; any other command is run once, as a shell would. A policy that restarts agents for missed
 * beats has said that they are to be started again.
 */
function usualRestartRule(family: AgentFamily, taskId: string | null, settings: Settings): RestartRule {
  const isAgent = family !== "generic" || taskId !== null || settings.heartbeat.restart_on_missed_beats;
  return isAgent ? { when: "on-failure", max: null } : { when: "no" };
}

function checkAgentId(value: string, option: string): string {
  if (isAgentId(checkId(value, option))) return value;
  throw new Fault("bad-request", `${option}: ${ownPrefixRule}`);
}

function checkId(value: string, option: string): string {
  if (isId(value)) return value;
  throw new Fault("bad-request", `${option}: ${idRule}`);
}

/** Finds the first free name of `claude-1`, `claude-2`, …: no holder and no heartbeats under it. */
async function findName(here: Surroundings, home: string, { command, not = [] }: AgentWishes) {
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

function stemOf(command: string): string {
  const stem = basename(command)
    .replace(/[^A-Za-z0-9._-]/g, "")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 60);
  return stem === "" || stem.startsWith("rouse.") ? "agent" : stem;
}

/** Reads the settings. With mistakes in the configuration the agent still starts, with shipped settings. */
async function readSettings(here: Surroundings): Promise<{ config: SettingsBook | null; settings: Settings }> {
  if (!isConfigured(here)) return { config: shippedConfig, settings: shippedConfig.settings };
  const { loadConfig } = await import("../config/load-config.ts");
  const reading = await loadConfig(here).catch(() => null);
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

/** An agent must not wait for a monitor that hangs. */
const patience = 2000;
const lookEvery = 50;

/**
 * Asks for the address of the monitor, and for the newest incarnation of this name that it knows; `null` when there is
 * none. Throws when an agent that Rouse did not start sends heartbeats under the name.
 */
async function askDaemon(here: Surroundings, agentId: string) {
  try {
    const address = await findDaemon(withoutAgentToken(here));
    const agent = await connectRouse({ ...address, timeout: patience })
      .getAgentHealth(agentId)
      .catch((error: unknown) => {
        if (error instanceof Fault && error.code === "agent-unknown") return null;
        throw error;
      });
    if (agent !== null && beatsByItself(agent))
      throw new Fault("name-taken", `${agentId} is an agent that sends heartbeats by itself; choose another --name`);
    return { url: address.url, incarnation: agent?.incarnation ?? null };
  } catch (error) {
    if (error instanceof Fault && (error.code === "daemon-unreachable" || error.code === "unauthorized"))
      return { url: null, incarnation: null };
    throw error;
  }
}

/**
 * Waits until the monitor knows the agent, because a script may ask for it the next moment; not longer than `patience`.
 */
export async function awaitKnown(here: Surroundings, agentId: string, incarnation: number): Promise<void> {
  const giveUpAt = performance.now() + patience;
  const rouse = connectRouse({ ...(await findDaemon(withoutAgentToken(here))), timeout: patience });
  while (performance.now() < giveUpAt) {
    const agent = await rouse.getAgentHealth(agentId).catch(() => null);
    if (agent !== null && agent.incarnation >= incarnation) return;
    await new Promise((resolve) => setTimeout(resolve, lookEvery));
  }
}

/**
 * Inside an agent that Rouse started, ROUSE_TOKEN is that agent's own; the owner's token is in the data folder. Agents
 * may start others, so this question is asked with the owner's token. Orders use what is in the environment.
 */
const withoutAgentToken = (here: Surroundings): Pick<Surroundings, "environment" | "home"> =>
  here.environment["ROUSE_AGENT_ID"] === undefined
    ? here
    : { home: here.home, environment: { ...here.environment, ROUSE_TOKEN: undefined, ROUSE_URL: undefined } };

const beatsByItself = ({ terminal, activity, state, lastHeartbeat }: AgentHealth): boolean =>
  terminal === null &&
  lastHeartbeat !== null &&
  activity.kind !== "FINISHED" &&
  state !== "UNRESPONSIVE" &&
  state !== "TERMINATED";
