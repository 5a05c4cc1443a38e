import type { ExitStatus, HolderReport, ProcessFacts, Sight } from "@rouse/contract";
import {
  type Pattern,
  patternsFor,
  readLines,
  readScreen,
  readStreamLine,
  type Screen,
  startReading,
  startStream,
  startWatching,
  type WallClock,
} from "@rouse/core";
import type { Stream } from "./agent-process.ts";
import { joinSights, type Reports } from "./keep-reports.ts";
import type { KeptScreen } from "./keep-screen.ts";
import type { Spec } from "./spec.ts";
import { splitLines } from "./split-lines.ts";

/** What there is to know about an agent besides what it writes. */
export interface Surroundings {
  readonly screen: KeptScreen | null;
  readonly reports: Reports;
  /** Written by this life. */
  bytes(): number;
  kept(): boolean;
  attached(): number;
  facts(): ProcessFacts;
  tell(report: HolderReport): void;
  trouble(what: string, error: unknown): void;
}

export interface AgentWatch {
  wrote(stream: Stream, bytes: Buffer): void;
  /** Those of the user, besides the shipped ones. */
  usePatterns(patterns: readonly Pattern[]): void;
  /** Reports at once: somebody came or left. */
  nudge(): void;
  /** A last look and the last report. */
  end(exit: ExitStatus): Promise<void>;
}

const lookMs = 250;
/** A screen that has come to rest is looked at once more: only then is what stands at its bottom a question. */
const restMs = 2500;
const tellMs = 100;
const tellOutputMs = 2000;
const signOfLifeMs = 10_000;
const factsMs = 5000;
const longestJson = 1024 * 1024;
const longestLine = 8 * 1024;

export function watchAgent(spec: Spec, around: Surroundings): AgentWatch {
  const byLines = spec.structured || around.screen === null;
  const splitters = { out: splitLines(spec.structured ? longestJson : longestLine), err: splitLines(longestLine) };
  let patterns: readonly Pattern[] = patternsFor(spec.family);
  let reading = startReading();
  let watching = startWatching();
  let stream = startStream();

  let sights: Sight[] = [];
  let rows = 0;
  let lastAt: number | null = null;
  let fullScreen = false;
  let facts: { readonly at: number; readonly value: ProcessFacts } | null = null;
  let toldAt = Number.NEGATIVE_INFINITY;
  let ended = false;

  const looking = createAlarm(() => void look());
  const resting = createAlarm(() => void look());
  const telling = createAlarm(() => tell(null));
  const living = createAlarm(() => tell(null));
  living.ringIn(0);

  /** Complete lines, and the screen when it is to be read. */
  async function gather(): Promise<{ lines: readonly string[]; screen: Screen | null }> {
    const { screen } = around;
    const seen = await screen?.settle(() => ({ lines: byLines ? [] : screen.newLines(), screen: screen.screen() }));
    if (seen !== undefined) fullScreen = seen.screen.alternate;
    if (!byLines) {
      rows += seen?.lines.length ?? 0;
      return { lines: seen?.lines ?? [], screen: seen?.screen ?? null };
    }
    const taken = [splitters.out.take(), splitters.err.take()];
    for (const { count } of taken) rows += count;
    return { lines: taken.flatMap(({ lines }) => lines), screen: null };
  }

  async function look(): Promise<void> {
    try {
      const { lines, screen } = await gather();
      const clock = readClock();
      const news = [...readStream(lines, clock), ...readPlain(lines, clock), ...readPicture(screen, clock)];
      sights = joinSights(sights, news);
      if (ended || sights.length === 0) return;
      const now = performance.now();
      const pressing = sights.some(({ kind }) => kind !== "output");
      telling.ringIn(pressing ? tellMs : Math.max(tellMs, toldAt + tellOutputMs - now));
    } catch (error) {
      around.trouble("what the agent shows could not be read", error);
    }
  }

  function readStream(lines: readonly string[], clock: WallClock): Sight[] {
    if (!spec.structured) return [];
    return lines.filter(isJson).flatMap((line) => {
      const step = readStreamLine(spec.family, stream, line, clock);
      stream = step.state;
      return step.sights;
    });
  }

  function readPlain(lines: readonly string[], clock: WallClock): readonly Sight[] {
    const plain = spec.structured ? lines.filter((line) => !isJson(line)) : lines;
    if (plain.length === 0) return [];
    const step = readLines(reading, plain, patterns, clock);
    reading = step.state;
    return step.sights;
  }

  function readPicture(screen: Screen | null, clock: WallClock): readonly Sight[] {
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
    });
    sights = [];
    toldAt = performance.now();
    around.tell(report);
  }

  /** At the end there is nobody left to ask: what was known last is what was used. */
  function sample(over: boolean): ProcessFacts | null {
    const now = performance.now();
    if (over || (facts !== null && now - facts.at < factsMs)) return facts?.value ?? null;
    try {
      facts = { at: now, value: around.facts() };
    } catch (error) {
      around.trouble("the agent's processes could not be read", error);
    }
    return facts?.value ?? null;
  }

  return {
    wrote(from, bytes) {
      lastAt = Date.now();
      around.screen?.feed(bytes);
      if (byLines) splitters[from].feed(bytes);
      looking.ringWithin(lookMs);
      resting.ringIn(restMs);
    },
    usePatterns(users) {
      patterns = [...users, ...patternsFor(spec.family)];
    },
    nudge() {
      if (!ended) telling.ringWithin(tellMs);
    },
    async end(exit) {
      ended = true;
      for (const alarm of [looking, resting, telling]) alarm.stop();
      if (byLines) for (const splitter of Object.values(splitters)) splitter.finish();
      await look();
      tell(exit);
      living.stop();
    },
  };
}

const isJson = (line: string): boolean => line.startsWith("{");

const readClock = (): WallClock => ({ now: Date.now(), utcOffset: -new Date().getTimezoneOffset() });

interface Alarm {
  /** At that time, whatever was asked before. */
  ringIn(ms: number): void;
  /** At that time or earlier, if it is to ring anyway. */
  ringWithin(ms: number): void;
  stop(): void;
}

function createAlarm(ring: () => void): Alarm {
  let timer: NodeJS.Timeout | null = null;
  let at = 0;
  const set = (ms: number): void => {
    if (timer !== null) clearTimeout(timer);
    at = performance.now() + ms;
    timer = setTimeout(() => {
      timer = null;
      ring();
    }, ms);
  };
  return {
    ringIn: set,
    ringWithin(ms) {
      if (timer === null || performance.now() + ms < at) set(ms);
    },
    stop() {
      if (timer !== null) clearTimeout(timer);
      timer = null;
    },
  };
}
