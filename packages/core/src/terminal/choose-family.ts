import type { AgentFamily } from "@rouse/contract";
import { claudeLine, codexLine, geminiLine, opencodeLine } from "./program-options.ts";
import { optionsIn, readArguments, wordsIn } from "./read-arguments.ts";

/**
 * Commands and packages by their last path segment, without a version: `/usr/bin/claude`,
 * `@anthropic-ai/claude-code@2`.
 */
const programs: ReadonlyMap<string, AgentFamily> = new Map([
  ["claude", "claude-code"],
  ["claude-code", "claude-code"],
  ["codex", "codex"],
  ["gemini", "gemini-cli"],
  ["gemini-cli", "gemini-cli"],
  ["opencode", "opencode"],
  ["aider", "aider"],
  ["aider-chat", "aider"],
]);

/** Entry files whose own name says nothing. */
const scripts: readonly (readonly [RegExp, string])[] = [
  [/claude-code[\\/]cli\.m?js$/, "claude"],
  [/@openai[\\/]codex[\\/]bin[\\/]codex\.js$/, "codex"],
  [/gemini-cli[\\/](?:dist|bundle)[\\/](?:index|gemini)\.js$/, "gemini"],
];

/**
 * A command that runs another: its options that take a value, those that hide the inner command, and its own operands.
 */
interface Wrapper {
  readonly valued: readonly string[];
  readonly hides?: readonly string[];
  readonly operands?: number;
}

const packageRunner: Wrapper = { valued: ["-p", "--package"], hides: ["-c", "--call"] };
const toolRunner: Wrapper = { valued: ["--from", "--with", "-p", "--python", "--index-url"] };
const plain: Wrapper = { valued: [] };

const wrappers: ReadonlyMap<string, Wrapper> = new Map<string, Wrapper>([
  ["env", { valued: ["-u", "--unset", "-C", "--chdir"], hides: ["-S", "--split-string"] }],
  ["nice", { valued: ["-n", "--adjustment"] }],
  ["ionice", { valued: ["-c", "--class", "-n", "--classdata"] }],
  ["timeout", { valued: ["-k", "--kill-after", "-s", "--signal"], operands: 1 }],
  ["stdbuf", { valued: ["-i", "-o", "-e"] }],
  ["sudo", { valued: ["-u", "--user", "-g", "--group"] }],
  ["caffeinate", { valued: ["-t", "-w"] }],
  ["nohup", plain],
  ["setsid", plain],
  ["time", plain],
  ["npx", packageRunner],
  ["bunx", packageRunner],
  ["bun x", packageRunner],
  ["pnpm dlx", packageRunner],
  ["yarn dlx", packageRunner],
  ["uvx", toolRunner],
  ["uv run", toolRunner],
  ["uv tool run", toolRunner],
  ["pipx run", toolRunner],
]);

const interpreter = /^(?:node|bun|python[\d.]*)$/;
const shell = /^(?:ba|z|da|k)?sh$/;
/** Nothing a shell would expand, quote, redirect or join. */
const simpleCommand = /^[\w@%+=:,./ -]+$/;

/**
 * The program that a command starts, and whether it prints a stream of JSON. In doubt the screen is read: a stream that
 * is not there tells nothing.
 */
export function chooseFamily(command: readonly string[]): { family: AgentFamily; structured: boolean } {
  const program = findProgram(command);
  if (program === null) return { family: "generic", structured: false };
  return { family: program.family, structured: printsStream(program.family, program.args) };
}

/** The program that a command starts in the end, and its arguments; `null` when it is not a known one. */
export function findProgram(command: readonly string[]): { family: AgentFamily; args: readonly string[] } | null {
  let rest: readonly string[] | null = command;
  while (rest !== null && rest[0] !== undefined) {
    const family = programNamed(rest[0]);
    if (family !== undefined) return { family, args: rest.slice(1) };
    rest = unwrap(rest);
  }
  return null;
}

const lastSegment = (word: string): string => word.slice(Math.max(word.lastIndexOf("/"), word.lastIndexOf("\\")) + 1);

const programNamed = (word: string): AgentFamily | undefined =>
  programs.get(lastSegment(word).replace(/(?<=.)@.*$|\.(?:exe|cmd)$/, ""));

/** The command inside a wrapper, always shorter than the whole; `null` when none can be seen. */
function unwrap(argv: readonly string[]): readonly string[] | null {
  const name = lastSegment(argv[0] ?? "");
  for (const words of [3, 2, 1]) {
    const wrapper = wrappers.get([name, ...argv.slice(1, words)].join(" "));
    if (wrapper !== undefined) return skipOwnWords(argv.slice(words), wrapper);
  }
  if (shell.test(name)) return commandOfShell(argv.slice(1));
  if (interpreter.test(name)) return scriptOf(argv.slice(1), name);
  return null;
}

function skipOwnWords(words: readonly string[], wrapper: Wrapper): readonly string[] | null {
  let at = 0;
  for (let word = words[at]; word?.startsWith("-"); word = words[at]) {
    at++;
    if (word === "--") break;
    if (wrapper.hides?.some((option) => word === option || word?.startsWith(`${option}=`))) return null;
    if (wrapper.valued.includes(word)) at++;
  }
  while (/^[A-Za-z_]\w*=/.test(words[at] ?? "")) at++;
  return words.slice(at + (wrapper.operands ?? 0));
}

/** Only a plain line is looked into: what a shell makes of any other is unknown. */
function commandOfShell(words: readonly string[]): readonly string[] | null {
  const at = words.findIndex((word) => /^-[a-z]*c$/.test(word) || !word.startsWith("-"));
  const line = words[at]?.startsWith("-") ? words[at + 1] : undefined;
  if (line === undefined || !simpleCommand.test(line)) return null;
  const inner = line.trim().split(/ +/);
  return programNamed(inner[0] ?? "") === undefined ? null : inner;
}

const interpreterValues: readonly string[] = ["-r", "--require", "--import", "--loader", "-X", "-W"];
const interpreterHides: readonly string[] = ["-e", "--eval", "-p", "--print", "-c", "-"];

function scriptOf(words: readonly string[], name: string): readonly string[] | null {
  const module = name.startsWith("python") ? words.indexOf("-m") : -1;
  if (module >= 0 && words.slice(0, module).every((word) => word.startsWith("-"))) return words.slice(module + 1);
  const rest = skipOwnWords(words, { valued: interpreterValues, hides: interpreterHides });
  const script = rest?.[0];
  if (rest === null || script === undefined) return null;
  return [scripts.find(([path]) => path.test(script))?.[1] ?? script, ...rest.slice(1)];
}

/** Whether the program prints one JSON object per line with these arguments. */
export function printsStream(family: AgentFamily, args: readonly string[]): boolean {
  switch (family) {
    case "claude-code": {
      const options = optionsOfClaude(args);
      return options.has("--print") && options.get("--output-format") === "stream-json";
    }
    case "codex": {
      const options = optionsOfCodex(args);
      return isCodexExec(args) && (options.has("--json") || options.has("--experimental-json"));
    }
    case "gemini-cli": {
      const options = optionsIn(readArguments(geminiLine, args));
      return options.has("--prompt") && options.get("--output-format") === "stream-json";
    }
    case "opencode": {
      const pieces = readArguments(opencodeLine, args);
      return wordsIn(pieces)[0]?.word === "run" && optionsIn(pieces).get("--format") === "json";
    }
    case "aider":
    case "generic":
      return false;
  }
}

export const optionsOfClaude = (args: readonly string[]): ReadonlyMap<string, string | true> =>
  optionsIn(readArguments(claudeLine, args));

/** Codex without a screen, for one task. */
export function isCodexExec(args: readonly string[]): boolean {
  const command = wordsIn(readArguments(codexLine, args))[0]?.word;
  return command === "exec" || command === "e";
}

export const optionsOfCodex = (args: readonly string[]): ReadonlyMap<string, string | true> =>
  optionsIn(readArguments(codexLine, args));
