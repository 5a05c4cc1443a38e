import type { Sight } from "@rouse/contract";
import { cut, digestOf, longestLine, maskVolatile } from "./mask-text.ts";
import { type KnownPattern, type Match, matchLine, wordsOf } from "./patterns.ts";
import { errorIn, type Notice, readNotice } from "./read-notice.ts";
import type { Reading, WallClock } from "./reading.ts";
import { nothingSeen, notice, type SeenLately } from "./seen-lately.ts";
import { type Told, tellOnce } from "./told-lately.ts";

/** Bounded: 500 digests of lines, 50 things told lately. About 50 kB, however long the agent runs. */
export interface LineState {
  readonly seen: SeenLately;
  readonly told: readonly Told[];
  /** A line announced an error whose words follow, indented no deeper than the announcement. */
  readonly announced: { readonly pattern: string; readonly indent: number } | null;
}

export const startReading = (): LineState => ({ seen: nothingSeen, told: [], announced: null });

/** A screenful of different errors is one command's output; more of them tell nothing more. */
const mostSights = 50;

/** Reads lines that were added to a terminal. Handed over in batches it is cheapest: new lines cost one copy of the state per call. */
export function readLines(
  state: LineState,
  lines: readonly string[],
  patterns: readonly KnownPattern[],
  clock: WallClock,
): Reading<LineState> {
  let { told, announced } = state;
  const digests: string[] = [];
  const found: Sight[] = [];
  let rows = 0;
  for (const [at, line] of lines.entries()) {
    if (line === "" || line.trim() === "") continue;
    rows++;
    const masked = maskVolatile(line);
    if (masked !== "") digests.push(digestOf(masked));
    const matches = matchLine(line, patterns);
    if (matches.length === 0 && announced === null) continue;
    const said = heed(matches, lines, at, announced, clock);
    announced = said.announced;
    const toldNow = said.notice === null ? null : tellOnce(told, said.notice, clock);
    if (found.length >= mostSights) continue;
    if (said.notice !== null && toldNow !== null) {
      told = toldNow;
      found.push(said.notice);
    }
    found.push(...plainSights(matches));
  }
  const { seen, novel } = notice(state.seen, digests);
  const output: Sight[] = rows > 0 ? [{ kind: "output", rows, novel }] : [];
  return { state: { seen, told, announced }, sights: [...output, ...found] };
}

interface Heeded {
  readonly notice: Notice | null;
  readonly announced: LineState["announced"];
}

/** A traceback's header is the same for every failure; the class of the failure is in the line that ends it. */
function heed(
  matches: readonly Match[],
  lines: readonly string[],
  at: number,
  announced: LineState["announced"],
  clock: WallClock,
): Heeded {
  const line = cut(lines[at] ?? "", longestLine);
  const indent = line.length - wordsOf(line).length;
  const header = matches.find(({ pattern }) => pattern.kind === "error" && pattern.tellsNext);
  if (header !== undefined) return { notice: null, announced: { pattern: header.pattern.name, indent } };
  const own = readNotice(matches, lines, at, clock);
  if (announced === null) return { notice: own, announced };
  if (indent > announced.indent) return { notice: null, announced };
  return { notice: own ?? errorIn(line, announced.pattern), announced: null };
}

function plainSights(matches: readonly Match[]): Sight[] {
  const sights: Sight[] = [];
  for (const { pattern, groups } of matches) {
    if (pattern.kind === "completed") sights.push({ kind: "completed", pattern: pattern.name });
    if (pattern.kind === "file") {
      const path = (groups[1] ?? groups[0] ?? "").trim();
      sights.push({ kind: "file-touched", digest: digestOf(path) });
    }
  }
  return sights;
}
