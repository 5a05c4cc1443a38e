import type { AgentFamily, Sight } from "@rouse/contract";
import { cut, digestOf, longestLine, maskVolatile } from "./mask-text.ts";
import { type KnownPattern, type Match, matchLine, wordsOf } from "./patterns.ts";
import { errorIn, type Notice, readNotice } from "./read-notice.ts";
import type { Reading, WallClock } from "./reading.ts";
import { nothingSeen, notice, type SeenLately, type Told, tellOnce } from "./seen-lately.ts";
import { heardFrom, isFence, ownLine, type Speaker, speakerOf } from "./speaker.ts";

/** Bounded: 500 digests of lines, 50 things told lately. About 50 kB, however long the agent runs. */
interface LineState {
  readonly seen: SeenLately;
  readonly told: readonly Told[];
  /** A line announced an error whose words follow, indented no deeper than it. */
  readonly announced: { readonly pattern: string; readonly indent: number } | null;
  readonly family: AgentFamily;
  /** Who wrote the last line. */
  readonly speaker: Speaker;
  /** How many more lines a block of code may have; 0 outside of one. */
  readonly code: number;
  readonly marked: Marked | null;
}

/** The completion marker at the end of the output. */
interface Marked {
  readonly pattern: string;
  /** Lines with words that follow it. */
  readonly after: number;
  readonly told: boolean;
}

export const startReading = (family: AgentFamily = "generic"): LineState => ({
  seen: nothingSeen,
  told: [],
  announced: null,
  family,
  speaker: "program",
  code: 0,
  marked: null,
});

/** A screenful of different errors is one command's output; more of them add nothing. */
const mostSights = 50;

/**
 * Reads new lines of a terminal, cheapest in batches: each call with news copies the state once. `atWork`: the program
 * shows that it is not done, whatever the last line says.
 */
export function readLines(
  state: LineState,
  lines: readonly string[],
  patterns: readonly KnownPattern[],
  clock: WallClock,
  atWork = false,
): Reading<LineState> {
  let { told, announced, speaker, code, marked } = state;
  const { family } = state;
  const markers = patterns.filter(({ kind }) => kind === "completed");
  const digests: string[] = [];
  const found: Sight[] = [];
  let rows = 0;
  for (const [at, line] of lines.entries()) {
    if (line === "" || line.trim() === "") continue;
    rows++;
    const masked = maskVolatile(line);
    if (masked !== "") digests.push(digestOf(masked));
    speaker = speakerOf(line, speaker, family);
    code = stepThroughCode(code, line);
    const marker = speaker === "program" && code === 0 ? findMarker(line, family, markers) : null;
    marked = marker === null ? passMarker(marked, line) : { pattern: marker, after: 0, told: false };
    const matches = heardFrom(speaker, matchLine(line, patterns));
    if (matches.length === 0 && announced === null) continue;
    const said = readErrorBlock(matches, lines, at, announced, clock);
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
  if (marked !== null && !marked.told && !atWork) {
    found.push({ kind: "completed", pattern: marked.pattern });
    marked = { ...marked, told: true };
  }
  return { state: { seen, told, announced, family, speaker, code, marked }, sights: [...output, ...found] };
}

/** A fence that is never closed may be part of something else. */
const longestCode = 200;

function stepThroughCode(code: number, line: string): number {
  if (isFence(line)) return code > 0 ? 0 : longestCode;
  return Math.max(0, code - 1);
}

function findMarker(line: string, family: AgentFamily, markers: readonly KnownPattern[]): string | null {
  const own = markers.length === 0 ? null : ownLine(cut(line, longestLine), family);
  return own === null ? null : (markers.find(({ find }) => find(own) !== null)?.name ?? null);
}

/** Lines that may follow the marker: costs, a duration, a footer. */
const afterword = 4;

/** A fence right below the marker shows that it was quoted. */
function passMarker(marked: Marked | null, line: string): Marked | null {
  if (marked === null || isFence(line)) return null;
  if (!/[\p{L}\p{N}]/u.test(line)) return marked;
  return marked.after === afterword ? null : { ...marked, after: marked.after + 1 };
}

interface ErrorBlock {
  readonly notice: Notice | null;
  readonly announced: LineState["announced"];
}

/** A traceback's header is the same for every failure; its last line has the class. */
function readErrorBlock(
  matches: readonly Match[],
  lines: readonly string[],
  at: number,
  announced: LineState["announced"],
  clock: WallClock,
): ErrorBlock {
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
    if (pattern.kind === "file") {
      const path = (groups[1] ?? groups[0] ?? "").trim();
      sights.push({ kind: "file-touched", digest: digestOf(path) });
    }
  }
  return sights;
}
