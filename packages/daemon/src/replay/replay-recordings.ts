import type { Policy, StepEvent } from "@rouse/contract";
import { describeReadError } from "../config/config-problem.ts";
import type { Recording } from "./find-recordings.ts";
import type { Problems } from "./note-problems.ts";
import { longestLine, readLines, type TextLine } from "./read-lines.ts";
import { type Flaw, readRecordedEvent } from "./read-recorded-event.ts";
import { type Replay, type Replayed, startReplay } from "./replay-run.ts";
import { type RunSketch, startSketch } from "./report/sketch-run.ts";

interface ReplayOptions {
  readonly recordings: readonly Recording[];
  /** Every run is judged by each of them, chosen by the run's name. */
  readonly policies: readonly ((trace: string) => Policy)[];
  readonly problems: Problems;
  /** Whether the recordings hold whole runs, so that their end means something. */
  readonly ended?: boolean;
  /** Whether to keep what is needed to draw the runs. */
  readonly sketches: boolean;
  /** Called after every line. */
  tell?(progress: Progress): void;
}

export interface Progress {
  readonly bytes: number;
  readonly events: number;
  readonly runs: number;
}

/** One run as each policy judged it, in the order of the policies. */
export interface JudgedRun {
  readonly trace: string;
  readonly judged: readonly Replayed[];
  /** Of the first policy. */
  readonly sketch: RunSketch | null;
}

interface OpenRun {
  readonly replays: readonly Replay[];
  readonly sketch: ReturnType<typeof startSketch> | null;
  readonly file: string;
  readonly line: number;
  lastAt: number | null;
  calls: number;
  results: number;
}

/** Seconds by which agents' clocks may differ unnoticed. */
const skew = 2;
/** Seconds. A longer pause comes from a time in milliseconds or a broken clock. */
const longestPause = 366 * 86_400;

/** Reads recordings line by line and judges their runs, which may be mixed and spread over files. No text is kept. */
export async function replayRecordings(options: ReplayOptions): Promise<readonly JudgedRun[]> {
  const { recordings, policies, problems, sketches } = options;
  const runs = new Map<string, OpenRun>();
  const progress = { bytes: 0, events: 0, runs: 0 };

  for (const { name, open } of recordings) {
    let lines = 0;
    try {
      for await (const line of readLines(open())) {
        if (takeLine(line, name)) lines += 1;
        progress.bytes += line.bytes + 1;
        options.tell?.(progress);
      }
      if (lines === 0)
        problems.note({ kind: "empty-file", file: name, line: null, message: "is empty: there is nothing to replay" });
    } catch (error) {
      problems.note({ kind: "unreadable", file: name, line: null, message: describeReadError(error) });
    }
  }
  return [...runs].map(([trace, run]) => finish(trace, run, problems));

  /** Returns whether the line is not blank. */
  function takeLine({ number, text, bytes }: TextLine, file: string): boolean {
    if (text === null) {
      const message = `is ${bytes.toLocaleString("en")} bytes long, more than the ${longestLine.toLocaleString("en")} of a line; left out`;
      problems.note({ kind: "too-long", file, line: number, message });
      return true;
    }
    if (text.trim() === "") return false;
    const reading = readRecordedEvent(text);
    for (const flaw of reading.flaws) problems.note({ ...flaw, file, line: number });
    if (reading.event === null) return true;
    const run = runs.get(reading.trace) ?? begin(reading.trace, file, number);
    const doubt = doubtTime(run.lastAt, reading.event.at);
    if (doubt !== null) problems.note({ ...doubt, file, line: number });
    takeEvent(run, doubt?.kind === "time-leap" ? { ...reading.event, at: null } : reading.event);
    return true;
  }

  function begin(trace: string, file: string, line: number): OpenRun {
    const run: OpenRun = {
      replays: policies.map((policyOf) => startReplay(trace, policyOf(trace), options.ended ?? false)),
      sketch: sketches ? startSketch() : null,
      file,
      line,
      lastAt: null,
      calls: 0,
      results: 0,
    };
    runs.set(trace, run);
    progress.runs += 1;
    return run;
  }

  function takeEvent(run: OpenRun, event: StepEvent): void {
    progress.events += 1;
    run.lastAt = event.at ?? run.lastAt;
    if (event.kind === "tool_call") run.calls += 1;
    if (event.kind === "tool_result" || event.kind === "error") run.results += 1;
    run.sketch?.take(event);
    const [worse = null] = run.replays.map((replay) => replay.take(event));
    if (worse !== null) run.sketch?.mark(worse);
  }
}

function doubtTime(before: number | null, at: number | null | undefined): Flaw | null {
  if (before === null || typeof at !== "number") return null;
  if (at < before - skew)
    return {
      kind: "time-backwards",
      message: `at: ${at} comes after ${before}, time runs backwards; it stands still instead`,
    };
  if (at > before + longestPause)
    return { kind: "time-leap", message: `at: ${at} is more than a year after ${before}; taken as not recorded` };
  return null;
}

function finish(trace: string, run: OpenRun, problems: Problems): JudgedRun {
  if (run.calls > 0 && run.results === 0) {
    const message = `the run ${trace} has ${run.calls === 1 ? "a call" : `${run.calls} calls`} but no results: little can be said about it`;
    problems.note({ kind: "no-results", file: run.file, line: run.line, message });
  }
  const judged = run.replays.map((replay) => replay.finish());
  return { trace, judged, sketch: run.sketch?.finish() ?? null };
}
