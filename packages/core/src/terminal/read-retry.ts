import type { AgentFamily, DurationMs, EpochMs, Sight } from "@rouse/contract";
import { cut, longestLine } from "./mask-text.ts";
import { readReset } from "./read-reset.ts";
import type { WallClock } from "./reading.ts";

type Retry = Extract<Sight, { kind: "retries" }>;

interface RetryLine {
  readonly row: RegExp;
  /** The row stands below the lowest row like this, where nobody else writes. */
  readonly below?: RegExp;
  /** The same row cut off in a narrow window: it counts where it fills the width of the row above. */
  readonly filled?: RegExp;
  /** In a narrow window it goes on in the next row. */
  readonly wraps?: boolean;
  /** The row is printed and stays: where anything follows it, the request is over. */
  readonly stays?: boolean;
}

const causes: readonly (readonly [NonNullable<Retry["cause"]>, RegExp])[] = [
  ["no-answer", /\btimed out\b|\btime-?out\b/i],
  [
    "no-connection",
    /\b(?:E[A-Z]{2,20}_?(?:REFUSED|RESET|UNREACH|NOTFOUND)|ENOTFOUND|EAI_AGAIN)\b|\bconnection (?:refused|reset|failed|closed|error)\b|\bwaiting for network\b|\bunable to connect\b/i,
  ],
];

/**
 * Why a retried request failed without a refusal by the provider, by its program's words. Empty where they do not tell.
 */
export function causeOfRetry(words: string): Pick<Retry, "cause"> {
  const cause = causes.find(([, phrase]) => phrase.test(words))?.[0];
  return cause === undefined ? {} : { cause };
}

/** Where each program draws it: not among its model's words, and not indented like a tool's. */
const lines: Partial<Readonly<Record<AgentFamily, RetryLine>>> = {
  // "✻ 529 Overloaded · Retrying in 22s · attempt 9/10"
  "claude-code": {
    row: /^[·✢✳✶✻✽*] (?:(?<status>\d{3}) )?.{1,120} · Retrying in .{1,60} · attempt (?<attempt>\d{1,3})\/\d{1,3}\s*$/,
  },
  // "⬝⬝■ Overloaded [retrying in 7s attempt #1]", or cut off. While opencode works, the interrupt key stands there
  // instead.
  opencode: {
    row: /^\s*[⬝■]{1,40} ?(?:(?<status>\d{3}) )?\S.{0,300}? \[retrying\b(?:.{0,60}? attempt #(?<attempt>\d{1,3})\])?/,
    below: /^\s*╹▀{4}/,
    filled: /^\s*[⬝■]{1,40} {0,2}(?!esc\b)[^\s⬝■]/,
    wraps: true,
  },
  // `codex exec` does not say why.
  codex: { row: /^ERROR: Reconnecting\.{3} (?<attempt>\d{1,3})\/\d{1,3}(?: \(.{0,300})?\s*$/, stays: true },
};

/** The failed request that is tried again, by the lowest such row. */
export function readRetry(rows: readonly string[], family: AgentFamily, clock: WallClock): Retry | null {
  const line = lines[family];
  if (line === undefined) return null;
  const frame = line.below === undefined ? -1 : rows.findLastIndex((row) => line.below?.test(cut(row, longestLine)));
  if (line.below !== undefined && frame < 0) return null;
  const lowest = line.stays === true ? rows.length - 1 : frame + 1;
  for (let at = rows.length - 1; at >= lowest; at--) {
    const first = rows[at] ?? "";
    const more = line.wraps === true ? ` ${(rows[at + 1] ?? "").trim()}` : "";
    const row = cut(`${first}${more}`, longestLine);
    const found = line.row.exec(row);
    const isCut =
      line.filled?.test(cut(first, longestLine)) === true && first.length + aWord > (rows[frame] ?? "").length;
    if (found === null && !isCut) continue;
    const { attempt = "1", status } = found?.groups ?? {};
    const inMs = readReset(row, clock) ?? 0;
    const answered = status === undefined ? null : Number(status);
    return { kind: "retries", attempt: Number(attempt), inMs, status: answered, ...causeOfRetry(row) };
  }
  return null;
}

/** So much of a row may stay empty where the next word does not fit. */
const aWord = 16;

/** The try that a program announced, whether it said when, and until when that was told as a wait. */
export interface ToldRetry {
  readonly attempt: number;
  readonly timed: boolean;
  readonly until: EpochMs;
}

/** The wait where the row names none, or its time is up and it still stands. */
const whileItStands: DurationMs = 5_000;
/** Programs round and count down by seconds. */
const sameEnd: DurationMs = 2_500;

/**
 * Told once for each try, and again when the earlier word no longer covers the wait: the seconds appear later, the
 * number of the try is cut off, the time is up, or something else was drawn (`novel`).
 */
export function tellRetry(
  before: ToldRetry | null,
  retry: Retry | null,
  novel: boolean,
  now: EpochMs,
): { readonly told: ToldRetry | null; readonly sights: readonly Sight[] } {
  if (retry === null) return { told: null, sights: [] };
  const { attempt, inMs } = retry;
  const same = before !== null && before.attempt === attempt ? before : null;
  const timed = inMs > 0 || same?.timed === true;
  const isUp = same !== null && now >= same.until;
  const isLater = same !== null && now + inMs > same.until + sameEnd;
  if (same !== null && timed === same.timed && !isUp && !isLater && !novel) return { told: same, sights: [] };
  const waits = inMs === 0 || isUp ? Math.max(inMs, whileItStands) : inMs;
  return { told: { attempt, timed, until: now + waits }, sights: [{ ...retry, inMs: waits }] };
}
