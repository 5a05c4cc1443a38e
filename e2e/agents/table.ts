/** One line of the table program × mode × scenario. */
export interface Line {
  readonly program: string;
  readonly mode: string;
  readonly scenario: string;
  readonly said: string;
  readonly eye: string;
  readonly seconds: string;
  readonly verdict: string;
}

const columns: readonly (keyof Line)[] = ["program", "mode", "scenario", "said", "eye", "seconds", "verdict"];
const heads: Readonly<Record<keyof Line, string>> = {
  program: "program",
  mode: "mode",
  scenario: "scenario",
  said: "what Rouse said",
  eye: "eye",
  seconds: "seconds",
  verdict: "verdict",
};

export function textTable(lines: readonly Line[]): string {
  const rows = [heads, ...lines];
  const widths = columns.map((column) => Math.max(...rows.map((row) => row[column].length)));
  const show = (row: Readonly<Record<keyof Line, string>>) =>
    columns
      .map((column, index) => row[column].padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd();
  return rows.map(show).join("\n");
}

/** What Rouse said may hold what a program wrote, and must not end the cell or become markup. */
const inCell = (text: string): string => text.replaceAll(/[|<>`\\]/g, "\\$&").replaceAll(/\s+/g, " ");

export function markdownTable(lines: readonly Line[]): string {
  const row = (texts: readonly string[]) => `| ${texts.join(" | ")} |`;
  return [
    row(columns.map((column) => heads[column])),
    row(columns.map(() => "---")),
    ...lines.map((line) => row(columns.map((column) => inCell(line[column])))),
  ].join("\n");
}

const begin = "<!-- table:begin -->";
const end = "<!-- table:end -->";

/** The page with everything between the two markers replaced. */
export function replaceBetweenMarkers(page: string, text: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`the page has no ${begin} … ${end}`);
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}
