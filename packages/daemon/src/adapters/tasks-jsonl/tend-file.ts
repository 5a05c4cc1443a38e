import { createHash } from "node:crypto";
import type { Log } from "../../ports/log.ts";
import type { TaskDesk } from "../../ports/task-source.ts";
import { addLateWords, hearLateWriters, type LateWords } from "./hear-late-writers.ts";
import { type FileContent, longestFile, readFileAt, tooLong } from "./read-file.ts";
import { replaceFile } from "./replace-file.ts";
import { takeIn } from "./take-in.ts";
import { type LineProblem, type TaskLine, TaskLines, tooManyLines } from "./task-lines.ts";

interface TendingParts {
  readonly path: string;
  readonly desk: TaskDesk;
  readonly log: Log;
  /** Gives the event loop a turn. */
  readonly pause: () => Promise<void>;
}

/** What is known of the file as it lies there. */
interface Seen {
  readonly target: string;
  readonly lines: TaskLines;
  /** `null`: we have written the file since. */
  stamp: string | null;
}

/** How often another writer may be quicker. */
const mostTries = 5;

/** One task file: new lines are handed in, and the status of the tasks is written into it. One look at a time. */
export function tendFile({ path, desk, log, pause }: TendingParts) {
  const report = reportOnce(log, path);
  const late = hearLateWriters();
  let seen: Seen | null = null;
  let problems: LineProblem[] = [];
  /** Tasks whose lines may have to be written again. */
  let stale: ReadonlySet<string> | "all" = "all";
  /** Tasks that changed while stale lines were being written. */
  let owed = new Set<string>();
  /** The file as it was when its last line broke off. */
  let brokenOff: Buffer | null = null;

  /** Returns whether to look again at once. */
  async function look(): Promise<boolean> {
    await takeLate();
    const found = await readFileAt(path, seen?.stamp ?? null);
    if (found.kind === "missing" || found.kind === "unusable") {
      seen = null;
      report.file(found.kind === "missing" ? "it is not there; it is waited for" : found.problem);
      return false;
    }
    const current = found.kind === "same" ? seen : await readAnew(found);
    if (current === null) return false;
    seen = current;
    const settled = isSettled(current.lines);
    report.lines(settled ? problems : problems.filter(([line]) => line !== current.lines.lines.at(-1)));
    return settled ? show(current) : false;
  }

  /** A last line that breaks off may still be being written: nothing is done before the next look finds it the same. */
  function isSettled(lines: TaskLines): boolean {
    const before = brokenOff;
    brokenOff = lines.breaksOff() ? lines.bytes : null;
    return brokenOff === null || brokenOff === before;
  }

  /** `null`: the file cannot be used. */
  async function readAnew({ target, bytes, stamp }: FileContent): Promise<Seen | null> {
    if (seen?.lines.bytes.equals(bytes)) return { target, lines: seen.lines, stamp };
    const lines = await TaskLines.read(bytes, pause);
    report.file(lines === null ? tooManyLines : null);
    if (lines === null) return null;
    await handIn(lines);
    stale = "all";
    return { target, lines, stamp };
  }

  async function handIn(lines: TaskLines): Promise<void> {
    const found = lines.unreadable();
    await takeIn(lines.lines, desk, (line, problem) => void found.push([line, problem]));
    problems = found;
  }

  async function show(current: Seen): Promise<boolean> {
    const due = stale;
    // Until the file is written, every line counts as stale.
    stale = "all";
    const ids = due === "all" ? current.lines.taskIds() : [...due];
    const next = await current.lines.showing(ids, desk.find, pause);
    const done = next === current.lines || (await write(current, next));
    if (done) stale = new Set(owed);
    owed = new Set();
    return !done;
  }

  /** False: another writer was quicker. */
  async function write({ target, lines }: Seen, next: TaskLines): Promise<boolean> {
    if (next.bytes.length > longestFile) {
      report.file(tooLong);
      return true;
    }
    const old = await replaceFile(target, lines.bytes, next.bytes);
    if (old === null) return false;
    await late.keep(old, lines.bytes);
    seen = { target, lines: next, stamp: null };
    return true;
  }

  async function takeLate(): Promise<void> {
    for (const words of await late.listen()) {
      if (await addLate(words)) continue;
      log.error({ file: path }, "somebody wrote to the task file while it was replaced, and it could not be kept");
    }
  }

  async function addLate(words: LateWords): Promise<boolean> {
    for (let tries = 0; tries < mostTries; tries++) {
      const current = await readFileAt(path, null);
      if (current.kind !== "read") return false;
      const merged = addLateWords(current.bytes, seen?.lines.bytes ?? null, words);
      if (merged === null) return false;
      const old = await replaceFile(current.target, current.bytes, merged);
      if (old === null) continue;
      await late.keep(old, current.bytes);
      return true;
    }
    return false;
  }

  return {
    look,
    /** Returns whether any of these tasks is in the file. */
    noteSaved(taskIds: readonly string[]): boolean {
      const concerned = taskIds.filter((taskId) => seen === null || seen.lines.has(taskId));
      if (stale === "all") for (const taskId of concerned) owed.add(taskId);
      else stale = new Set([...stale, ...concerned]);
      return concerned.length > 0;
    },
    bytes: (): number => seen?.lines.bytes.length ?? 0,
    close: late.close,
  };
}

/** So many lines are named in one look; the others are counted. */
const mostNamed = 20;

/** Logs what is wrong with the file and its lines, once for as long as it is wrong. Never logs what a line says. */
function reportOnce(log: Log, file: string) {
  let told = new Set<string>();
  let last: string | null = null;

  return {
    /** The problem of the whole file; `null` when there is none. */
    file(problem: string | null): void {
      if (problem === last) return;
      if (problem === null) log.info({ file }, "the task file is read again");
      else log.error({ file }, `the task file is not used for now: ${problem}`);
      last = problem;
    },
    /** All present problems of its lines. */
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

/** The same key for the same line with the same problem, wherever the line stands. */
const keyOfProblem = ({ bytes }: TaskLine, problem: string): string =>
  createHash("sha256").update(bytes).update(problem).digest("base64");
