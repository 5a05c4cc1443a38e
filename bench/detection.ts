import { type Policy, policyFrom, settingsOf } from "@rouse/contract";
import { replayRun, type Verdict } from "../packages/daemon/src/replay/replay-run.ts";
import { followRun, measureMemory, measureSpeed } from "./detection/cost.ts";
import {
  areTracesThere,
  type LabelledRun,
  readLabels,
  readTraces,
  type SourceRun,
  tracesFolder,
} from "./detection/read-traces.ts";
import { geminiRule, openHandsRule } from "./detection/reference-rules.ts";
import { type Score, type Share, scoreAlarms, shareOf, showShare } from "./detection/score.ts";
import { alignRows, type Line, line } from "./report.ts";
import type { BenchOptions } from "./throughput.ts";

/** How well the detectors agree with people on recorded runs, beside two published rules, and what they cost. */
export async function benchDetection({ say, show }: BenchOptions): Promise<Line[]> {
  if (!areTracesThere()) throw new Error(`There are no recorded runs in ${tracesFolder}: nothing was measured.`);
  const runs = readTraces();
  const labels = readLabels();
  say(`judging ${runs.length} runs`);
  const judged = judgeRuns(runs);
  show(agreementTable(judged, labels));
  show(sourcesTable(judged));
  show(disagreementsTable(judged, labels));
  say("measuring what it costs");
  return [...agreementLines(judged, labels), ...costLines(runs)];
}

function agreementLines(judged: readonly Judged[], labels: readonly LabelledRun[]): Line[] {
  const score = scoreAlarms(labels, alarmsOf("ours", judged));
  const share = (measured: string, of: Share, atLeast: number): Line =>
    line(measured, "", shareOf(of) ?? 0, { aim: { of: "ours", atLeast } });
  const supervised = judged.filter(({ source }) => source === "claude_entire");
  return [
    share("precision, transients right", score.precisionTransientsRight, 0.95),
    share("precision, transients wrong", score.precisionTransientsWrong, 0.9),
    share("recall of the mechanically repetitive", score.recallMechanical, 0.85),
    line("stuck among supervised runs (claude_entire)", "runs", supervised.filter(isAlarm).length, {
      aim: { of: "ours", atMost: 0 },
    }),
  ];
}

const lengths = [1_000, 10_000, 100_000, 1_000_000];

function costLines(runs: ReturnType<typeof readTraces>): Line[] {
  const speed = measureSpeed(runs, defaultPolicy.loops);
  const sizes = measureMemory(lengths, defaultPolicy.loops);
  return [
    line("through all detectors, one core", "events/s", speed, { aim: { of: "ours", atLeast: 200_000 } }),
    ...[...sizes].map(([length, bytes]) =>
      line(`kept of a run of ${length.toLocaleString("en")} events`, "bytes", bytes, {
        aim: { of: "ours", atMost: 32_768 },
      }),
    ),
  ];
}

/** One run as everybody judges it. */
interface Judged {
  readonly trace: string;
  readonly source: string;
  readonly verdict: Verdict;
  /** Its last event still belonged to a suspected loop: it ended, or was ended, before it could become a verdict. */
  readonly endedLooping: boolean;
  readonly openHands: boolean;
  readonly gemini: boolean;
}

const judges = ["ours", "ours, or ended looping", "OpenHands rule", "Gemini CLI rule"] as const;
type Judge = (typeof judges)[number];

const defaultPolicy: Policy = policyFrom("default", settingsOf("default"));

/** Thresholds were developed on these; what they say about the others was only looked at. */
const developmentSources: ReadonlySet<string> = new Set(["sweagent_multiswe", "claude_entire"]);
const isDevelopment = ({ source }: { source: string }): boolean => developmentSources.has(source);

const judgeRuns = (runs: readonly SourceRun[]): readonly Judged[] =>
  runs.map((run) => {
    const { verdict } = replayRun(run, defaultPolicy);
    return {
      trace: run.trace,
      source: run.source,
      verdict,
      endedLooping: followRun(run.events, defaultPolicy.loops).atEnd.length > 0,
      openHands: openHandsRule.firstAlarm(run.events) !== null,
      gemini: geminiRule.firstAlarm(run.events) !== null,
    };
  });

const isAlarm = ({ verdict }: Judged): boolean => verdict === "stuck" || verdict === "failing";

/** The runs that a judge calls stuck. */
function alarmsOf(judge: Judge, judged: readonly Judged[]): ReadonlySet<string> {
  const calls: Readonly<Record<Judge, (one: Judged) => boolean>> = {
    ours: isAlarm,
    "ours, or ended looping": (one) => isAlarm(one) || one.endedLooping,
    "OpenHands rule": ({ openHands }) => openHands,
    "Gemini CLI rule": ({ gemini }) => gemini,
  };
  return new Set(judged.filter(calls[judge]).map(({ trace }) => trace));
}

const measures: readonly (readonly [string, keyof Score])[] = [
  ["precision, transients right", "precisionTransientsRight"],
  ["precision, transients wrong", "precisionTransientsWrong"],
  ["recall of all stuck runs", "recall"],
  ["recall of the mechanically repetitive", "recallMechanical"],
];

/** Every judge on all labelled runs, on those the thresholds were developed on, and on the others. */
function agreementTable(judged: readonly Judged[], labels: readonly LabelledRun[]): string {
  const sourceOf = new Map(judged.map((one) => [one.trace, one.source]));
  const isOfDevelopment = ({ trace }: LabelledRun) => isDevelopment({ source: sourceOf.get(trace) ?? "" });
  const splits: readonly (readonly [string, readonly LabelledRun[]])[] = [
    ["all", labels],
    ["developed on", labels.filter(isOfDevelopment)],
    ["others", labels.filter((label) => !isOfDevelopment(label))],
  ];
  const rows = [["agreement with the labels", "runs", ...judges]];
  for (const [measure, field] of measures) {
    for (const [split, of] of splits) {
      const shares = judges.map((judge) => showShare(scoreAlarms(of, alarmsOf(judge, judged))[field]));
      rows.push([measure, `${split} (${of.length})`, ...shares]);
    }
  }
  return print(rows);
}

/** How every source was judged, labelled or not. */
function sourcesTable(judged: readonly Judged[]): string {
  const sources = [...new Set(judged.map(({ source }) => source))].toSorted();
  const rows = [["source", "runs", "stuck", "suspect", "OpenHands rule", "Gemini CLI rule"]];
  for (const source of sources) {
    const runs = judged.filter((one) => one.source === source);
    const count = (of: (one: Judged) => boolean) => String(runs.filter(of).length);
    rows.push([
      isDevelopment({ source }) ? `${source} (developed on)` : source,
      String(runs.length),
      count(isAlarm),
      count(({ verdict }) => verdict === "suspect"),
      count(({ openHands }) => openHands),
      count(({ gemini }) => gemini),
    ]);
  }
  return print(rows);
}

/** Where we disagree with the labels: each a question to look at. */
function disagreementsTable(judged: readonly Judged[], labels: readonly LabelledRun[]): string {
  const byTrace = new Map(judged.map((one) => [one.trace, one]));
  const rows = [["disagreement", "label", "kind", "verdict"]];
  for (const { trace, label, kind } of labels) {
    const one = byTrace.get(trace);
    if (one === undefined || isAlarm(one) === (label === "stuck")) continue;
    rows.push([trace, label, kind, one.verdict]);
  }
  return print(rows);
}

const print = (rows: readonly (readonly string[])[]): string => `${alignRows(rows).join("\n")}\n`;
