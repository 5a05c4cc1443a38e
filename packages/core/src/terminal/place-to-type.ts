import type { AgentFamily, NudgeRefusal } from "@rouse/contract";
import { findInput, findInputAgain, holdsCursor, type Input, squeeze, type TypingScreen } from "./find-input.ts";
import { type Bottom, findQuestion } from "./find-question.ts";
import { cut, longestLine, maskVolatile } from "./mask-text.ts";
import type { KnownPattern } from "./patterns.ts";
import { bottomOf } from "./read-screen.ts";
import { wantsKeys } from "./wants-keys.ts";

/** Why a screen cannot be typed into. */
type ScreenRefusal = Extract<NudgeRefusal, "full-screen" | "asks" | "no-input" | "half-typed">;

export type Place =
  /** `picture`: the input and the rows next to it, to see whether they rest. */
  | { readonly kind: "place"; readonly input: Input; readonly picture: string }
  | { readonly kind: "refused"; readonly because: ScreenRefusal };

const refuse = (because: ScreenRefusal): Place => ({ kind: "refused", because });

/** Where a message could be typed now: the empty input of a known program, with nothing else that takes keys. */
export function findPlaceToType(screen: TypingScreen, family: AgentFamily, patterns: readonly KnownPattern[]): Place {
  if (asks(bottomOf(screen), patterns)) return refuse("asks");
  const input = findInput(screen, family);
  // A full-screen program may show anything, so its input must hold the cursor as well.
  if (screen.alternate && (input === null || !holdsCursor(screen, input))) return refuse("full-screen");
  if (input === null) return refuse("no-input");
  if (asksBeside(screen, input, patterns) || wantsKeys(screen, input, family)) return refuse("asks");
  if (input.text !== "") return refuse("half-typed");
  return { kind: "place", input, picture: pictureOf(screen, input) };
}

/** What was typed into a place, to recognise it there. */
export interface Typed {
  readonly family: AgentFamily;
  readonly input: Input;
  /** The end of the text, without blanks. */
  readonly tail: string;
  /** How often that stood on the screen before: the same words may have been said earlier. */
  readonly before: number;
  /** On which of the two screens. */
  readonly alternate: boolean;
}

type Echo =
  | { readonly kind: "echoed"; readonly picture: string }
  | { readonly kind: "not-yet" }
  | { readonly kind: "refused"; readonly because: Extract<ScreenRefusal, "full-screen" | "asks"> };

/** Enough to recognise a text by. */
const tailLength = 40;

export function expectEcho(screen: TypingScreen, family: AgentFamily, input: Input, typed: string): Typed {
  const tail = squeeze(typed).slice(-tailLength);
  return { family, input, tail, before: count(screen, tail), alternate: screen.alternate };
}

/** Whether the typed text stands in the input, and nothing has come up that would take Enter for an answer. */
export function readEcho(screen: TypingScreen, typed: Typed, patterns: readonly KnownPattern[]): Echo {
  if (screen.alternate !== typed.alternate) return { kind: "refused", because: "full-screen" };
  const input = findInputAgain(screen, typed.input);
  if (asksBeside(screen, input, patterns) || wantsKeys(screen, input, typed.family))
    return { kind: "refused", because: "asks" };
  // Nothing may follow the text: what opens below an input without a box looks like its next row.
  const isThere =
    input.text.endsWith(typed.tail) &&
    count(screen, typed.tail) > typed.before &&
    (!screen.alternate || holdsCursor(screen, input));
  return isThere ? { kind: "echoed", picture: pictureOf(screen, input) } : { kind: "not-yet" };
}

/** Our own text is left out, but the rows on both sides of it may be one menu. */
function asksBeside(screen: TypingScreen, { from, to }: Input, patterns: readonly KnownPattern[]): boolean {
  const others = screen.rows.map((row, at) => (at >= from && at <= to ? "" : row));
  return asks(bottomOf({ ...screen, rows: others }), patterns);
}

/** How programs mark messages that wait for the end of a tool or a turn. */
const queued: Partial<Readonly<Record<AgentFamily, RegExp>>> = {
  "claude-code": /^\s*ctrl\+\S{1,3} ctrl\+\S{1,3} to send now|^[❯>]\s+Press up to edit queued messages/,
  codex: /^• (?:Messages to be submitted|Queued )/,
  opencode: /^\s*┃\s+QUEUED\s*$/,
};

/** Whether the program has taken the text: its input is empty again, and the text stands above it. */
export function isTaken(screen: TypingScreen, { family, tail, before }: Typed): boolean {
  const input = findInput(screen, family);
  if (input === null || input.text !== "" || screen.rows.some((row) => queued[family]?.test(row))) return false;
  return countIn(screen.rows.slice(0, input.from), tail) > before;
}

export const asks = (bottom: Bottom, patterns: readonly KnownPattern[]): boolean =>
  findQuestion(bottom, patterns, ["permission", "question"]) !== null || showsMenu(bottom);

const menuRows = 12;
const chosen = /^[│\s]*[❯›▸▶●◉➤>] ?\d{1,2}[.)] /;
const choice = /^[│\s]*\d{1,2}[.)] /;
const menuKeys =
  /\buse (?:the )?arrow keys\b|(?:\benter|\breturn|\bspace|\barrows|\barrow keys|↑\/?↓) to (?:select|confirm|navigate|choose)\b/i;

/** Unknown menus look alike: one of several numbered choices is marked, or the keys are explained. */
function showsMenu({ rows }: Bottom): boolean {
  const lowest = rows.slice(-menuRows).map((row) => cut(row, longestLine));
  return lowest.some((row, at) => {
    if (menuKeys.test(row)) return true;
    return chosen.test(row) && (choice.test(lowest[at - 1] ?? "") || choice.test(lowest[at + 1] ?? ""));
  });
}

/** The rows next to the input count, because programs draw into both. Spinners and clocks do not. */
const pictureOf = ({ rows }: TypingScreen, { from, to }: Input): string =>
  rows
    .slice(Math.max(0, from - 1), to + 2)
    .map(maskVolatile)
    .join("\n");

const count = ({ firm }: TypingScreen, tail: string): number => countIn(firm, tail);

const countIn = (rows: readonly string[], tail: string): number =>
  tail === "" ? 0 : squeeze(rows.join("")).split(tail).length - 1;

const longest = 2000;

/**
 * The text as a person could type it on one line. Characters that agents do not take for words are removed: control
 * characters, `/` or `!` at the beginning (commands), `@` before a word (files), `\` at the end (a new line).
 */
export function lineToType(text: string): string {
  const line = text
    .normalize("NFC")
    .replace(/\s+/g, " ")
    .replace(/\p{C}/gu, "")
    .replace(/(?<=^|\s)@+/g, "")
    .replace(/^[^\p{L}\p{N}"'“‘«([]+/u, "");
  return cut(line, longest).replace(/[\\\s]+$/, "");
}

/** A shorter piece could be anybody's words. */
const tellingLength = 16;
const promptSymbols = /^[❯›>$#%»*]+/;

/**
 * The rows with our own typed text blanked. It is no work of the agent, whether the terminal echoes it, the agent
 * repeats it, or a narrow screen breaks it into pieces.
 */
export function blankOwnWords(rows: readonly string[], said: string): readonly string[] {
  const own = squeeze(said);
  if (own === "") return rows;
  const beginning = own.slice(0, tellingLength);
  let goesOn = false;
  return rows.map((row) => {
    const piece = squeeze(row).replace(promptSymbols, "");
    const telling = piece.length >= tellingLength && (own.includes(piece) || piece.includes(beginning));
    const isOwn = piece !== "" && (telling || piece === own || (goesOn && own.includes(piece)));
    goesOn = isOwn;
    return isOwn ? "" : row;
  });
}
