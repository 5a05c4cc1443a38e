import { cutLine, cutText, type Line, type Span, spansOf, styled, widthOf, wrapLine } from "./styled-text.ts";

export interface Column {
  readonly title: string;
  /** How narrow the column may become; without it the column is never cut. */
  readonly least?: number;
  /** How wide the column should be, if its texts are that long, before others are left out; `least` when not given. */
  readonly wants?: number;
  /** The column may be left out where there is no room for all; the lowest number goes first. */
  readonly drops?: number;
}

export type Cell = string | Span;

/** Stands in a cell that has nothing to say. */
export const none = styled("dim", "–");

const gap = 2;

/** Draws columns as wide as their contents; where they do not fit, the widest is cut first, the later of two alike. */
export function drawTable(columns: readonly Column[], rows: readonly (readonly Cell[])[], width: number): Line[] {
  const titles = columns.map(({ title }) => styled("dim", title));
  const all = [titles, ...rows].map((row) => spansOf(row));
  const needed = columns.map((_, index) =>
    all.reduce((widest, row) => Math.max(widest, widthOf(row[index]?.text ?? "")), 0),
  );
  const kept = chooseColumns(columns, needed, width);
  const only = <T>(list: readonly T[]): T[] => list.filter((_, index) => kept.has(index));
  const cells = all.map(only);
  const widths = shrink(only(columns), only(needed), width - gap * (kept.size - 1));
  return cells.map((row) => {
    const line = row.flatMap((cell, index) => pad(cell, widths[index] ?? 0, index === row.length - 1));
    // Where the narrowest columns are still too wide, the end of each row is cut rather than wrapped.
    return cutLine(line, width);
  });
}

/** Leaves out columns, one by one, until the remaining ones have the width they want. */
function chooseColumns(columns: readonly Column[], needed: readonly number[], width: number): ReadonlySet<number> {
  const kept = new Set(columns.keys());
  const wanted = (index: number): number => {
    const { least, wants = least } = columns[index] ?? { title: "" };
    return Math.min(needed[index] ?? 0, wants ?? Number.POSITIVE_INFINITY);
  };
  const first = [...kept].filter((index) => columns[index]?.drops !== undefined);
  first.sort((a, b) => (columns[a]?.drops ?? 0) - (columns[b]?.drops ?? 0));
  for (const index of first) {
    const total = [...kept].reduce((sum, one) => sum + wanted(one), gap * (kept.size - 1));
    if (total <= width) break;
    kept.delete(index);
  }
  return kept;
}

function shrink(columns: readonly Column[], natural: readonly number[], width: number): number[] {
  const widths = [...natural];
  const floors = columns.map(({ least }, index) => Math.min(least ?? natural[index] ?? 0, natural[index] ?? 0));
  for (let excess = widths.reduce((sum, one) => sum + one, 0) - width; excess > 0; excess--) {
    const room = widths.map((one, index) => one - (floors[index] ?? 0));
    if (Math.max(...room) <= 0) break;
    const widest = room.reduce((best, one, index) => {
      const wider = (widths[index] ?? 0) >= (widths[best] ?? 0) || (room[best] ?? 0) <= 0;
      return one > 0 && wider ? index : best;
    }, 0);
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}

function pad({ text, ...style }: Span, width: number, last: boolean): Span[] {
  const shown = cutText(text, width);
  const space = last ? "" : " ".repeat(width - widthOf(shown) + gap);
  return [{ text: shown, ...style }, { text: space }];
}

/** A column of a list: its title, what stands in it for one item, and how narrow it may become. */
export type ListColumn<T> = readonly [title: string, cellOf: (item: T) => Cell, limits?: Omit<Column, "title">];

/** Draws a table with a row for each item. */
export function drawList<T>(items: readonly T[], columns: readonly ListColumn<T>[], width: number): Line[] {
  const titles = columns.map(([title, , limits]) => ({ title, ...limits }));
  const rows = items.map((item) => columns.map(([, cellOf]) => cellOf(item)));
  return drawTable(titles, rows, width);
}

export type Fact = readonly [label: string, ...values: Line[]];

/**
 * Draws labels on the left and values beside them, each value on lines of its own; what is too long goes on under its
 * beginning. A fact that is `null` is left out.
 */
export function drawFacts(facts: readonly (Fact | null)[], width: number, indent = 0): Line[] {
  const shown = facts.filter((fact) => fact !== null);
  const column = indent + Math.max(0, ...shown.map(([label]) => widthOf(label))) + 2;
  const margin = " ".repeat(indent);
  return shown.flatMap(([label, ...values]) =>
    values.flatMap((value, index) => {
      const head = `${margin}${index === 0 ? label : ""}`.padEnd(column);
      return wrapLine([styled("dim", head), ...value], width, column);
    }),
  );
}

/** Says "none" where there are no lines. */
export const orNone = (lines: readonly Line[]): readonly Line[] => (lines.length === 0 ? [["none"]] : lines);

/** Draws lines under a title, after an empty line. */
export const drawSection = (title: string, lines: readonly Line[], width: number): Line[] => [
  [],
  [styled("bold", title)],
  ...lines.flatMap((line) => wrapLine(["  ", ...line], width, 4)),
];
