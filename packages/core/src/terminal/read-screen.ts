import type { AgentFamily, DurationMs, EpochMs, Sight } from "@rouse/contract";
import { findDraft, findInput, type TypingScreen } from "./find-input.ts";
import { type Asked, type Bottom, findQuestion } from "./find-question.ts";
import { cut, digestOf, longestLine, maskVolatile } from "./mask-text.ts";
import { type KnownPattern, matchLine } from "./patterns.ts";
import { readNotice } from "./read-notice.ts";
import { readRetry, type ToldRetry, tellRetry } from "./read-retry.ts";
import type { Reading, Screen, WallClock } from "./reading.ts";
import { nothingSeen, notice, type SeenLately, type Told, tellOnce } from "./seen-lately.ts";
import { heardFrom, type Speaker, speakerOf } from "./speaker.ts";
import { needOf } from "./streams/name-failure.ts";

/** Bounded: 500 digests of rows, 50 things told lately, the digests of one look. */
interface ScreenState {
  readonly seen: SeenLately;
  readonly told: readonly Told[];
  /** Digests of the rows at the last look; `null` before the first. */
  readonly looked: readonly string[] | null;
  readonly asked: Asked | null;
  /** Another eye has told of work since: the question counts as answered, unless it still stands. */
  readonly overtaken: boolean;
  /** The retry that was told; `null` when the screen shows none. */
  readonly retry: ToldRetry | null;
  readonly family: AgentFamily;
  /** An idle prompt or a half-typed line that has not stood long enough yet. */
  readonly resting: { readonly pattern: string; readonly picture: string; readonly since: EpochMs } | null;
}

export const startWatching = (family: AgentFamily = "generic"): ScreenState => ({
  family,
  seen: nothingSeen,
  told: [],
  looked: null,
  asked: null,
  overtaken: false,
  retry: null,
  resting: null,
});

/** Panes are narrow and footers long, so a prompt may stand high. */
const bottomRows = 20;
/** A program shows its prompt for a moment between two steps, too. */
const restsAfter: DurationMs = 2_000;

/** A screen, where known without pale hints: with them nobody can tell what was typed. */
export type ReadableScreen = Screen & Partial<Pick<TypingScreen, "firm">>;

/** Reads the bottom of a terminal: what was written in place, and what it waits for. */
export function readScreen(
  state: ScreenState,
  screen: ReadableScreen,
  patterns: readonly KnownPattern[],
  clock: WallClock,
): Reading<ScreenState> {
  const bottom = bottomOf(screen);
  const known = screen.alternate ? patterns.filter(({ family }) => family !== "generic") : patterns;
  const looked = bottom.rows.map((row) => digestOf(maskVolatile(row)));
  const written = notice(
    state.seen,
    looked.filter((digest) => digest !== blank),
  );
  // Rows from before the first look are no news.
  const novel = state.looked === null ? 0 : written.novel;
  const limits = readLimits(state, screen, looked, known, clock);
  const next = readRetry(bottom.rows, state.family, clock);
  // Retries do not help a program that is refused: a person is needed for as long as it says so.
  const refused = next === null ? null : needOf(next.status);
  const asking = readAsking(
    state,
    screen,
    known,
    digestOf(looked.join()),
    { triesAgain: next !== null, refused },
    clock,
  );
  const retry = tellRetry(state.retry, refused === null ? next : null, novel > 0, clock.now);
  const sights: Sight[] = novel > 0 ? [{ kind: "output", rows: 0, novel }] : [];
  const { asked, overtaken, resting } = asking;
  return {
    state: {
      ...state,
      seen: written.seen,
      told: limits.told,
      looked,
      retry: retry.told,
      asked,
      overtaken,
      resting,
    },
    sights: [...sights, ...retry.sights, ...limits.sights, ...asking.sights],
  };
}

/** Sights that show work, so a question has been answered. */
const showsAnswer: ReadonlySet<Sight["kind"]> = new Set<Sight["kind"]>([
  "model-asked",
  "said",
  "tool-started",
  "tool-ended",
  "compacts",
  "turn-ended",
]);

/**
 * Another eye has told of work. A program may work on behind its own question (Gemini CLI does, behind the one about
 * trust; sub-agents do): if the question still stands at the next look and no work is shown, it is asked again. So is a
 * retry.
 */
export function overtake(state: ScreenState, sights: readonly Sight[]): ScreenState {
  if (!sights.some(({ kind }) => showsAnswer.has(kind))) return state;
  const overtaken = state.overtaken || (state.asked !== null && !isRest(state.asked));
  return { ...state, overtaken, retry: null };
}

const isRest = ({ what }: Asked): boolean => what === "prompt" || what === "draft";

const blank = digestOf("");

/** The last rows that are not blank, and where among them the cursor is. */
export function bottomOf(screen: Screen): Bottom {
  const rows: string[] = [];
  let cursor = -1;
  for (let at = screen.rows.length - 1; at >= 0 && rows.length < bottomRows; at--) {
    const row = screen.rows[at] ?? "";
    if (row.trim() === "") continue;
    if (at === screen.cursorRow) cursor = rows.length;
    rows.push(row);
  }
  return { rows: rows.reverse(), cursor: cursor < 0 ? -1 : rows.length - 1 - cursor };
}

/** Whether a known program shows that it is at work. */
export const showsWork = (screen: Screen, family: AgentFamily): boolean =>
  family !== "generic" && saysItWorks(screen, bottomOf(screen).rows, family);

/** The rows of `bottomOf`, each with its speaker. */
function spokenAtBottom({ rows }: Screen, family: AgentFamily): readonly Speaker[] {
  const spoken: Speaker[] = [];
  let speaker: Speaker = "program";
  for (const row of rows) {
    speaker = speakerOf(row, speaker, family);
    if (row.trim() !== "") spoken.push(speaker);
  }
  return spoken.slice(-bottomRows);
}

/** Only rows that are new since the last look: a footer tells its limit once. */
function readLimits(
  state: ScreenState,
  screen: Screen,
  looked: readonly string[],
  patterns: readonly KnownPattern[],
  clock: WallClock,
): { told: readonly Told[]; sights: Sight[] } {
  const sights: Sight[] = [];
  let { told } = state;
  const { rows } = bottomOf(screen);
  const spoken = spokenAtBottom(screen, state.family);
  for (const [at, row] of rows.entries()) {
    if (state.looked?.includes(looked[at] ?? "")) continue;
    const found = readNotice(heardFrom(spoken[at] ?? "program", matchLine(row, patterns)), rows, at, clock);
    if (found === null || found.kind === "error") continue;
    const toldNow = tellOnce(told, found, clock);
    if (toldNow === null) continue;
    told = toldNow;
    sights.push(found);
  }
  return { told, sights };
}

interface Asking {
  readonly asked: Asked | null;
  readonly overtaken: boolean;
  readonly resting: ScreenState["resting"];
  readonly sights: readonly Sight[];
}

/** A question is told at once. An idle prompt or a half-typed line has to stand for a while. */
function readAsking(
  state: ScreenState,
  screen: ReadableScreen,
  patterns: readonly KnownPattern[],
  picture: string,
  { triesAgain, refused }: { readonly triesAgain: boolean; readonly refused: Asked | null },
  clock: WallClock,
): Asking {
  const bottom = bottomOf(screen);
  if (refused !== null) return ask(state, refused, false);
  const question = findQuestion(bottom, patterns, ["permission", "question"]);
  const works = triesAgain || saysItWorks(screen, bottom.rows, state.family);
  if (question !== null) return ask(state, question, works);
  const found = works ? null : (draftOn(screen, state.family) ?? findQuestion(bottom, patterns, ["prompt"]));
  if (found === null) return asksNothing(state, null);
  if (!isRest(found)) return ask(state, found, works);
  const standing: Asked = showsLeftRunning(screen, state.family) ? { ...found, wokenBy: "children" } : found;
  if (isSameQuestion(state.asked, standing)) return ask(state, standing, works);
  const resting = rest(state.resting, standing.pattern, picture, clock.now);
  if (clock.now - resting.since >= restsAfter) return ask(state, standing, works);
  // The end of what it left running wakes the agent a moment later, unless somebody ended that.
  const { asked, overtaken } = state;
  return asked?.what === standing.what ? { asked, overtaken, resting, sights: [] } : asksNothing(state, resting);
}

const isSameQuestion = (before: Asked | null, now: Asked): boolean =>
  before?.what === now.what && before.wokenBy === now.wokenBy;

const draftOn = ({ firm, ...screen }: ReadableScreen, family: AgentFamily): Asked | null =>
  firm !== undefined && findDraft({ ...screen, firm }, family) ? { what: "draft", pattern: "half-typed line" } : null;

function ask(state: ScreenState, asked: Asked, works: boolean): Asking {
  const same = isSameQuestion(state.asked, asked) && state.asked?.pattern === asked.pattern;
  const overtaken = same && state.overtaken;
  const tells = !same || (overtaken && !works);
  return { asked, overtaken: overtaken && works, resting: null, sights: tells ? [{ kind: "asks", ...asked }] : [] };
}

const asksNothing = ({ asked }: ScreenState, resting: ScreenState["resting"]): Asking => ({
  asked: null,
  overtaken: false,
  resting,
  sights: asked === null ? [] : [{ kind: "asks-no-more" }],
});

function rest(before: ScreenState["resting"], pattern: string, picture: string, now: EpochMs) {
  const goesOn = before?.pattern === pattern && before.picture === picture && before.since <= now;
  return goesOn ? before : { pattern, picture, since: now };
}

/** The key that would interrupt it. */
const interruptKey = /\b(?:[Ee]sc|ESC|[Cc]trl\+[Cc]) (?:to )?(?:interrupt|cancel|stop)\b/;
/** Here the key would cancel the wait for a limit. */
const waitsForLimit = /\bcontinuing automatically\b/i;
/**
 * A row that only the program draws, further left than its model's words and tools' output: an unfinished spinner, a
 * retry, a spinner or a clock with the interrupt key.
 */
const statusRow =
  /^ ?[·✢✳✶✻✽*⠀-⣿] (?:\S.{0,80}?(?:…|\.\.\.)|.{1,120} · Retrying in \d)|^ ?[⠀-⣿] .{1,200}\b[Ee]sc to cancel\b|^ ?[•◦] [^(]{1,60}\((?:\d+[hms] ?){1,3} • esc to interrupt\)(?=\s*$| ·)/;

/**
 * Whether a program says that it is at work: in its status row, or in the footer below its input. Elsewhere its model
 * may write about these words. While it is at work, an empty prompt does not mean that it has nothing to do.
 */
function saysItWorks(screen: Screen, bottom: readonly string[], family: AgentFamily): boolean {
  const says = (row: RegExp) => (whole: string) => {
    const shown = cut(whole, longestLine);
    return row.test(shown) && !waitsForLimit.test(shown);
  };
  return bottom.some(says(statusRow)) || footerOf(screen, family).some(says(interruptKey));
}

/** How Claude Code counts background work below its input. */
const leftRunning =
  /(?:^\s*|· |, )\d+ (?:shells?|monitors?|teams?|local agents?|background (?:tasks?|dynamic workflows?)|MCP tasks?|(?:remote dynamic workflow|cloud session)s?)(?= ·|,|\s*$)/;

/** Whether a program shows that it left something running, whose end wakes it. */
const showsLeftRunning = (screen: Screen, family: AgentFamily): boolean =>
  family === "claude-code" && footerOf(screen, family).some((row) => leftRunning.test(cut(row, longestLine)));

function footerOf(screen: Screen, family: AgentFamily): readonly string[] {
  const input = findInput({ ...screen, firm: screen.rows }, family);
  return input === null ? [] : screen.rows.slice(input.to + 1);
}
