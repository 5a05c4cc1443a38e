import { cutLine, cutText, widthOf } from "./fit-text.ts";
import { type Line, type Span, spansOf, styled } from "./styled-text.ts";

export interface Column {
  readonly title: string;
  /** How narrow it may become before others have to give way; without it the column is never cut. */
  readonly least?: number;
}

type Cell = string | Span;

const gap = 2;

/** Columns as wide as their contents; when the terminal is narrower, the widest give way first, the later of two alike, and end in "…". */
export function drawTable(columns: readonly Column[], rows: readonly (readonly Cell[])[], width: number): Line[] {
  const titles = columns.map(({ title }) => styled("dim", title));
  const cells = [titles, ...rows].map((row) => spansOf(row));
  const natural = columns.map((_, index) =>
    cells.reduce((widest, row) => Math.max(widest, widthOf(row[index]?.text ?? "")), 0),
  );
  const widths = shrink(columns, natural, width - gap * (columns.length - 1));
  return cells.map((row) => {
    const line = row.flatMap((cell, index) => pad(cell, widths[index] ?? 0, index === row.length - 1));
    // Every column is as narrow as it may be, and still it is too much: rather the end of each row than two lines for it.
    return cutLine(line, width);
  });
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
