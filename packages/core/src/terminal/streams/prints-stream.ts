import type { AgentFamily } from "@rouse/contract";

/**
 * Options that take the next word. They matter because that word may be a text of the user's which looks like an option: a system prompt
 * that reads `--print` is not a request to print.
 */
const claudeValued = new Set(
  (
    "--output-format --input-format --model --fallback-model --system-prompt --system-prompt-file --append-system-prompt " +
    "--append-system-prompt-file --session-id --max-turns --max-budget-usd --settings --setting-sources --permission-mode " +
    "--permission-prompt-tool --json-schema --agent --agents --effort --name -n --debug-file --add-dir --allowedTools " +
    "--allowed-tools --disallowedTools --disallowed-tools --tools --mcp-config --plugin-dir --betas --file"
  ).split(" "),
);
const codexValued = new Set(
  (
    "-m --model -c --config -C --cd -p --profile -s --sandbox -a --ask-for-approval -i --image --add-dir --enable --disable " +
    "--local-provider --output-schema --color -o --output-last-message --remote --base --commit --title"
  ).split(" "),
);
const geminiValued = new Set(
  (
    "-m --model -p --prompt -i --prompt-interactive -o --output-format --approval-mode --allowed-tools --policy -e --extensions " +
    "--allowed-mcp-server-names --include-directories -r --resume --delete-session --session-id -w --worktree"
  ).split(" "),
);
const opencodeValued = new Set(
  "--format -m --model --agent -s --session --command -f --file --title --attach --port --dir --variant --log-level".split(
    " ",
  ),
);

/** Whether the program, called with these arguments, prints one JSON object per line about what it does. */
export function printsStream(family: AgentFamily, args: readonly string[]): boolean {
  switch (family) {
    case "claude-code": {
      const options = optionsOfClaude(args);
      const prints = [...options.keys()].some((option) => option === "--print" || /^-c*pc*$/.test(option));
      return prints && options.get("--output-format") === "stream-json";
    }
    case "codex": {
      const { options, words } = readArguments(args, codexValued, isText);
      const executes = words[0] === "exec" || words[0] === "e";
      return executes && (options.has("--json") || options.has("--experimental-json"));
    }
    case "gemini-cli": {
      const { options } = readArguments(args, geminiValued, isText);
      const format = options.get("--output-format") ?? options.get("-o");
      return (options.has("-p") || options.has("--prompt")) && format === "stream-json";
    }
    case "opencode": {
      const { options, words } = readArguments(args, opencodeValued, isText);
      return words[0] === "run" && options.get("--format") === "json";
    }
    case "aider":
    case "generic":
      return false;
  }
}

/** Only its parser gives an option the next word even if that looks like an option itself. */
export const optionsOfClaude = (args: readonly string[]): ReadonlyMap<string, string | true> =>
  readArguments(args, claudeValued, () => true).options;

const isText = (word: string): boolean => !word.startsWith("-");

/** Options with their values, and the words between them. What follows `--` is the user's text and is not looked at. */
function readArguments(args: readonly string[], valued: ReadonlySet<string>, isValue: (word: string) => boolean) {
  const options = new Map<string, string | true>();
  const words: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] ?? "";
    if (arg === "--") break;
    const [, name = arg, value] = /^(-[^=\s]+)=([\s\S]*)$/.exec(arg) ?? [];
    const next = args[at + 1];
    if (!arg.startsWith("-") || arg === "-") words.push(arg);
    else if (value !== undefined) options.set(name, value);
    else if (!valued.has(name) || next === undefined || next === "--" || !isValue(next)) options.set(name, true);
    else {
      options.set(name, next);
      at++;
    }
  }
  return { options, words };
}
