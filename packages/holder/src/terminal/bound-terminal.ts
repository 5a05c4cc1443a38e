import type { Terminal } from "@xterm/headless";

/** What @xterm/headless 6.0 keeps to itself. Its own handlers read the same parameters as ours, and after ours. */
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

/** Everything that does something as often as its parameter says. More lines or columns than there are make no difference on the screen. */
export const perRow: readonly Sequence[] = [..."SLMT"].map((final) => ({ final }));
export const perColumn: readonly Sequence[] = [
  ...[..."@PXIZ"].map((final) => ({ final })),
  { intermediates: " ", final: "@" },
  { intermediates: " ", final: "A" },
  { intermediates: "'", final: "}" },
  { intermediates: "'", final: "~" },
];
export const repeatCharacter: Sequence = { final: "b" };

/** Titles, links and colours: nobody asks this terminal for them, and it would keep them, links one by one. */
const unused = [0, 1, 2, 4, 8, 10, 11, 12, 104, 110, 111, 112];

/** Accents and the like that one character may carry. */
const mostJoined = 8;
/** Of a character as the terminal describes it: whether it joins the one before it, and how wide it is. */
const joins = 1;
const describes = 7;
const ownCell = 2;

/**
 * No sequence costs more than the screen is large, whatever number stands in it, and nothing is kept that grows with what is written: fourteen
 * bytes that repeat a letter two thousand million times would otherwise keep the holder from everything else.
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

/** A cell that takes every accent would grow for ever. Returns how many the last character carries. */
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
