import type { Screen } from "./reading.ts";

/**
 * A screen as it is drawn, with the cursor on the row that is marked with `◂` at its end (the last one when none is).
 */
export function screenOf(picture: string, alternate = false): Screen {
  const rows = picture.replace(/^\n/, "").split("\n");
  const marked = rows.findIndex((row) => row.endsWith("◂"));
  return {
    rows: rows.map((row) => row.replace(/◂$/, "").trimEnd()),
    cursorRow: marked < 0 ? rows.length - 1 : marked,
    alternate,
  };
}
