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

const row = (texts: readonly string[]): string => `| ${texts.join(" | ")} |`;
const keyed = (line: Line): [string, string] => {
  const text = row(columns.map((column) => inCell(line[column])));
  return [keyOf(text), text];
};

/** Program, mode and scenario: what a row is about, as it stands in the page. */
const keyOf = (text: string): string => text.split(" | ").slice(0, 3).join(" | ");

const begin = "<!-- table:begin -->";
const end = "<!-- table:end -->";

/**
 * The page with these lines in its table, in the order of `all`. A line that was not played this time stays as it was,
 * so that one program can be tried anew without the others; one that is not in `all` any more goes. `played`: a
 * sentence for each program, which begins with its name.
 */
export function writeLines(
  page: string,
  lines: readonly Line[],
  played: readonly string[],
  all: readonly Pick<Line, "program" | "mode" | "scenario">[],
): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`the page has no ${begin} … ${end}`);
  const before = page.slice(from + begin.length, to).split("\n");
  const rows = new Map([...before.map((text): [string, string] => [keyOf(text), text]), ...lines.map(keyed)]);
  const wanted = all.map(({ program, mode, scenario }) => `| ${[program, mode, scenario].join(" | ")}`);
  const isNews = (text: string) => played.some((sentence) => text.startsWith(`- ${nameIn(sentence)} `));
  const table = [
    ...before.filter((text) => text.startsWith("- ") && !isNews(text)),
    ...played.map((sentence) => `- ${sentence}`),
  ].sort();
  const head = [row(columns.map((column) => heads[column])), row(columns.map(() => "---"))];
  const text = [...table, "", ...head, ...wanted.flatMap((key) => rows.get(key) ?? [])].join("\n");
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`;
}

/** Everything before the version. */
const nameIn = (sentence: string): string => /^(.*?) \d/.exec(sentence)?.[1] ?? sentence;
