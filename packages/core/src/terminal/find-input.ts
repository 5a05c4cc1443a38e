import type { AgentFamily } from "@rouse/contract";
import type { Screen } from "./reading.ts";

/** What of a screen must be known before anything is typed into it. */
export interface TypingScreen extends Screen {
  /** The rows without pale hints: programs draw suggestions while nothing is typed. */
  readonly firm: readonly string[];
}

/** How a program draws its input. */
interface InputShape {
  /** The row up to where the text begins. Symbols that do not mean a message (`!` runs a command) are left out. */
  readonly prompt: RegExp;
  /** The input stands between two such rows, and the cursor may be anywhere. Other inputs hold the cursor. */
  readonly between?: RegExp;
  /** The input stands above such a row, beside a bar, with a status row at its end; it holds the cursor. */
  readonly above?: { readonly border: RegExp; readonly bar: RegExp; readonly status: RegExp };
  /** A hint while nothing is typed, in a colour that does not tell. */
  readonly hint?: string;
}

const shapes: Readonly<Record<AgentFamily, InputShape | null>> = {
  "claude-code": { prompt: /^[│\s]*[❯>](?=[\s│]|$)/, between: /^\s*[╭╰─]─{2}/ },
  codex: { prompt: /^\s*›(?=\s|$)/ },
  "gemini-cli": {
    prompt: /^[│\s]*[>*](?=[\s│]|$)/,
    between: /^\s*[╭╰─▀▄][─▀▄]{2}/,
    hint: "Type your message or @path/to/file",
  },
  // Where Enter only begins the next line (`multi>`), nothing would be sent.
  aider: { prompt: /^(?:ask|architect|code|context|help|diff|whole|udiff)?>(?=\s|$)/ },
  opencode: {
    prompt: /^\s*┃/,
    above: { border: /^\s*╹▀{4}/, bar: /^\s*┃/, status: /^\s*┃\s{2}\S{1,40} · \S/ },
  },
  generic: null,
};

/** Where a person would type. */
export interface Input {
  readonly from: number;
  readonly to: number;
  /** The first row up to where the text begins. */
  readonly prompt: string;
  /** The text in it, without blanks and borders. */
  readonly text: string;
  readonly shape: InputShape;
}

/** Taller than this is a transcript. */
const mostRows = 40;
/** How many rows are read when the text is so long that its first row has left the screen. */
const lastRows = 4;

/** Removes blanks, line breaks and borders, which come and go. */
export const squeeze = (text: string): string => text.replace(/[\s│┃▌]/g, "");

/** The input of a known program. What another program does with a line and Enter is unknown. */
export function findInput(screen: TypingScreen, family: AgentFamily): Input | null {
  const shape = shapes[family];
  return shape === null ? null : findShape(screen, shape, screen.cursorRow);
}

/** Keys go to the cursor, where a program shows one. */
export const holdsCursor = ({ cursorRow }: Screen, { from, to }: Input): boolean =>
  cursorRow >= from && cursorRow <= to;

/** Whether the input holds text that nobody has sent. */
export function findDraft(screen: TypingScreen, family: AgentFamily): boolean {
  const input = findInput(screen, family);
  if (input === null || input.text === "") return false;
  // Without a box, rows that follow a prompt are the answer to what was sent.
  const further = screen.rows.slice(input.from + 1, screen.cursorRow + 1);
  return (
    input.shape.between !== undefined || input.shape.above !== undefined || further.every((row) => /^\s{2}/.test(row))
  );
}

/** The same input after typing. */
export function findInputAgain(screen: TypingScreen, before: Input): Input {
  const { shape } = before;
  // A line that fills its row to the end leaves the cursor on the next.
  const start = isBlank(screen, screen.cursorRow) ? screen.cursorRow - 1 : screen.cursorRow;
  const again = findShape(screen, shape, start);
  if (again !== null) return again;
  const end = Math.max(-1, shape.between === undefined ? start : lastRow(screen, shape.between) - 1);
  const from = Math.max(0, end - lastRows + 1);
  return { from, to: end, prompt: "", text: textBetween(screen, from, end, 0), shape };
}

function findShape(screen: TypingScreen, shape: InputShape, start: number): Input | null {
  const { above, between, prompt, hint } = shape;
  const lengthOf = (row: string): number | null => prompt.exec(row)?.[0].length ?? null;
  const found =
    above !== undefined
      ? findAbove(screen, above)
      : between === undefined
        ? findOpen(screen, lengthOf, start)
        : findBoxed(screen, lengthOf, between);
  if (found === null) return null;
  const isHint = hint !== undefined && found.text === squeeze(hint);
  return { ...found, text: isHint ? "" : found.text, shape };
}

type Found = Omit<Input, "shape">;
type PromptLength = (row: string) => number | null;

/** Keys go to the lowest box. */
function findBoxed(screen: TypingScreen, lengthOf: PromptLength, between: RegExp): Found | null {
  const isBorder = (at: number): boolean => between.test(screen.rows[at] ?? "");
  const bottom = lastRow(screen, between);
  let top = bottom - 1;
  while (top > bottom - mostRows && top >= 0 && !isBorder(top)) top--;
  const from = top + 1;
  const length = from < bottom && isBorder(top) ? lengthOf(screen.rows[from] ?? "") : null;
  return length === null ? null : found(screen, from, bottom - 1, length);
}

/** All adjacent rows with the bar, but for the status row. */
function findAbove(screen: TypingScreen, { border, bar, status }: NonNullable<InputShape["above"]>): Found | null {
  const to = lastRow(screen, border) - 1;
  if (to < 0 || !status.test(screen.rows[to] ?? "")) return null;
  let from = to;
  while (from > 0 && bar.test(screen.rows[from - 1] ?? "")) from--;
  return from < to && to - from < mostRows ? { ...found(screen, from, to - 1, 0), to } : null;
}

/** Rows that follow without a blank row belong to the input: typed text may have several. */
function findOpen(screen: TypingScreen, lengthOf: PromptLength, start: number): Found | null {
  const input = findPrompt(screen, lengthOf, start);
  if (input === null) return null;
  let { to } = input;
  while (to + 1 < screen.rows.length && !isBlank(screen, to + 1)) to++;
  return found(screen, input.from, to, input.prompt.length);
}

function findPrompt(screen: TypingScreen, lengthOf: PromptLength, start: number): Found | null {
  for (let at = start; at > start - mostRows && !isBlank(screen, at); at--) {
    const length = lengthOf(screen.rows[at] ?? "");
    if (length !== null) return found(screen, at, start, length);
  }
  return null;
}

const found = (screen: TypingScreen, from: number, to: number, length: number): Found => ({
  from,
  to,
  prompt: (screen.rows[from] ?? "").slice(0, length),
  text: textBetween(screen, from, to, length),
});

function textBetween({ firm }: TypingScreen, from: number, to: number, skip: number): string {
  const [first = "", ...rest] = firm.slice(from, to + 1);
  return squeeze([first.slice(skip), ...rest].join(""));
}

const isBlank = ({ rows }: Screen, at: number): boolean => (rows[at] ?? "").trim() === "";

function lastRow({ rows }: Screen, like: RegExp): number {
  return rows.findLastIndex((row) => like.test(row));
}
