import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../run-rouse.ts";
import { cells, idOf } from "./cells.ts";
import type { Installed } from "./install-programs.ts";
import type { CellResult } from "./play-cells.ts";
import { pinned } from "./programs.ts";
import { type Line, textTable, writeLines } from "./table.ts";

export interface Run {
  readonly results: string;
  readonly recordings: string | null;
  readonly installed: readonly Installed[];
  readonly writeDocs: boolean;
}

const page = join(repository, "docs", "agents.md");

/** Prints what every cell said, and writes it down where that was asked for. */
export function showResults({ results, recordings, installed, writeDocs }: Run): void {
  const played = readResults(results);
  if (played.length === 0) return;
  const lines = played.map(lineOf);
  const failed = lines.filter(({ verdict }) => verdict.startsWith("FAILS")).length;
  console.log(`\n${textTable(lines)}\n${played.length} cells, ${failed} fail.`);
  if (recordings !== null) writeReadme(recordings, played);
  if (writeDocs) writePage(lines, installed);
  rmSync(results, { recursive: true, force: true });
}

/** In the order of the table, whichever file was done first. */
function readResults(folder: string): CellResult[] {
  const found = new Map(
    readdirSync(folder).map((name) => {
      const result = JSON.parse(readFileSync(join(folder, name), "utf8")) as CellResult;
      return [result.id, result];
    }),
  );
  return cells.flatMap((cell) => found.get(idOf(cell)) ?? []);
}

const words = {
  holds: "holds",
  "cannot-be-known": "cannot be known",
  fails: "FAILS",
} as const;

function lineOf({ cell, said, eyes, seconds, verdict }: CellResult): Line {
  const because = verdict.kind === "holds" ? "" : `: ${verdict.because}`;
  return {
    program: pinned[cell.program].title,
    mode: cell.mode,
    scenario: cell.scenario,
    said,
    eye: eyes[0] ?? "none",
    seconds: seconds === null ? "" : seconds.toFixed(1),
    verdict: `${words[verdict.kind]}${because}`,
  };
}

/** Says of each recording what it shows; those of earlier runs that are still there stay in it. */
function writeReadme(folder: string, played: readonly CellResult[]): void {
  const path = join(folder, "README.md");
  const head = "# Screens of real programs, as they wrote them\n\nMade by `npm run test:agents -- --record`.\n\n";
  const before = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  const now = played.map(
    ({ id, cell, said }) =>
      `- \`${id}.raw\`: ${pinned[cell.program].title} ${pinned[cell.program].version}, ${cell.mode}, ${cell.scenario}; Rouse said: ${said}`,
  );
  const isOld = (line: string) =>
    line.startsWith("- `") && !played.some(({ id }) => line.startsWith(`- \`${id}.raw\``));
  writeFileSync(path, `${head}${[...before.filter(isOld), ...now].sort().join("\n")}\n`);
}

function writePage(lines: readonly Line[], installed: readonly Installed[]): void {
  const date = new Date().toISOString().slice(0, 10);
  const played = installed.flatMap((program) =>
    program.there ? [`${pinned[program.name].title} ${program.version}, played ${date}`] : [],
  );
  const all = cells.map(({ program, mode, scenario }) => ({ program: pinned[program].title, mode, scenario }));
  writeFileSync(page, writeLines(readFileSync(page, "utf8"), lines, played, all));
}
