import type { AgentFamily } from "@rouse/contract";
import type { Match } from "./patterns.ts";

/**
 * Whose words a row of a program's terminal is, as far as its layout tells: the program's and its model's own, those a tool printed, or those a person
 * typed. `tool-header`: the row that names a tool; what hangs below it is the tool's.
 */
export type Speaker = "program" | "tool-header" | "tool" | "person";

/** How a program lays out what was said. */
interface Layout {
  readonly person: RegExp;
  readonly toolHeader: RegExp;
  /** Hangs below a row. The first below a tool is its output, any other the program's own remark. */
  readonly hangs: RegExp;
  /** Goes on with what the row above said. */
  readonly goesOn: RegExp;
  /** What the program draws before its model's words. */
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
  // Whatever a tool printed is in a box; limits and errors are told outside of them.
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

/** Whose words the row is, below one of `before`. */
export function speakerOf(row: string, before: Speaker, family: AgentFamily): Speaker {
  const layout = layouts[family];
  if (layout === null) return "program";
  if (layout.person.test(row)) return "person";
  if (layout.toolHeader.test(row)) return "tool-header";
  if (layout.hangs.test(row)) return before === "tool-header" ? "tool" : "program";
  if (layout.goesOn.test(row)) return before;
  // What a person typed goes on indented as far as its first row.
  return before === "person" && /^\s{2}/.test(row) ? "person" : "program";
}

/** A limit, or a full context, that a tool or a person speaks of is not the program's. A user's own pattern means what it says. */
export const heardFrom = (speaker: Speaker, matches: readonly Match[]): readonly Match[] =>
  speaker === "program"
    ? matches
    : matches.filter(({ pattern }) => !ofTheProgram.has(pattern.kind) || pattern.family === undefined);

const ofTheProgram: ReadonlySet<Match["pattern"]["kind"]> = new Set<Match["pattern"]["kind"]>([
  "rate-limit",
  "context-limit",
]);

/** Deeper is code, or what a tool printed. */
const deepest = 3;

/** The row as the agent itself says it, without the program's bullet and blanks; `null` when it is set as code. */
export function ownLine(row: string, family: AgentFamily): string | null {
  const bullet = layouts[family]?.bullet.exec(row)?.[0] ?? "";
  const rest = row.slice(bullet.length);
  const text = rest.trim();
  return text === "" || rest.length - rest.trimStart().length > deepest ? null : text;
}

/** Begins or ends a stretch of code in Markdown. */
export const isFence = (row: string): boolean => /^\s{0,5}(?:`{3,}|~{3,})/.test(row);
