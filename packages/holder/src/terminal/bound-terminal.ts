import type { Terminal } from "@xterm/headless";

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

/**
 * Sequences that act as often as their parameter says. More lines or columns than there are make no difference on the
 * screen.
 */
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
