import type { AgentFamily, Sight } from "@rouse/contract";
import { cut, longestLine } from "./mask-text.ts";
import { readReset } from "./read-reset.ts";
import type { WallClock } from "./reading.ts";

type Retry = Extract<Sight, { kind: "retries" }>;

/**
 * "✻ 529 Overloaded · Retrying in 22s · attempt 9/10", "⬝⬝■ Overloaded [retrying in 7s attempt #1]", where a program draws it: not in a bullet of its model's
 * words, not indented as a tool's. Where a window is narrow, opencode cuts it off or goes on in the next row.
 */
const lines: Partial<Readonly<Record<AgentFamily, RegExp>>> = {
  "claude-code": /^[·✢✳✶✻✽*] (?:(\d{3}) )?.{1,120} · Retrying in .{1,60} · attempt (\d{1,3})\/\d{1,3}\s*$/,
  opencode: /^\s*[⬝■]{1,40} ?(?:(\d{3}) )?\S.{0,300}? \[retrying\b(?:.{0,60}? attempt #(\d{1,3})\])?/,
};

/** The request that failed and is tried again, as the lowest such row says it. */
export function readRetry(rows: readonly string[], family: AgentFamily, clock: WallClock): Retry | null {
  const line = lines[family];
  if (line === undefined) return null;
  for (let at = rows.length - 1; at >= 0; at--) {
    const more = family === "opencode" ? ` ${(rows[at + 1] ?? "").trim()}` : "";
    const row = cut(`${rows[at] ?? ""}${more}`, longestLine);
    const found = line.exec(row);
    if (found === null) continue;
    const status = found[1] === undefined ? null : Number(found[1]);
    return { kind: "retries", attempt: Number(found[2] ?? 1), inMs: readReset(row, clock) ?? 0, status };
  }
  return null;
}
