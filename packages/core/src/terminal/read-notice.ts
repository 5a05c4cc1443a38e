import type { Sight } from "@rouse/contract";
import { digestOf, maskDetails } from "./mask-text.ts";
import { type Match, wordsOf } from "./patterns.ts";
import { findReset } from "./read-reset.ts";
import type { WallClock } from "./reading.ts";

export type Notice = Extract<Sight, { kind: "rate-limited" | "context-limit" | "error" }>;

/** Most programs tell a limit as an error, too: the meaning goes first. */
const byMeaning = ["rate-limit", "context-limit", "error"] as const;

/** A sentence that was wrapped at the edge of the screen has so many more lines. */
const mayContinue = 2;

/** What a line, with the lines after it, says about the provider or a failure; `null`: nothing. */
export function readNotice(
  matches: readonly Match[],
  lines: readonly string[],
  at: number,
  clock: WallClock,
): Notice | null {
  for (const kind of byMeaning) {
    const match = matches.find(({ pattern }) => pattern.kind === kind);
    if (match === undefined) continue;
    const { name } = match.pattern;
    switch (kind) {
      case "rate-limit":
        return { kind: "rate-limited", pattern: name, ...limitIn(lines, at, clock), ...limitOf(match) };
      case "context-limit":
        return { kind: "context-limit", pattern: name };
      case "error":
        return errorIn(lines[at] ?? "", name);
    }
  }
  return null;
}

const limitOf = ({ pattern: { limit, continues } }: Match) => ({
  ...(limit === undefined ? {} : { what: limit }),
  ...(continues === undefined ? {} : { continues }),
});

export function errorIn(line: string, pattern: string): Notice {
  const text = maskDetails(wordsOf(line));
  return { kind: "error", pattern, digest: digestOf(text), text };
}

/** When the limit ends, and whether the program says that it goes on by itself. */
function limitIn(lines: readonly string[], at: number, clock: WallClock) {
  const sentence = lines.slice(at, at + 1 + mayContinue).map((line) => wordsOf(line).trim());
  const whole = sentence.join(" ");
  const reset = findReset(sentence[0] ?? "", clock) ?? findReset(whole, clock) ?? { resetsInMs: null };
  return { ...reset, ...(continuing.test(whole) ? { continues: true } : {}) };
}

const continuing = /\bcontinuing (?:automatically|shortly)\b/i;
