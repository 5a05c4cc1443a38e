import type { AgentFamily } from "@rouse/contract";
import { findProgram } from "../terminal/choose-family.ts";
import { claudeLine, codexLine, geminiLine, opencodeLine } from "../terminal/program-options.ts";
import { optionsIn, readArguments, wordsIn } from "../terminal/read-arguments.ts";

/**
 * Whether a command that is given once more takes up the conversation that it had: the last one of its folder, or one that it names. One that makes a copy
 * makes another, and one that lets a person choose has none yet.
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
