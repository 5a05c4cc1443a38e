import type { AgentFamily, PatternKind } from "@rouse/contract";
import { cut, longestLine } from "./mask-text.ts";
import { aider } from "./patterns/aider.ts";
import { claudeCode } from "./patterns/claude-code.ts";
import { codex } from "./patterns/codex.ts";
import { geminiCli } from "./patterns/gemini-cli.ts";
import { generic } from "./patterns/generic.ts";
import { opencode } from "./patterns/opencode.ts";
import type { ShippedFamily, ShippedPattern } from "./patterns/shipped.ts";
import type { Pattern } from "./reading.ts";

/** A pattern with what is known of a shipped one. A user's pattern has none of that and counts wherever it matches. */
export interface KnownPattern extends Pattern, Omit<ShippedPattern, "kind" | "name" | "pattern"> {
  readonly family?: AgentFamily;
  readonly hint?: RegExp;
}

const families: Readonly<Record<AgentFamily, readonly KnownPattern[]>> = {
  "claude-code": compile("claude-code", claudeCode),
  codex: compile("codex", codex),
  "gemini-cli": compile("gemini-cli", geminiCli),
  opencode: compile("opencode", opencode),
  aider: compile("aider", aider),
  generic: compile("generic", generic),
};

/**
 * A program's own patterns, then those for every command. A known program's way to tell a limit is known: a limit in
 * other words was printed by some tool.
 */
export function patternsFor(family: AgentFamily): readonly KnownPattern[] {
  if (family === "generic") return families.generic;
  return [...families[family], ...families.generic.filter(({ kind }) => kind !== "rate-limit")];
}

function compile(family: AgentFamily, { hint, patterns }: ShippedFamily): readonly KnownPattern[] {
  return patterns.map(({ pattern, ...rest }: ShippedPattern) => ({
    ...rest,
    family,
    hint,
    find: (line: string) => pattern.exec(line),
  }));
}

export interface Match {
  readonly pattern: KnownPattern;
  readonly groups: readonly (string | undefined)[];
}

/** Bullets, borders and marks that programs draw before their words. */
const adornment = /^[\uFE0F\s⎿└├│┃■●•◦⏺⚠✖❌✕✔✓⚡ℹ]{1,16}/;

export const wordsOf = (line: string): string => line.replace(adornment, "");

/**
 * Coding agents show text about errors and limits all day: diffs, search results, listings, tests, code, comments,
 * commands. A compiler's "file:1:2: error:" looks like a search result and is none; a complaint of `cat` is no command.
 */
const quotation =
  /^(?:[+<>*"'`-]|#(?! \d{1,4} SEARCH\/)|\/\/|\/\*|\$ |❯ |› |\d{1,6}\s{0,4}(?:[|│→]|[:+](?!\d)|-(?![\da-z]))|\d{1,6}\s{2}|(?!\[?\d{4}-\d\d)[^\s:]{1,200}:\d{1,7}[:-](?!\d{1,7}: (?:fatal )?error: )|[×√]|(?:PASS|FAIL|ok|not ok|const|let|var|if|return|import|export|expect|assert\w{0,20}|throw|it|test|describe|def|class|case|function|type|await|else|elif|raise|except|catch)[\s(:.]|(?:grep|rg|sed|cat|echo|git)(?:[\s(.]|:(?! .{1,300}: (?:No such file or directory|Permission denied|Is a directory)$)))/;
const testMark = /^[\s│]{0,16}[✓✔✗✘×√]/;

const guarded: ReadonlySet<PatternKind> = new Set(["rate-limit", "error", "context-limit"]);
const readInLines: ReadonlySet<PatternKind> = new Set(["rate-limit", "error", "context-limit", "file"]);
const nothing: readonly Match[] = [];

/** The patterns that the line matches, at most one of a kind. */
export function matchLine(whole: string, patterns: readonly KnownPattern[]): readonly Match[] {
  const line = cut(whole, longestLine);
  const words = wordsOf(line);
  let matches: Match[] | null = null;
  let hint: RegExp | undefined;
  let hinted = true;
  for (const pattern of patterns) {
    if (pattern.hint !== hint) {
      hint = pattern.hint;
      hinted = hint === undefined || hint.test(words);
    }
    if (!hinted || !readInLines.has(pattern.kind)) continue;
    const groups = pattern.find(pattern.family === undefined ? line : words);
    if (groups === null || matches?.some((match) => match.pattern.kind === pattern.kind)) continue;
    if (pattern.family !== undefined && guarded.has(pattern.kind) && isQuoted(line, words)) continue;
    matches ??= [];
    matches.push({ pattern, groups });
  }
  return matches ?? nothing;
}

const isQuoted = (line: string, words: string): boolean => quotation.test(words) || testMark.test(line);
