import type { AgentFamily } from "@rouse/contract";
import { findProgram } from "../terminal/choose-family.ts";

/**
 * How a program that keeps its own conversations is told to go on with one, instead of beginning anew. `words` is what it is told first. `null`: this
 * program, or this way of starting it, has no such thing, and the same command is started again.
 */
export function resumeCommand(
  family: AgentFamily,
  command: readonly string[],
  session: string,
  words: string,
): readonly string[] | null {
  const program = findProgram(command);
  if (program === null || program.family !== family || !isPlain(session)) return null;
  const { args: rest } = program;
  const before = command.slice(0, command.length - rest.length);
  // Inside the line of a shell nothing is changed.
  if (rest.some((arg, i) => command[before.length + i] !== arg)) return null;
  switch (family) {
    case "claude-code":
      return resumeClaude(before, rest, session, words);
    case "codex":
      return resumeCodex(before, rest, session, words);
    case "gemini-cli":
    case "opencode":
    case "aider":
    case "generic":
      return null;
  }
}

/** Ids end up on a command line: whatever looks like an option or a path is none. */
const isPlain = (session: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_-]{5,127}$/.test(session);

const choosesSession = new Set(["--resume", "-r", "--continue", "-c", "--session-id", "--from-pr"]);
const printing = new Set(["-p", "--print"]);

/** `claude -p PROMPT …` → `claude --resume ID -p WORDS …`; without a prompt it is an open conversation, and there is nothing to say. */
function resumeClaude(before: readonly string[], rest: readonly string[], session: string, words: string) {
  const kept = withoutSession(rest);
  const says = kept.findIndex((arg) => printing.has(arg));
  const prompt = says === -1 ? -1 : says + 1;
  const hasPrompt = prompt > 0 && prompt < kept.length && !kept[prompt]?.startsWith("-");
  // Printing with its prompt somewhere else, or on its input: which argument that is cannot be told for sure.
  if (says !== -1 && !hasPrompt) return takesInput(kept) ? [...before, "--resume", session, ...kept] : null;
  const spoken = hasPrompt ? kept.map((arg, i) => (i === prompt ? words : arg)) : kept;
  return [...before, "--resume", session, ...spoken];
}

const takesInput = (args: readonly string[]): boolean =>
  args.some(
    (arg, i) => arg === "--input-format=stream-json" || (arg === "--input-format" && args[i + 1] === "stream-json"),
  );

/** Which conversation it is was chosen once; from now on it is this one. */
function withoutSession(args: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    const name = arg.split("=")[0] ?? arg;
    if (!choosesSession.has(name)) kept.push(arg);
    else if (!arg.includes("=") && name !== "-c" && name !== "--continue" && !(args[i + 1] ?? "-").startsWith("-"))
      i += 1;
  }
  return kept;
}

/** `codex exec [options] PROMPT` → `codex exec [options] resume ID WORDS`: most options of `exec` are unknown to `resume` and refused after it. */
function resumeCodex(before: readonly string[], rest: readonly string[], session: string, words: string) {
  const exec = rest.indexOf("exec");
  const options = exec === -1 ? null : optionsBeforePrompt(rest.slice(exec + 1));
  return options === null ? null : [...before, ...rest.slice(0, exec + 1), ...options, "resume", session, words];
}

const switches = new Set([
  "--json",
  "--experimental-json",
  "--full-auto",
  "--oss",
  "--search",
  "--yolo",
  "--dangerously-bypass-approvals-and-sandbox",
  "--skip-git-repo-check",
  "--ignore-user-config",
  "--ignore-rules",
]);
const subcommands = new Set(["resume", "review", "help"]);
/** They take every word that follows, a subcommand as well. */
const takesMany = /^(?:-i|--image(?:=|$))/;

/**
 * `null` unless the last argument is the prompt for sure, and the only one that is no option. An option that is not known to stand alone is taken to
 * have a value.
 */
function optionsBeforePrompt(args: readonly string[]): readonly string[] | null {
  const isWord = (arg: string | undefined): boolean => arg !== undefined && !arg.startsWith("-");
  for (let i = 0, many = false; i < args.length; i++) {
    const arg = args[i] ?? "";
    const isLast = i === args.length - (arg === "--" ? 2 : 1);
    if (arg === "--" || isWord(arg)) return isLast && !many && !subcommands.has(arg) ? args.slice(0, i) : null;
    many = takesMany.test(arg);
    if (many) while (isWord(args[i + 1])) i += 1;
    else if (!switches.has(arg) && !arg.includes("=") && isWord(args[i + 1])) i += 1;
  }
  return null;
}
