import type { AgentFamily } from "@rouse/contract";
import type { Match } from "./patterns.ts";

/**
 * Who wrote a row, as far as the program's layout tells: the program or its model, a tool, or a person. `tool-header`:
 * the row that names a tool; its output hangs below.
 */
export type Speaker = "program" | "tool-header" | "tool" | "person";

/** How a program lays out a conversation. */
interface Layout {
  readonly person: RegExp;
  readonly toolHeader: RegExp;
  /** Hangs below a row. The first below a tool is its output, any other is the program's remark. */
  readonly hangs: RegExp;
  /** Continues the row above. */
  readonly goesOn: RegExp;
  /** What precedes the model's words. */
  readonly bullet: RegExp;
}

const never = /(?!)/;

const layouts: Readonly<Record<AgentFamily, Layout | null>> = {
  "claude-code": {
    person: /^[❯>](?:\s|$)/,
    toolHeader: /^[●⏺ ] (?:[A-Z]\w{0,40}\(|(?:Running|Ran) |[\w-]{1,60} - \w{1,60} \(MCP\))/,
    hangs: /^\s{1,4}⎿/,
    goesOn: /^\s{4}|^\s*$/,
    bullet: /^[●⏺] /,
  },
  codex: {
    person: /^›(?:\s|$)/,
    toolHeader: /^• (?:Ran|Running|Explor(?:ed|ing)|Edited|Added|Deleted|Updated|Call(?:ed|ing)|Viewed|Searched)\b/,
    hangs: /^\s{1,4}└/,
    goesOn: /^\s{4}|^\s{1,4}│|^\s*$/,
    bullet: /^• /,
  },
  // Tools print into boxes; limits and errors stand outside.
  "gemini-cli": {
    person: /^ ?>(?:\s|$)/,
    toolHeader: /^\s?[│╭]/,
    hangs: never,
    goesOn: /^\s*$/,
    bullet: /^✦ /,
  },
  aider: { person: /^\w{0,12}> /, toolHeader: never, hangs: never, goesOn: /^\s*$/, bullet: never },
  opencode: null,
  generic: null,
};

/** The speaker of a row, given the one of the row before. */
export function speakerOf(row: string, before: Speaker, family: AgentFamily): Speaker {
  const layout = layouts[family];
  if (layout === null) return "program";
  if (layout.person.test(row)) return "person";
  if (layout.toolHeader.test(row)) return "tool-header";
  if (layout.hangs.test(row)) return before === "tool-header" ? "tool" : "program";
  if (layout.goesOn.test(row)) return before;
  // A person's text continues with the indent of its first row.
  return before === "person" && /^\s{2}/.test(row) ? "person" : "program";
}

/** A limit that a tool or a person mentions is not the program's. A user's own pattern always counts. */
export const heardFrom = (speaker: Speaker, matches: readonly Match[]): readonly Match[] =>
  speaker === "program"
    ? matches
    : matches.filter(({ pattern }) => !ofTheProgram.has(pattern.kind) || pattern.family === undefined);

const ofTheProgram: ReadonlySet<Match["pattern"]["kind"]> = new Set<Match["pattern"]["kind"]>([
  "rate-limit",
  "context-limit",
]);

/** Deeper indents are code or tool output. */
const deepest = 3;

/** The row as the agent wrote it, without bullet and blanks; `null` when it is code. */
export function ownLine(row: string, family: AgentFamily): string | null {
  const bullet = layouts[family]?.bullet.exec(row)?.[0] ?? "";
  const rest = row.slice(bullet.length);
  const text = rest.trim();
  return text === "" || rest.length - rest.trimStart().length > deepest ? null : text;
}

/** The fence of a code block in Markdown. */
export const isFence = (row: string): boolean => /^\s{0,5}(?:`{3,}|~{3,})/.test(row);
