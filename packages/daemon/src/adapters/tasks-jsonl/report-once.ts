import type { Log } from "../../ports/log.ts";
import { keyOfProblem, type LineProblem } from "./task-lines.ts";

/** Lines named one by one in one look; the others are counted. */
const mostNamed = 20;

/** Says what is wrong with the file and its lines, each thing once for as long as it is so. Never what a line says. */
export function reportOnce(log: Log, file: string) {
  let told = new Set<string>();
  let last: string | null = null;

  return {
    /** About the whole file; `null` when it is fine. */
    file(problem: string | null): void {
      if (problem === last) return;
      if (problem === null) log.info({ file }, "the task file is read again");
      else log.error({ file }, `the task file is not used for now: ${problem}`);
      last = problem;
    },
    /** Everything that is wrong with its lines at present. */
    lines(problems: readonly LineProblem[]): void {
      const present = problems.map(([line, problem]) => [keyOfProblem(line, problem), line, problem] as const);
      const news = present.filter(([key]) => !told.has(key));
      for (const [, { number }, problem] of news.slice(0, mostNamed))
        log.warn({ file, line: number }, `line ${number} of the task file: ${problem}`);
      if (news.length > mostNamed)
        log.warn({ file }, `${news.length - mostNamed} more lines of the task file cannot be taken`);
      told = new Set(present.map(([key]) => key));
    },
  };
}
