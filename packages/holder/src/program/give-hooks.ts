import { mkdirSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { findProgram, optionsOfClaude } from "@rouse/core";
import { attempt } from "../attempt.ts";
import type { HolderLog } from "../holder-log.ts";
import type { Spec } from "../protocol/spec.ts";
import { readPlainText } from "../read-plain-file.ts";
import { writeWhole } from "../write-whole.ts";
import { type Admit, type Hear, type HookEar, listenForHooks, toolHookSeconds } from "./listen-for-hooks.ts";

/** What an agent is started with so that its hooks call us, or why it has none. */
type GivenHooks =
  | { readonly kind: "given"; readonly command: readonly string[]; readonly env: Readonly<Record<string, string>> }
  | { readonly kind: "none"; readonly because: string };

const none = (because: string): GivenHooks => ({ kind: "none", because });

const tokenVariable = "ROUSE_HOOK_TOKEN";

const events = [
  "UserPromptSubmit",
  "PreToolUse",
  "PermissionRequest",
  "PostToolUse",
  "PostToolUseFailure",
  "PostToolBatch",
  "Notification",
  "PreCompact",
  "PostCompact",
  "SubagentStop",
  "Stop",
  "StopFailure",
  "SessionEnd",
] as const;

/** With these options Claude Code runs no hooks, or does no work that could be watched. */
const withoutHooks: readonly string[] = ["--bare", "--safe-mode", "--version", "-v", "--help", "-h"];

/** Subcommands that are no conversation. */
const errands = new Set(
  (
    "agents attach auth auto-mode config daemon doctor gateway install logs mcp plugin plugins project remote-control respawn rm " +
    "setup-token stop ultrareview update upgrade"
  ).split(" "),
);

/** Not the name of the plugin that people install: of two with the same name Claude Code loads one. */
const pluginName = "rouse-hooks";

export interface Hooks {
  readonly given: GivenHooks;
  readonly ear: HookEar | null;
}

/** When the server for hooks cannot be opened, the agent is started without hooks. */
export async function openHooks(spec: Spec, folder: string, hear: Hear, admit: Admit, log: HolderLog): Promise<Hooks> {
  if (spec.family !== "claude-code") {
    const because = spec.family === "generic" ? "it is started by a script" : "it has none that can be given";
    return { given: { kind: "none", because }, ear: null };
  }
  try {
    const ear = await listenForHooks(hear, admit);
    const given = giveHooks(spec, ear, folder);
    if (given.kind === "given") return { given, ear };
    ear.close();
    return { given, ear: null };
  } catch (error) {
    log("the agent's hooks cannot be heard", error);
    return { given: { kind: "none", because: "they cannot be heard" }, ear: null };
  }
}

/**
 * Claude Code takes a plugin for one run beside everything else it is given, so the user's own settings stay untouched.
 * `spec.command` stays what the user gave.
 */
export function giveHooks(spec: Spec, ear: HookEar, folder: string): GivenHooks {
  const command = spec.resumed ?? spec.command;
  const program = findProgram(command);
  if (program?.family !== "claude-code") return none("it has none that can be given");
  const { args } = program;
  const before = command.slice(0, command.length - args.length);
  // A command inside a shell's line is not changed.
  if (args.some((arg, i) => command[before.length + i] !== arg)) return none("it is started by a shell");
  const options = optionsOfClaude(args);
  const against = withoutHooks.find((option) => options.has(option));
  if (against !== undefined) return none(`it is started with ${against}`);
  if (errands.has(args[0] ?? "")) return none("it is no conversation");
  if (forbidsPlugins(spec.env)) return none("its organization allows no plugins for one run");
  writePlugin(folder, hooksFor(ear.url));
  return {
    kind: "given",
    command: [...before, "--plugin-dir", folder, ...withoutOurs(args, spec.cwd)],
    env: { [tokenVariable]: ear.token },
  };
}

/**
 * Empties the plugin when nobody listens any more: a program that is started with this folder again would otherwise
 * report a failed hook at each step.
 */
export function emptyHooks(folder: string): void {
  writePlugin(folder, {});
}

const manifestIn = (folder: string): string => join(folder, ".claude-plugin", "plugin.json");

function writePlugin(folder: string, hooks: object): void {
  for (const part of [".claude-plugin", "hooks"]) mkdirSync(join(folder, part), { recursive: true, mode: 0o700 });
  const description = "Tells Rouse what this agent does";
  writeWhole(manifestIn(folder), JSON.stringify({ name: pluginName, version: "1.0.0", description }));
  writeWhole(join(folder, "hooks", "hooks.json"), JSON.stringify({ hooks }));
}

function hooksFor(url: string): object {
  const hookOf = (event: string) => ({
    type: "http",
    url,
    timeout: event === "PreToolUse" ? toolHookSeconds : 5,
    onFailure: "continue",
    // Without a message the spinner of Claude Code shows "running PreToolUse hook" at each step.
    statusMessage: " ",
    headers: { Authorization: `Bearer $${tokenVariable}` },
    allowedEnvVars: [tokenVariable],
  });
  return Object.fromEntries(events.map((event) => [event, [{ hooks: [hookOf(event)] }]]));
}

/** Removes our plugin of another life from a copied command. What follows `--` is the user's text. */
function withoutOurs(args: readonly string[], cwd: string): readonly string[] {
  const end = args.indexOf("--") === -1 ? args.length : args.indexOf("--");
  const isOurs = (i: number): boolean => args[i] === "--plugin-dir" && i + 1 < end && isOurPlugin(cwd, args[i + 1]);
  return args.filter((arg, i) => {
    if (i >= end) return true;
    const joined = arg.startsWith("--plugin-dir=") && isOurPlugin(cwd, arg.slice("--plugin-dir=".length));
    return !joined && !isOurs(i) && !isOurs(i - 1);
  });
}

function isOurPlugin(cwd: string, folder = ""): boolean {
  const manifest: unknown = attempt(() => JSON.parse(readPlainText(manifestIn(resolve(cwd, folder))) ?? "null"));
  return (manifest as { name?: unknown } | null)?.name === pluginName;
}

/** Where an organization's settings for Claude Code lie, which users cannot change. */
const managedFolders: readonly string[] = ["/etc/claude-code", "/Library/Application Support/ClaudeCode"];

/** Where an organization refuses plugins for one run, Claude Code does not even start with one. */
export function forbidsPlugins(env: Readonly<Record<string, string>>, folders = managedFolders): boolean {
  const own = env["CLAUDE_CONFIG_DIR"] ?? join(env["HOME"] ?? homedir(), ".claude");
  const files = folders.flatMap((folder) => [join(folder, "managed-settings.json"), ...addedIn(folder)]);
  // Settings from the organization's server are cached among the user's own, in an undocumented format.
  return [...files, join(own, "remote-settings.json")].some((file) => forbids.test(readPlainText(file) ?? ""));
}

const forbids = /"disableSideloadFlags"\s*:\s*true/;

/** Most machines have no such folder. */
function addedIn(folder: string): string[] {
  const added = join(folder, "managed-settings.d");
  return attempt(() => readdirSync(added).map((name) => join(added, name))) ?? [];
}
