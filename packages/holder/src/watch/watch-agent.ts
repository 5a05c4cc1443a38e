import { setImmediate as turnOfLoop } from "node:timers/promises";
import type { AgentFamily, ExitStatus, Eye, HolderReport, ProcessFacts, RunningProcess, Sight } from "@rouse/contract";
import {
  blankOwnWords,
  findCompletion,
  joinEyes,
  overtake,
  type Pattern,
  patternsFor,
  type ReadableScreen,
  readLines,
  readScreen,
  readStreamLine,
  replayedText,
  type Screen,
  showsWork,
  startJoining,
  startReading,
  startStream,
  startWatching,
  type WallClock,
} from "@rouse/core";
import type { ProgramWatch } from "../program/watch-program.ts";
import type { Spec } from "../protocol/spec.ts";
import type { Stream } from "../terminal/agent-process.ts";
import { createSlices } from "../terminal/draw-in-time.ts";
import type { KeptScreen } from "../terminal/keep-screen.ts";
import { createAlarm, readClock } from "./clock.ts";
import { confirmLimits, wouldTellLimits } from "./confirm-limits.ts";
import { joinSights, type Reports } from "./keep-reports.ts";
import { type LineSplitter, splitLines } from "./split-lines.ts";

/** What there is to know about an agent besides its output. */
export interface Surroundings {
  readonly screen: KeptScreen | null;
  readonly reports: Reports;
  /** Bytes of output in this life. */
  bytes(): number;
  kept(): boolean;
  attached(): number;
  facts(): ProcessFacts;
  readonly program: Pick<ProgramWatch, "family" | "eyes" | "input" | "entered" | "catchUp" | "rests">;
  /** Refreshes everything that takes a while to look at. */
  lookAnew(): Promise<void>;
  /** Processes that outlived the agent. */
  leftovers(): readonly RunningProcess[];
  tell(report: HolderReport): void;
  fault(what: string, error: unknown): void;
}

export interface AgentWatch {
  wrote(stream: Stream, bytes: Buffer): void;
  /** Patterns of the user, besides the shipped ones. */
  usePatterns(patterns: readonly Pattern[]): void;
  patterns(): readonly Pattern[];
  /** What another eye than the output has seen. */
  saw(eye: Eye, sights: readonly Sight[]): void;
  /** Another program runs than the command showed. */
  useFamily(family: AgentFamily): void;
  /** A text that we type: not the agent's own words, wherever its terminal shows them. */
  said(text: string): void;
  /** A nudge that we write as a message: where the agent's stream repeats it, it was read. */
  gave(nudge: { readonly id: string; readonly text: string }): void;
  /** Reports at once, because a terminal was attached or detached. */
  tellSoon(): void;
  /** Reports what is true now, not what was true at the last look. */
  lookAnew(): Promise<void>;
  /**
   * Whether the agent has shown work since a moment of the wall clock. Output that waits is read and reported first.
   */
  movedSince(at: number): Promise<boolean>;
  /** Takes a last look, lets the program's other eyes tell their last, and sends the last report. */
  end(exit: ExitStatus, lastWord: () => void): Promise<void>;
}

/** Sights that stay on a screen until something else happens. */
const standing: ReadonlySet<Sight["kind"]> = new Set(["asks", "retries", "rate-limited"]);
/** An input that waits for a person, with or without a line in it. */
const isRest = (sight: Sight): boolean => sight.kind === "asks" && (sight.what === "prompt" || sight.what === "draft");
const lookMs = 250;
/** A screen that has come to rest is looked at once more: only then is its last line a question. */
const restMs = 2500;
/** How long a program takes to redraw after it was answered; shorter than `tellMs`. */
const redrawMs = 50;
const tellMs = 100;
const tellOutputMs = 2000;
const signOfLifeMs = 10_000;
const factsMs = 5000;
const longestJson = 1024 * 1024;
const longestLine = 8 * 1024;
/** How many of our messages may still be repeated. */
const mostGiven = 20;

export function watchAgent(spec: Spec, around: Surroundings): AgentWatch {
  const byLines = spec.structured || around.screen === null;
  const readers = { out: readLinesOf(spec.structured), err: readLinesOf(false) };
  let family = spec.family;
  let patterns: readonly Pattern[] = patternsFor(family);
  let reading = startReading(family);
  let watching = startWatching(family);
  let joined = startJoining();
  const limits = confirmLimits();
  let stream = startStream();
  let ownWords = "";
  let given: readonly { readonly id: string; readonly text: string }[] = [];

  let sights: Sight[] = [];
  let rows = 0;
  let lastAt: number | null = null;
  /** When anything was last seen, by any eye. */
  let sawAt = Number.NEGATIVE_INFINITY;
  let fullScreen = false;
  let facts: { readonly at: number; readonly value: ProcessFacts } | null = null;
  let toldAt = Number.NEGATIVE_INFINITY;
  let ended = false;
  let lookingAnew = false;
  let look: Promise<void> | null = null;

  const looking = createAlarm(lookUnlessBusy);
  const resting = createAlarm(lookUnlessBusy);
  const telling = createAlarm(() => tell(null));
  const living = createAlarm(() => tell(null));
  living.ringIn(0);

  /** Complete lines, and the screen when it is to be read. */
  async function gather(): Promise<{ lines: readonly string[]; screen: ReadableScreen | null }> {
    const { screen } = around;
    const seen = await screen?.settle(() => ({
      lines: byLines ? [] : screen.newLines(),
      // A half-typed line can be recognised in known programs only.
      screen: family === "generic" ? screen.screen() : screen.typingScreen(),
    }));
    if (seen !== undefined) fullScreen = seen.screen.alternate;
    if (byLines) return { lines: [...readers.out.take(), ...readers.err.take()], screen: null };
    rows += seen?.lines.length ?? 0;
    if (seen === undefined) return { lines: [], screen: null };
    return { lines: foreign(seen.lines), screen: { ...seen.screen, rows: foreign(seen.screen.rows) } };
  }

  const foreign = (lines: readonly string[]): readonly string[] => blankOwnWords(lines, ownWords);

  /** A look that still waits for a slow screen is not joined by another: they would pile up. */
  function lookUnlessBusy(): void {
    if (look !== null) return looking.ringWithin(lookMs);
    look = lookNow().finally(() => {
      look = null;
    });
  }

  async function lookNow(): Promise<void> {
    try {
      const { lines, screen } = await gather();
      const clock = readClock();
      take("stream", readStream(lines, clock));
      const shown = [...readPlain(lines, screen, clock), ...readPicture(screen, clock)];
      // What the session file says was before the question or wait. Told after it, it would look like work that goes
      // on.
      if (shown.some(({ kind }) => standing.has(kind))) catchUp();
      if (shown.some(isRest)) around.program.rests();
      const wouldTell = wouldTellLimits(family, around.program.eyes());
      take("screen", limits.shown(shown, wouldTell, performance.now()));
      tellInTime();
    } catch (error) {
      around.fault("what the agent shows could not be read", error);
    }
  }

  /** Reads what came before a question without letting it count as an answer. */
  function catchUp(): void {
    const asking = watching;
    around.program.catchUp();
    watching = asking;
  }

  function take(eye: Eye, seen: readonly Sight[]): void {
    const step = joinEyes(joined, eye, seen);
    joined = step.state;
    sights = joinSights(sights, step.sights);
    if (step.sights.length > 0) sawAt = Date.now();
    if (eye === "screen") return;
    watching = overtake(watching, step.sights);
    const confirmed = limits.told(seen, performance.now());
    if (confirmed.length > 0) take("screen", confirmed);
  }

  function tellInTime(): void {
    if (ended || sights.length === 0) return;
    // Not put off by later sights: hooks may come more often than that.
    if (sights.some(({ kind }) => kind !== "output")) telling.ringWithin(tellMs);
    else telling.ringIn(Math.max(tellMs, toldAt + tellOutputMs - performance.now()));
  }

  function readStream(lines: readonly string[], clock: WallClock): Sight[] {
    if (!spec.structured) return [];
    return lines.filter(isJson).flatMap((line) => {
      const step = readStreamLine(spec.family, stream, line, clock);
      stream = step.state;
      for (const sight of step.sights) if (sight.kind === "session") around.program.entered(sight.id);
      return [...step.sights, ...findCompletion(step, patterns), ...findReceipt(line)];
    });
  }

  function findReceipt(line: string): Sight[] {
    const text = given.length === 0 ? null : replayedText(line);
    const read = given.find((nudge) => nudge.text === text);
    if (read === undefined) return [];
    given = given.filter((nudge) => nudge !== read);
    return [{ kind: "nudge-read", nudge: read.id }];
  }

  /** Text between the lines of a stream is not the agent's own: it cannot say there that it is done. */
  function readPlain(lines: readonly string[], screen: Screen | null, clock: WallClock): readonly Sight[] {
    const plain = spec.structured ? lines.filter((line) => !isJson(line)) : lines;
    const atWork = spec.structured || (screen !== null && showsWork(screen, family));
    const step = readLines(reading, plain, patterns, clock, atWork);
    reading = step.state;
    return step.sights;
  }

  function readPicture(screen: ReadableScreen | null, clock: WallClock): readonly Sight[] {
    if (screen === null) return [];
    const step = readScreen(watching, screen, patterns, clock);
    watching = step.state;
    return step.sights;
  }

  function tell(exit: ExitStatus | null): void {
    telling.stop();
    living.ringIn(signOfLifeMs);
    const report = around.reports.add({
      at: Date.now(),
      sights,
      output: { bytes: around.bytes(), rows, lastAt },
      process: sample(exit !== null),
      attached: around.attached(),
      fullScreen,
      outputKept: around.kept(),
      exit,
      family: around.program.family(),
      eyes: around.program.eyes(),
      input: around.program.input(),
      ...(around.leftovers().length === 0 ? {} : { leftovers: [...around.leftovers()] }),
    });
    sights = [];
    toldAt = performance.now();
    around.tell(report);
  }

  /** At the end no process is left to ask: the last reading stands. */
  function sample(over: boolean): ProcessFacts | null {
    const now = performance.now();
    if (over || (facts !== null && now - facts.at < factsMs)) return facts?.value ?? null;
    try {
      facts = { at: now, value: around.facts() };
      return facts.value;
    } catch (error) {
      // Unknown, not the last reading: repeating that would look like rest.
      around.fault("the agent's processes could not be read", error);
      return null;
    }
  }

  return {
    wrote(from, bytes) {
      lastAt = Date.now();
      around.screen?.feed(bytes);
      if (byLines) {
        rows += countLines(bytes);
        readers[from].feed(bytes);
      }
      looking.ringWithin(lookMs);
      resting.ringIn(restMs);
    },
    usePatterns(users) {
      patterns = [...users, ...patternsFor(family)];
    },
    patterns: () => patterns,
    saw(eye, seen) {
      if (ended) return;
      take(eye, seen);
      // What still stands on the screen is told with the work that goes on behind it.
      if (watching.overtaken) looking.ringWithin(redrawMs);
      tellInTime();
    },
    useFamily(found) {
      family = found;
      patterns = patternsFor(found);
      reading = startReading(found);
      watching = startWatching(found);
      telling.ringWithin(tellMs);
    },
    said(text) {
      ownWords = text;
    },
    gave(nudge) {
      given = [...given.slice(1 - mostGiven), nudge];
    },
    tellSoon() {
      if (!ended) telling.ringWithin(tellMs);
    },
    async movedSince(at) {
      await readAll(around.bytes);
      catchUp();
      await look;
      await lookNow();
      if (sawAt < at - tellOutputMs) return false;
      // The monitor, which decides anew, has to know what we know.
      if (sights.length > 0) tell(null);
      return true;
    },
    async lookAnew() {
      // The look under way reports what is true now as well.
      if (lookingAnew) return;
      lookingAnew = true;
      await around.lookAnew().catch((error: unknown) => around.fault("the agent could not be looked at anew", error));
      lookingAnew = false;
      if (ended) return;
      facts = null;
      tell(null);
    },
    async end(exit, lastWord) {
      for (const alarm of [looking, resting, telling]) alarm.stop();
      for (const reader of Object.values(readers)) reader.finish();
      await look;
      await lookNow();
      // The stream comes first, as it does while the agent runs.
      lastWord();
      ended = true;
      tell(exit);
      living.stop();
    },
  };
}

/** Every line of a stream counts. Plain lines are skipped when an agent writes more than anybody could read. */
function readLinesOf(structured: boolean): LineSplitter {
  const splitter = splitLines(structured ? longestJson : longestLine);
  if (structured) return splitter;
  const slices = createSlices(splitter.feed, splitter.finish);
  return {
    feed: slices.feed,
    take() {
      slices.next();
      return splitter.take();
    },
    finish() {
      slices.next();
      splitter.finish();
    },
  };
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (const byte of bytes) if (byte === 10) count++;
  return count;
}

const isJson = (line: string): boolean => line.startsWith("{");

/**
 * Output that came while this process was suspended is read over several turns of the event loop, in any order. An
 * agent that never stops writing is at work.
 */
async function readAll(bytes: () => number): Promise<void> {
  for (let before = -1, turns = 0; before !== bytes() && turns < 20; turns++) {
    before = bytes();
    for (let n = 0; n < 3; n++) await turnOfLoop();
  }
}
