import type { AgentFamily } from "@rouse/contract";
import { claudeLine, codexLine, geminiLine, opencodeLine } from "../program-options.ts";
import { optionsIn, readArguments, wordsIn } from "../read-arguments.ts";

/** Whether the program, called with these arguments, prints one JSON object per line about what it does. */
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

/** Without a screen, and for one task. */
export function isCodexExec(args: readonly string[]): boolean {
  const command = wordsIn(readArguments(codexLine, args))[0]?.word;
  return command === "exec" || command === "e";
}

export const optionsOfCodex = (args: readonly string[]): ReadonlyMap<string, string | true> =>
  optionsIn(readArguments(codexLine, args));
