import type { PatternKind, Question } from "@rouse/contract";
import { cut, longestLine } from "./mask-text.ts";
import type { KnownPattern } from "./patterns.ts";

export interface Asked {
  readonly what: Question;
  readonly pattern: string;
  /** The agent is at its prompt, and what it left running wakes it. */
  readonly wokenBy?: "children";
}

/** The bottom of a screen: its last rows that are not blank. */
export interface Bottom {
  readonly rows: readonly string[];
  /** Where among them the cursor is; -1 when on none. */
  readonly cursor: number;
}

/** Questions that a screen asks in words. Others are seen in other ways. */
type Worded = Extract<Question, "permission" | "question" | "prompt">;

const kindOf: Readonly<Record<Worded, PatternKind>> = {
  permission: "asks-permission",
  question: "asks-question",
  prompt: "at-prompt",
};

/** A menu has a few choices and a footer. What stands higher has been answered. */
const lowestRows = 12;

/** The first of `wanted` that stands at the bottom of the screen. */
export function findQuestion(
  bottom: Bottom,
  patterns: readonly KnownPattern[],
  wanted: readonly Worded[],
): Asked | null {
  for (const what of wanted) {
    const found = patterns.find((pattern) => pattern.kind === kindOf[what] && standsIn(bottom, pattern));
    if (found !== undefined) return { what: found.what ?? what, pattern: found.name };
  }
  return null;
}

function standsIn({ rows, cursor }: Bottom, pattern: KnownPattern): boolean {
  const lowest = Math.max(0, rows.length - lowestRows);
  for (let at = rows.length - 1; at >= lowest; at--) {
    if (pattern.atCursor && at !== cursor) continue;
    if (pattern.find(cut(rows[at] ?? "", longestLine)) === null) continue;
    if (pattern.notOver?.test(cut(rows[at + 1] ?? "", longestLine))) continue;
    if (standsUnder(rows.slice(0, at), pattern)) return true;
  }
  return false;
}

function standsUnder(above: readonly string[], { under, unless }: KnownPattern): boolean {
  if (under === undefined) return true;
  const at = above.findLastIndex(
    (row, place) => under.test(cut(row, longestLine)) || under.test(sentenceAt(above, place)),
  );
  return at >= 0 && !above.slice(at + 1).some((row) => unless?.test(cut(row, longestLine)));
}

/** In a narrow terminal programs break their sentences into rows. */
const mostRowsOfSentence = 4;

function sentenceAt(rows: readonly string[], at: number): string {
  const next = rows.slice(at, at + mostRowsOfSentence);
  const end = next.findIndex((row) => withoutBorder(row) === "");
  const [first = "", ...rest] = end === -1 ? next : next.slice(0, end);
  return cut([cut(first, longestLine).replace(/[│\s]+$/, ""), ...rest.map(withoutBorder)].join(" "), longestLine);
}

const withoutBorder = (row: string): string => cut(row, longestLine).replace(/^[│\s]+|[│\s]+$/g, "");
