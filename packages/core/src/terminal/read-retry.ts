import type { AgentFamily, Sight } from "@rouse/contract";
import { cut, longestLine } from "./mask-text.ts";
import { readReset } from "./read-reset.ts";
import type { WallClock } from "./reading.ts";

type Retry = Extract<Sight, { kind: "retries" }>;

interface RetryLine {
  readonly row: RegExp;
  /** Where a window is narrow it goes on in the next row. */
  readonly wraps?: boolean;
  /** Printed and not taken back: of a request that is over by now where anything follows. */
  readonly stays?: boolean;
}

/** Where a program draws it: not in a bullet of its model's words, not indented as a tool's. */
const lines: Partial<Readonly<Record<AgentFamily, RetryLine>>> = {
  // "✻ 529 Overloaded · Retrying in 22s · attempt 9/10"
  "claude-code": {
    row: /^[·✢✳✶✻✽*] (?:(?<status>\d{3}) )?.{1,120} · Retrying in .{1,60} · attempt (?<attempt>\d{1,3})\/\d{1,3}\s*$/,
  },
  // "⬝⬝■ Overloaded [retrying in 7s attempt #1]", or cut off.
  opencode: {
    row: /^\s*[⬝■]{1,40} ?(?:(?<status>\d{3}) )?\S.{0,300}? \[retrying\b(?:.{0,60}? attempt #(?<attempt>\d{1,3})\])?/,
    wraps: true,
  },
  // `codex exec` does not say why.
  codex: { row: /^ERROR: Reconnecting\.{3} (?<attempt>\d{1,3})\/\d{1,3}(?: \(.{0,300})?\s*$/, stays: true },
};

/** The request that failed and is tried again, as the lowest such row says it. */
export function readRetry(rows: readonly string[], family: AgentFamily, clock: WallClock): Retry | null {
  const line = lines[family];
  if (line === undefined) return null;
  const lowest = line.stays === true ? rows.length - 1 : 0;
  for (let at = rows.length - 1; at >= lowest; at--) {
    const more = line.wraps === true ? ` ${(rows[at + 1] ?? "").trim()}` : "";
    const row = cut(`${rows[at] ?? ""}${more}`, longestLine);
    const found = line.row.exec(row);
    if (found === null) continue;
    const { attempt = "1", status } = found.groups ?? {};
    const inMs = readReset(row, clock) ?? 0;
    return { kind: "retries", attempt: Number(attempt), inMs, status: status === undefined ? null : Number(status) };
  }
  return null;
}
