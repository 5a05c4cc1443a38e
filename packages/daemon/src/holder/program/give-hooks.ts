import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { findProgram, optionsOfClaude } from "@rouse/core";
import type { Spec } from "../spec.ts";
import { writeWhole } from "../write-whole.ts";
import type { HookEar } from "./listen-for-hooks.ts";
import { toolHookSeconds } from "./withhold-tools.ts";

/** What an agent is started with so that its hooks are heard, or why it has none. */
export type GivenHooks =
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

/** Claude Code started so runs no hooks, or does no work that could be watched. */
const withoutHooks: readonly string[] = ["--bare", "--safe-mode", "--version", "-v", "--help", "-h"];

/** Commands of the program that are no conversation. */
const errands = new Set(
  (
    "agents attach auth auto-mode config daemon doctor gateway install logs mcp plugin plugins project remote-control respawn rm " +
    "setup-token stop ultrareview update upgrade"
  ).split(" "),
);

/**
 * Claude Code takes settings for one run: hooks are added to those its user gives, in a file of ours, and no file of theirs is touched. `spec.command`
 * stays what the user gave.
 */
export function giveHooks(spec: Spec, ear: HookEar, file: string): GivenHooks {
  const command = spec.resumed ?? spec.command;
  const program = findProgram(command);
  if (program?.family !== "claude-code") return none("it has none that can be given");
  const { args } = program;
  const before = command.slice(0, command.length - args.length);
  // Inside the line of a shell nothing is changed.
  if (args.some((arg, i) => command[before.length + i] !== arg)) return none("it is started by a shell");
  const options = optionsOfClaude(args);
  const against = withoutHooks.find((option) => options.has(option));
  if (against !== undefined) return none(`it is started with ${against}`);
  if (errands.has(args[0] ?? "")) return none("it is no conversation");
  const theirs = options.has("--settings") ? readSettings(options.get("--settings"), spec.cwd) : {};
  if (theirs === null) return none("its own --settings cannot be read");
  writeWhole(file, JSON.stringify(withHooks(theirs, ear.url)));
  return {
    kind: "given",
    command: [...before, "--settings", file, ...withoutSettings(args)],
    env: { [tokenVariable]: ear.token },
  };
}

type Settings = Readonly<Record<string, unknown>>;

/** A file, or JSON right there. */
function readSettings(value: string | true | undefined, cwd: string): Settings | null {
  if (typeof value !== "string") return null;
  try {
    const text = value.trimStart().startsWith("{") ? value : readFileSync(resolve(cwd, value), "utf8");
    const settings: unknown = JSON.parse(text);
    return typeof settings === "object" && settings !== null && !Array.isArray(settings)
      ? (settings as Settings)
      : null;
  } catch {
    return null;
  }
}

/** Theirs stay, ours come after them. */
function withHooks(theirs: Settings, url: string): Settings {
  const hookOf = (event: string) => ({
    type: "http",
    url,
    timeout: event === "PreToolUse" ? toolHookSeconds : 5,
    onFailure: "continue",
    headers: { Authorization: `Bearer $${tokenVariable}` },
    allowedEnvVars: [tokenVariable],
  });
  const given = (theirs["hooks"] ?? {}) as Record<string, unknown>;
  const hooks = events.map((event) => [event, [...listIn(given[event]), { hooks: [hookOf(event)] }]] as const);
  return { ...theirs, hooks: { ...given, ...Object.fromEntries(hooks) } };
}

const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** What follows `--` is the user's text. */
function withoutSettings(args: readonly string[]): readonly string[] {
  const end = args.indexOf("--") === -1 ? args.length : args.indexOf("--");
  return args.filter((arg, i) => {
    if (i >= end) return true;
    const isValue = i > 0 && args[i - 1] === "--settings";
    return arg !== "--settings" && !arg.startsWith("--settings=") && !isValue;
  });
}
