import { measureMemory, measureSpeed } from "./detection/cost.ts";
import { alarmsOf, defaultPolicy, isAlarm, type Judged, judgeRuns } from "./detection/judge-traces.ts";
import { areTracesThere, type LabelledRun, readLabels, readTraces, tracesFolder } from "./detection/read-traces.ts";
import { type Share, scoreAlarms, shareOf } from "./detection/score.ts";
import { agreementTable, disagreementsTable, sourcesTable } from "./detection/tables.ts";
import { type Line, line } from "./report.ts";
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
