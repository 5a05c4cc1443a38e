import type { AgentFamily } from "@rouse/contract";
import { findProgram } from "../terminal/choose-family.ts";
import { type CommandLine, claudeLine, codexLine, geminiLine, opencodeLine } from "../terminal/program-options.ts";
import { argsOf, optionsIn, type Piece, readArguments, type WordPiece, wordsIn } from "../terminal/read-arguments.ts";

/**
 * The command that makes a program go on with its conversation. `words` replace its prompt; a program that was started
 * without a prompt is told nothing, because a person goes on with it. `null`: it has no such way, or none that is sure,
 * and the same command is started again.
 */
export function resumeCommand(
  family: AgentFamily,
  command: readonly string[],
  session: string,
  words: string,
): readonly string[] | null {
  const program = findProgram(command);
  if (program === null || program.family !== family || !isPlain(session)) return null;
  const { args } = program;
  const before = command.slice(0, command.length - args.length);
  // A command inside a shell's line is not changed.
  if (args.some((arg, i) => command[before.length + i] !== arg)) return null;
  const resumed = resumeArguments(family, args, session, words);
  return resumed === null ? null : [...before, ...resumed];
}

/** The id goes onto a command line, so nothing that looks like an option or a path is one. */
const isPlain = (session: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_-]{5,127}$/.test(session);

function resumeArguments(family: AgentFamily, args: readonly string[], session: string, words: string) {
  switch (family) {
    case "claude-code":
      return resumeClaude(args, session, words);
    case "codex":
      return resumeCodex(args, session, words);
    case "gemini-cli":
      return resumeGemini(args, session, words);
    case "opencode":
      return resumeOpencode(args, session, words);
    case "aider":
    case "generic":
      return null;
  }
}

/** `claude … PROMPT …` → `claude --resume ID … WORDS …`. */
function resumeClaude(args: readonly string[], session: string, words: string): readonly string[] | null {
  const elsewhere = ["--no-session-persistence", "--background", "--cloud", "--teleport", "--desktop", "--environment"];
  const chosen = ["--resume", "--continue", "--session-id", "--from-pr", "--fork-session"];
  const pieces = readKept(claudeLine, args, elsewhere, chosen);
  if (pieces === null) return null;
  const prompt = wordsIn(pieces);
  const options = optionsIn(pieces);
  // `claude -p` without a prompt reads it, or messages, from its input.
  if (prompt.length === 0 && options.has("--print") && options.get("--input-format") !== "stream-json") return null;
  return isOnePrompt(claudeLine, prompt) ? ["--resume", session, ...argsOf(inPlaceOf(prompt, words, pieces))] : null;
}

/**
 * `codex [exec] [options] [PROMPT]` → `codex [exec] [options] resume ID [WORDS]`: `resume` refuses most options of
 * `exec` after it. There is at most one prompt, so with two words one is the value of an unknown option.
 */
function resumeCodex(args: readonly string[], session: string, words: string): readonly string[] | null {
  const pieces = readKept(codexLine, args, ["--ephemeral"], ["--all", "--include-non-interactive"]);
  if (pieces === null) return null;
  const all = wordsIn(pieces);
  const sure = all.filter((piece) => piece.sure);
  const executes = sure[0] !== undefined && isCommand(sure[0], "exec", "e");
  const own = sure.slice(executes ? 1 : 0);
  const resumes = own[0] !== undefined && isCommand(own[0], "resume");
  // After `resume` comes the conversation, unless `--last` names it.
  const prompt = own.slice(resumes ? (optionsIn(pieces).has("--last") ? 1 : 2) : 0);
  if (prompt.length > 1 || !isSaid(codexLine, prompt)) return null;
  if (prompt.length === 0 && (executes || all.length > sure.length)) return null;
  const kept = pieces.filter((piece) =>
    piece.kind === "word" ? !piece.sure : piece.kind === "option" && piece.name !== "--last",
  );
  // `--image` takes every word that follows, also a subcommand.
  const last = kept.at(-1);
  if (last?.kind === "option" && last.name === "--image") return null;
  const exec = executes ? pieces.indexOf(sure[0] as Piece) : 0;
  const isRoot = (piece: Piece): boolean => pieces.indexOf(piece) < exec;
  const spoken = prompt.length === 0 ? [] : [words];
  return [
    ...argsOf(kept.filter(isRoot)),
    ...(executes ? ["exec"] : []),
    ...argsOf(kept.filter((piece) => !isRoot(piece))),
    ...["resume", session, ...spoken],
  ];
}

const isCommand = ({ word, text }: WordPiece, ...names: readonly string[]): boolean => !text && names.includes(word);

/** `gemini [-p PROMPT | -i PROMPT | PROMPT]` → the same with `--resume ID` and other words. */
function resumeGemini(args: readonly string[], session: string, words: string): readonly string[] | null {
  const elsewhere = ["--list-sessions", "--list-extensions", "--delete-session", "--acp", "--experimental-acp"];
  const pieces = readKept(geminiLine, args, elsewhere, ["--resume", "--session-id", "--session-file"]);
  if (pieces === null) return null;
  const asked = pieces.filter((piece) => piece.kind === "option" && /^--prompt/.test(piece.name));
  const prompt = wordsIn(pieces);
  if (!isSaid(geminiLine, prompt) || asked.length + Math.min(prompt.length, 1) > 1) return null;
  if (asked.some((piece) => piece.kind === "option" && piece.value === true)) return null;
  const spoken = asked.length === 0 ? inPlaceOf(prompt, words, pieces) : withValue(pieces, /^--prompt/, words);
  return ["--resume", session, ...argsOf(spoken)];
}

/**
 * Whether a resumed program gets the words by typing: opencode's full screen takes a prompt on the command line only
 * for a new conversation.
 */
export function isToldByTyping(family: AgentFamily, command: readonly string[]): boolean {
  const program = findProgram(command);
  if (family !== "opencode" || program?.family !== family) return false;
  const pieces = readArguments(opencodeLine, program.args);
  const [first] = wordsIn(pieces);
  return optionsIn(pieces).has("--prompt") && (first === undefined || !isCommand(first, "run"));
}

/**
 * `opencode run … MESSAGE` → `opencode run … --session ID WORDS`; `opencode … --prompt PROMPT` → `opencode --session ID
 * …`.
 */
function resumeOpencode(args: readonly string[], session: string, words: string): readonly string[] | null {
  const pieces = readKept(opencodeLine, args, ["--command"], ["--continue", "--session", "--fork"]);
  if (pieces === null) return null;
  const all = wordsIn(pieces);
  const [first, ...message] = all;
  if (first === undefined || !isCommand(first, "run")) {
    if (!isSaid(opencodeLine, all)) return null;
    const kept = pieces.filter((piece) => piece.kind !== "option" || piece.name !== "--prompt");
    return ["--session", session, ...argsOf(kept)];
  }
  if (message.length === 0 || !message.every(({ sure, word }) => sure && word !== "-")) return null;
  return ["run", words, ...argsOf(pieces.filter(({ kind }) => kind === "option")), "--session", session];
}

/** The command line without the options that choose a conversation; `null` where its conversation is not kept here. */
function readKept(line: CommandLine, args: readonly string[], elsewhere: readonly string[], chosen: readonly string[]) {
  const pieces = readArguments(line, args);
  const options = optionsIn(pieces);
  if (["--help", "--version", ...elsewhere].some((name) => options.has(name))) return null;
  return pieces.filter((piece) => piece.kind !== "option" || !chosen.includes(piece.name));
}

/** `-` stands for the input; a subcommand is no prompt, nor is what may be the value of an unknown option. */
const isSaid = ({ commands }: CommandLine, prompt: readonly WordPiece[]): boolean =>
  prompt.every(({ word, sure }) => sure && word !== "-") &&
  (prompt[0] === undefined || prompt[0].text || !commands.has(prompt[0].word));

/** The first word is the prompt; later ones may be values of unknown options. */
const isOnePrompt = (line: CommandLine, all: readonly WordPiece[]): boolean =>
  isSaid(line, all.slice(0, 1)) && all.slice(1).every(({ sure }) => !sure);

function inPlaceOf(prompt: readonly WordPiece[], words: string, pieces: readonly Piece[]): readonly Piece[] {
  const [first, ...more] = prompt.filter(({ sure }) => sure);
  return pieces
    .filter((piece) => !more.includes(piece as WordPiece))
    .map((piece) => (piece === first ? { ...piece, args: [words] } : piece));
}

const withValue = (pieces: readonly Piece[], names: RegExp, value: string): readonly Piece[] =>
  pieces.map((piece) =>
    piece.kind === "option" && names.test(piece.name) ? { ...piece, args: [piece.name, value] } : piece,
  );

/**
 * Whether the same command takes up its conversation again: the last one of its folder, or one that it names. A fork
 * makes another one, and a menu has none yet.
 */
export function takesUpConversation(family: AgentFamily, command: readonly string[]): boolean {
  const program = findProgram(command);
  return program !== null && program.family === family && isTakenUp(family, program.args);
}

function isTakenUp(family: AgentFamily, args: readonly string[]): boolean {
  switch (family) {
    case "claude-code": {
      const options = optionsIn(readArguments(claudeLine, args));
      if (options.has("--fork-session")) return false;
      return options.has("--continue") || typeof options.get("--resume") === "string";
    }
    case "codex": {
      const pieces = readArguments(codexLine, args);
      const words = wordsIn(pieces).flatMap(({ word, sure, text }) => (sure && !text ? [word] : []));
      const [first, ...named] = words[0] === "exec" || words[0] === "e" ? words.slice(1) : words;
      return first === "resume" && (named.length > 0 || optionsIn(pieces).has("--last"));
    }
    case "gemini-cli":
      return optionsIn(readArguments(geminiLine, args)).has("--resume");
    case "opencode": {
      const options = optionsIn(readArguments(opencodeLine, args));
      return !options.has("--fork") && (options.has("--continue") || options.has("--session"));
    }
    case "aider":
    case "generic":
      return false;
  }
}
