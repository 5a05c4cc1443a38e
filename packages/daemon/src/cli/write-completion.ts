import type { Command, Option } from "commander";

/** What may follow one command on the line. */
interface CommandWords {
  /** Names and aliases from the program on; empty for the program itself. */
  readonly path: readonly string[];
  readonly names: readonly string[];
  readonly description: string;
  readonly commands: readonly CommandWords[];
  readonly options: readonly OptionWords[];
  /** It takes names of agents. */
  readonly agents: boolean;
  /** Other words it takes, of a closed set. */
  readonly choices: readonly string[];
}

interface OptionWords {
  readonly flags: readonly string[];
  readonly description: string;
  /** What comes after it; `null` for one that stands alone. */
  readonly value: "agents" | "file" | "other" | readonly string[] | null;
}

/** Reads off a program what there is to complete, so that no list of it is kept anywhere else. */
export function readWords(command: Command, path: readonly string[] = []): CommandWords {
  const args = command.registeredArguments;
  return {
    path,
    names: [command.name(), ...command.aliases()],
    description: command.description(),
    commands: command.commands.map((one) => readWords(one, [...path, one.name()])),
    options: [
      ...command.options.map(readOption),
      { flags: ["-h", "--help"], description: "show its help", value: null },
    ],
    agents: args.some((one) => /^agents?$/.test(one.name())),
    choices: args.flatMap((one) => one.argChoices ?? []),
  };
}

function readOption(option: Option): OptionWords {
  const { short, long, description } = option;
  return { flags: [short, long].filter((flag) => flag !== undefined), description, value: valueAfter(option) };
}

function valueAfter({ long, flags, argChoices, required, optional }: Option): OptionWords["value"] {
  if (!required && !optional) return null;
  if (argChoices !== undefined) return argChoices;
  if (long === "--agent") return "agents";
  return /<(file|folder|path)/.test(flags) || ["--config", "--cwd", "--output"].includes(long ?? "") ? "file" : "other";
}

const everyOne = (words: CommandWords): CommandWords[] => [words, ...words.commands.flatMap(everyOne)];
const keyOf = ({ path }: CommandWords): string => path.join(" ");

/** In single quotes, as every shell reads them. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const askAgents = "rouse completion agents 2>/dev/null";

/** Which command the words typed so far have led to, for shells with `case`. */
function walk(all: readonly CommandWords[]): string {
  const steps = all.flatMap((parent) =>
    parent.commands.map((one) => {
      const patterns = one.names.map((name) => quoted(`${keyOf(parent)}/${name}`)).join("|");
      return `      ${patterns}) path=${quoted(keyOf(one))} ;;`;
    }),
  );
  return steps.join("\n");
}

function afterOptions(all: readonly CommandWords[], write: (value: Value) => string): string {
  const cases = all.flatMap((one) =>
    one.options.flatMap(({ flags, value }) => {
      const patterns = flags.map((flag) => quoted(`${keyOf(one)}/${flag}`)).join("|");
      return value === null ? [] : [`    ${patterns}) ${write(value)}; return ;;`];
    }),
  );
  return cases.join("\n");
}

type Value = NonNullable<OptionWords["value"]>;

function writeBash(program: CommandWords): string {
  const all = everyOne(program);
  const replies = all.map((one) => {
    const flags = one.options.flatMap(({ flags: all }) => all).join(" ");
    const words = [...one.commands.flatMap(({ names }) => names), ...one.choices].join(" ");
    return `    ${quoted(keyOf(one))}) flags=${quoted(flags)} words=${quoted(words)} agents=${one.agents ? 1 : 0} ;;`;
  });
  const value = (of: Value): string => {
    if (of === "agents") return `COMPREPLY=($(compgen -W "$(${askAgents})" -- "$cur"))`;
    if (of === "file") return "compopt -o default 2>/dev/null";
    return of === "other" ? ":" : `COMPREPLY=($(compgen -W ${quoted(of.join(" "))} -- "$cur"))`;
  };
  return `# bash completion for rouse; written by \`rouse completion bash\`
_rouse() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" path="" flags="" words="" agents=0 i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    # What follows is the agent's own command.
    if [[ \${COMP_WORDS[i]} == -- ]]; then compopt -o default 2>/dev/null; return; fi
    case "$path/\${COMP_WORDS[i]}" in
${walk(all)}
    esac
  done
  case "$path/$prev" in
${afterOptions(all, value)}
  esac
  case "$path" in
${replies.join("\n")}
  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$cur")); return; fi
  if [[ $agents == 1 ]]; then words="$words $(${askAgents})"; fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _rouse rouse
`;
}

/** \`_describe\` reads "word:description". */
const described = (word: string, description: string): string =>
  quoted(`${word.replaceAll(":", "\\:")}:${description}`);

function writeZsh(program: CommandWords): string {
  const all = everyOne(program);
  const replies = all.map((one) => {
    const flags = one.options.flatMap(({ flags: all, description }) => all.map((flag) => described(flag, description)));
    const words = one.commands.flatMap(({ names, description }) => names.map((name) => described(name, description)));
    const choices = one.choices.map((choice) => quoted(choice));
    return `    ${quoted(keyOf(one))}) flags=(${flags.join(" ")}) words=(${[...words, ...choices].join(" ")}) agents=${one.agents ? 1 : 0} ;;`;
  });
  const value = (of: Value): string => {
    if (of === "agents") return `compadd -- \${(f)"$(${askAgents})"}`;
    if (of === "file") return "_files";
    return of === "other" ? ":" : `compadd -- ${of.map(quoted).join(" ")}`;
  };
  return `#compdef rouse
# zsh completion for rouse; written by \`rouse completion zsh\`
_rouse() {
  local cur="\${words[CURRENT]}" prev="\${words[CURRENT-1]}" path_="" i agents=0
  local -a typed flags names
  typed=("\${words[@]}")
  for ((i = 2; i < CURRENT; i++)); do
    # What follows is the agent's own command.
    if [[ \${typed[i]} == -- ]]; then _files; return; fi
    case "$path_/\${typed[i]}" in
${walk(all).replaceAll(" path=", " path_=")}
    esac
  done
  case "$path_/$prev" in
${afterOptions(all, value)}
  esac
  case "$path_" in
${replies.join("\n").replaceAll(" words=(", " names=(")}
  esac
  if [[ $cur == -* ]]; then _describe option flags; return; fi
  (( \${#names} )) && _describe word names
  if (( agents )); then compadd -- \${(f)"$(${askAgents})"}; fi
}
if [[ \${funcstack[1]} == _rouse ]]; then _rouse "$@"; else compdef _rouse rouse; fi
`;
}

function writeFish(program: CommandWords): string {
  const all = everyOne(program);
  const lines = all.flatMap((one) => [
    ...one.commands.flatMap(({ names, description }) =>
      names.map((name) => fishLine(one, `-a ${name} -d ${quoted(description)}`)),
    ),
    ...one.choices.map((choice) => fishLine(one, `-a ${choice}`)),
    ...(one.agents ? [fishLine(one, `-a '(${askAgents})'`)] : []),
    ...one.options.map((option) => fishLine(one, fishOption(option), true)),
  ]);
  return `# fish completion for rouse; written by \`rouse completion fish\`
complete -c rouse -f
${lines.join("\n")}
`;
}

/** Completes where the line has come to this command and no further; `below`: after its subcommands as well. */
function fishLine({ path, names, commands }: CommandWords, what: string, below = false): string {
  if (path.length === 0) return `complete -c rouse -n __fish_use_subcommand ${what}`;
  const seen = [...path.slice(0, -1).map((word) => [word]), names].map(
    (words) => `__fish_seen_subcommand_from ${words.join(" ")}`,
  );
  const further = commands.flatMap(({ names: deeper }) => deeper).join(" ");
  const not = further === "" || below ? [] : [`not __fish_seen_subcommand_from ${further}`];
  return `complete -c rouse -n ${quoted([...seen, ...not].join("; and "))} ${what}`;
}

function fishOption({ flags, description, value }: OptionWords): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  return [...names, ...fishValue(value), `-d ${quoted(description)}`].join(" ");
}

function fishValue(value: OptionWords["value"]): string[] {
  if (value === null) return [];
  if (value === "file") return ["-r -F"];
  if (value === "other") return ["-x"];
  return [value === "agents" ? `-x -a '(${askAgents})'` : `-x -a ${quoted(value.join(" "))}`];
}

export const writeScript = { bash: writeBash, zsh: writeZsh, fish: writeFish } as const;
