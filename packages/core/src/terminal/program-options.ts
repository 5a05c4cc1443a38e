/**
 * How many words after an option belong to it: none, the next, the next unless it looks like an option, all until one
 * does.
 */
export type Takes = "nothing" | "one" | "maybe" | "many";

/** How a program's parser reads its command line. */
export interface CommandLine {
  /** Options by every name they have; the canonical name is the long one. */
  readonly options: ReadonlyMap<string, { readonly name: string; readonly takes: Takes }>;
  /** First words that are no prompt. */
  readonly commands: ReadonlySet<string>;
  /** Whether an option takes a value that looks like an option itself. */
  readonly takesDashes: boolean;
}

/** Names of one option are joined by `|`, the long one last. */
const commandLine = (
  spelled: Readonly<Record<Takes, string>>,
  commands: string,
  takesDashes: boolean = false,
): CommandLine => ({
  options: new Map(
    (Object.keys(spelled) as Takes[]).flatMap((takes) =>
      wordsOf(spelled[takes]).flatMap((names) => {
        const all = names.split("|");
        return all.map((each) => [each, { name: all.at(-1) ?? each, takes }] as const);
      }),
    ),
  ),
  commands: new Set(wordsOf(commands)),
  takesDashes,
});

const wordsOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");

/** Claude Code 2.1.325 (commander). The last line of each list is not in its help. */
export const claudeLine = commandLine(
  {
    nothing: `--allow-dangerously-skip-permissions --ax-screen-reader --bg|--background --bare --brief --chrome -c|--continue
      --dangerously-skip-permissions --desktop --disable-slash-commands --exclude-dynamic-system-prompt-sections --fork-session
      --forward-subagent-text -h|--help --ide --include-hook-events --include-partial-messages --no-chrome
      --no-session-persistence -p|--print --replay-user-messages --restricted --safe-mode --strict-mcp-config --tmux --verbose
      -v|--version`,
    one: `--agent --agents --append-system-prompt --autocompact --debug-file --effort --environment --fallback-model
      --input-format --json-schema --max-budget-usd --model -n|--name --output-format --permission-mode --permission-prompts
      --plugin-dir --plugin-url --remote-control-session-name-prefix --session-id --setting-sources --settings --system-prompt
      --system-prompt-snapshot
      --system-prompt-file --append-system-prompt-file --max-turns --permission-prompt-tool`,
    maybe: "--cloud -d|--debug --from-pr --prompt-suggestions --remote-control -r|--resume --teleport -w|--worktree",
    many: "--add-dir --allowed-tools|--allowedTools --betas --disallowed-tools|--disallowedTools --file --mcp-config --tools",
  },
  `agents attach auth auto-mode doctor gateway import install logs mcp plugin plugins purge respawn rm setup-token stop kill
   ultrareview update upgrade
   config daemon migrate-installer project`,
  true,
);

/** Codex 0.166.0 (clap): itself, `exec`, `resume` and `exec resume`, whose options mean the same everywhere. */
export const codexLine = commandLine(
  {
    nothing: `--strict-config --oss --approve-for-me --dangerously-bypass-approvals-and-sandbox --dangerously-bypass-hook-trust
      --worktree --search --no-alt-screen --no-daemon -h|--help -V|--version --skip-git-repo-check --ephemeral
      --ignore-user-config --ignore-rules --json --last --all --include-non-interactive
      --experimental-json --full-auto --yolo`,
    one: `-c|--config --enable --disable --remote --remote-auth-token-env -m|--model --local-provider -p|--profile -s|--sandbox
      -C|--cd --add-dir -a|--ask-for-approval --thread-source --cyber-access-program --output-schema --color
      -o|--output-last-message
      --base --commit --title`,
    maybe: "",
    many: "-i|--image",
  },
  `agents exec e review login logout mcp plugin app-server remote-control completion update doctor sandbox debug apply a resume
   queue archive delete migrate-rollouts migrate-nfs-db unarchive fork cloud exec-server features help`,
);

/** Gemini CLI 0.61.0 (yargs). Its lists take one word each. */
export const geminiLine = commandLine(
  {
    nothing: `-d|--debug --skip-trust -s|--sandbox -y|--yolo --acp --experimental-acp -l|--list-extensions --list-sessions
      --screen-reader --raw-output --accept-raw-output-risk -v|--version -h|--help`,
    one: `-m|--model -p|--prompt -i|--prompt-interactive --approval-mode --policy --admin-policy --allowed-mcp-server-names
      --allowed-tools -e|--extensions --session-file --session-id --delete-session --include-directories -o|--output-format`,
    maybe: "-w|--worktree -r|--resume",
    many: "",
  },
  "mcp extensions extension skills skill hooks hook gemma",
);

/** opencode 1.18.33 (yargs): itself and `run`. */
export const opencodeLine = commandLine(
  {
    nothing: `-h|--help -v|--version --print-logs --pure --mdns -c|--continue --fork --auto --mini --no-replay --share --thinking
      -i|--interactive`,
    one: `--log-level --port --hostname --mdns-domain -m|--model -s|--session --prompt --agent --replay-limit --command --format
      --title --attach -p|--password -u|--username --dir --variant`,
    maybe: "",
    many: "--cors -f|--file",
  },
  `completion acp mcp attach run debug providers auth agent upgrade uninstall serve web models stats export import github pr
   session plugin plug db`,
);
