import type { Screen, TypingScreen } from "@rouse/core";
import * as serialize from "@xterm/addon-serialize";
import * as headless from "@xterm/headless";
import { createSlices, drawInTime } from "./draw-in-time.ts";

type Terminal = headless.Terminal;
type IBuffer = headless.IBuffer;

/** Both are CommonJS modules whose exports Node cannot see. */
const named = <M extends object>(module: M): M => (module as { default?: M }).default ?? module;
const { Terminal } = named(headless);
const { SerializeAddon } = named(serialize);

/** What an agent's terminal shows. */
export interface KeptScreen {
  feed(bytes: Buffer): void;
  resize(cols: number, rows: number): void;
  /**
   * Ends a slice: feeds what had to wait. Calls `look` when everything fed so far is on the screen, or left out because
   * it would take too long, and nothing fed later.
   */
  settle<T>(look: () => T): Promise<T>;
  screen(): Screen;
  /** With what has to be known to type into it; takes longer. */
  typingScreen(): TypingScreen;
  /** The complete lines added since the last call; none while a full-screen program draws. */
  newLines(): string[];
  /** The bytes that make a terminal of the same size look like this one. */
  picture(): string;
}

const scrollback = 500;
/** Ends an escape sequence that was cut off, without a trace. */
const cancel = Buffer.from([0x18]);

/** `reply` gets what a terminal answers by itself, for instance the position of its cursor. */
export function keepScreen(size: { cols: number; rows: number }, reply: (bytes: Buffer) => void): KeptScreen {
  const terminal = new Terminal({ ...size, scrollback, allowProposedApi: true, logLevel: "off" });
  const serializer = new SerializeAddon();
  terminal.loadAddon(serializer);
  terminal.onData((text) => reply(Buffer.from(text, "utf8")));
  boundTerminal(terminal);
  const drawing = drawInTime(
    (bytes, done) => terminal.write(bytes, done),
    () => terminal.write(cancel),
    processorMs,
  );
  const slices = createSlices(drawing.draw, () => drawing.draw(cancel));
  const lines = followLines(terminal);

  return {
    feed: slices.feed,
    resize: (cols, rows) => terminal.resize(cols, rows),
    settle(look) {
      slices.next();
      // Not after the promise: by then the terminal has drawn later output.
      return new Promise((resolve, reject) => {
        drawing.look(() => {
          try {
            resolve(look());
          } catch (error) {
            reject(error);
          }
        });
      });
    },
    screen: () => screenOf(terminal),
    typingScreen() {
      const { active } = terminal.buffer;
      const firm = Array.from({ length: terminal.rows }, (_, row) => firmText(active, active.baseY + row));
      return { ...screenOf(terminal), firm };
    },
    newLines: lines,
    picture: () => serializer.serialize({ scrollback }),
  };
}

/** Of all threads: collecting the terminal's garbage counts as well. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function screenOf({ buffer: { active }, rows: height }: Terminal): Screen {
  const rows = Array.from({ length: height }, (_, row) => rowText(active, active.baseY + row));
  return { rows, cursorRow: active.cursorY, alternate: active.type === "alternate" };
}

/** Follows the cursor down the normal screen with a marker, which stays with its line while lines scroll away. */
function followLines(terminal: Terminal): () => string[] {
  let marker: headless.IMarker | undefined = terminal.registerMarker(0);

  return () => {
    const buffer = terminal.buffer.normal;
    if (terminal.buffer.active.type === "alternate") return [];
    const cursor = buffer.baseY + buffer.cursorY;
    const from = marker === undefined || marker.line === -1 ? 0 : marker.line;
    // A repaint comes back to where it was. Only a cleared screen starts anew further up.
    if (cursor <= from && !(cursor < from && isBlank(buffer, cursor + 1, from))) return [];
    const added = cursor > from ? joinRows(buffer, from, cursor) : [];
    marker?.dispose();
    marker = terminal.registerMarker(0);
    return added;
  };
}

function isBlank(buffer: IBuffer, from: number, to: number): boolean {
  for (let row = from; row <= to; row++) if (rowText(buffer, row) !== "") return false;
  return true;
}

/** A line too long for the screen is one line nevertheless. */
function joinRows(buffer: IBuffer, from: number, to: number): string[] {
  const lines: string[] = [];
  for (let row = from; row < to; row++) {
    const line = buffer.getLine(row);
    const text = line?.translateToString(true) ?? "";
    if (lines.length > 0 && line?.isWrapped) lines.push(`${lines.pop()}${text}`);
    else lines.push(text);
  }
  return lines.map((line) => line.trimEnd());
}

const rowText = (buffer: IBuffer, row: number): string =>
  (buffer.getLine(row)?.translateToString(true) ?? "").trimEnd();

/** The row with blanks for pale (dim) characters. A character drawn as a cursor before pale ones is pale, too. */
function firmText(buffer: IBuffer, row: number): string {
  const line = buffer.getLine(row);
  let text = "";
  let underCursor = "";
  for (let column = 0; column < (line?.length ?? 0); column++) {
    const cell = line?.getCell(column);
    if (cell === undefined || cell.getWidth() === 0) continue;
    const chars = cell.getChars() || " ";
    const pale = cell.isDim() !== 0;
    text += pale ? blank(underCursor) : underCursor;
    underCursor = cell.isInverse() !== 0 && !pale ? chars : "";
    if (underCursor === "") text += pale ? blank(chars) : chars;
  }
  return (text + underCursor).trimEnd();
}

const blank = (chars: string): string => " ".repeat(chars.length);

/** Private parts of @xterm/headless 6.0. Its own handlers read the same parameters as ours, and after ours. */
interface Inside {
  readonly _core: {
    registerCsiHandler(id: Sequence, take: (params: { readonly params: Int32Array }) => boolean): void;
    readonly unicodeService: { readonly _activeProvider: CharacterWidths };
  };
}

interface Sequence {
  readonly final: string;
  readonly intermediates?: string;
}

interface CharacterWidths {
  wcwidth(code: number): 0 | 1 | 2;
  charProperties(code: number, preceding: number): number;
}

/** Sequences that act as often as their parameter says. More than the screen has rows or columns is no different. */
export const perRow: readonly Sequence[] = [..."SLMT"].map((final) => ({ final }));
export const perColumn: readonly Sequence[] = [
  ...[..."@PXIZ"].map((final) => ({ final })),
  { intermediates: " ", final: "@" },
  { intermediates: " ", final: "A" },
  { intermediates: "'", final: "}" },
  { intermediates: "'", final: "~" },
];
export const repeatCharacter: Sequence = { final: "b" };

/** Titles, links and colours: nobody asks this terminal for them, and it would keep every link. */
const unused = [0, 1, 2, 4, 8, 10, 11, 12, 104, 110, 111, 112];

/** Accents and other marks that one character may carry. */
const mostJoined = 8;
/** Bits of a character's properties: whether it joins the one before it, and how wide it is. */
const joins = 1;
const describes = 7;
const ownCell = 2;

/**
 * Bounds the cost of each sequence by the size of the screen, whatever its parameter, and keeps nothing that grows with
 * the output. Fourteen bytes that repeat a letter two thousand million times would otherwise block the holder.
 */
export function boundTerminal(terminal: Terminal): void {
  const { _core: core } = terminal as unknown as Inside;
  const joined = boundJoining(terminal, core.unicodeService._activeProvider);

  const bound = (id: Sequence, most: () => number): void =>
    core.registerCsiHandler(id, ({ params }) => {
      params[0] = Math.min(params[0] ?? 0, most());
      return false;
    });
  for (const id of perRow) bound(id, () => terminal.rows);
  for (const id of perColumn) bound(id, () => terminal.cols);
  bound(repeatCharacter, () => Math.ceil((terminal.rows * terminal.cols) / (joined() + 1)));
  for (const id of unused) terminal.parser.registerOscHandler(id, () => true);
}

/** Otherwise a cell could take accents without end. Returns how many the last character carries. */
function boundJoining(terminal: Terminal, widths: CharacterWidths): () => number {
  let joined = 0;
  terminal.unicode.register({
    version: "bounded",
    wcwidth: (code) => widths.wcwidth(code),
    charProperties(code, preceding) {
      const before = preceding >> 3;
      const properties = widths.charProperties(code, preceding & describes);
      if ((properties & joins) === 0) joined = 0;
      else joined = before + 1;
      if (joined <= mostJoined) return properties | (joined << 3);
      joined = 0;
      return ownCell;
    },
  });
  terminal.unicode.activeVersion = "bounded";
  return () => joined;
}
