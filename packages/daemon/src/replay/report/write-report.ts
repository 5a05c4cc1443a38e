import { createHash } from "node:crypto";
import type { Accuracy, Mistake, Share } from "../measure-labels.ts";
import type { JudgedRun } from "../replay-recordings.ts";
import { type Verdict, verdicts } from "../replay-run.ts";
import { type SourceSummary, summariseRuns } from "../summarise-runs.ts";
import { drawRun } from "./draw-run.ts";
import { html, type Markup } from "./escape-html.ts";
import { reportStyle } from "./report-style.ts";

export interface ReportContents {
  readonly runs: readonly JudgedRun[];
  readonly policy: string;
  readonly accuracy: Accuracy | null;
  /** What was noted while reading, in sentences. */
  readonly problems: readonly string[];
}

/** Runs are drawn up to this many characters, the worst first; of the others there is a line. Ten megabytes are as much as anybody opens. */
const mostDrawn = 8_000_000;
const mostListed = 8000;
/** More than this unfolded at once is a page nobody scrolls through. */
const mostUnfolded = 50;

/** One file that needs nothing else: no scripts, nothing from elsewhere, and a policy that forbids both. */
export function writeReport({ runs, policy, accuracy, problems }: ReportContents): string {
  const judged = runs.flatMap(({ judged: [first] }) => (first === undefined ? [] : [first]));
  const summary = summariseRuns(judged);
  const sorted = worstFirst(runs);
  const ill = sorted.filter((run) => run.judged[0]?.verdict !== "healthy");
  const drawn = drawWorst(ill);
  const hash = createHash("sha256").update(reportStyle).digest("base64");
  const style: Markup = { markup: reportStyle };
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>Rouse replay: ${summary.runs} runs</title><style>${style}</style></head><body>
<h1>Replay of ${count(summary.runs, "run")}</h1>
<p class="dim">${count(summary.events, "event")}, judged by <bdi>${policy}</bdi></p>
<div class="tiles">${verdicts.toReversed().map((verdict) => drawTile(verdict, summary.verdicts[verdict]))}</div>
${drawSources(summary.sources)}${accuracy === null ? null : drawAccuracy(accuracy)}${problems.length === 0 ? null : drawProblems(problems)}
<h2>Runs to look at</h2>
${ill.length === 0 ? html`<p>None: every run is healthy.</p>` : drawKey()}
${drawn}
${drawRest(sorted.slice(drawn.length))}</body></html>
`.markup;
}

function drawWorst(ill: readonly JudgedRun[]): readonly Markup[] {
  const drawn: Markup[] = [];
  let room = mostDrawn;
  for (const {
    judged: [run],
    sketch,
  } of ill) {
    if (run === undefined) continue;
    const one = drawRun(run, sketch, drawn.length < mostUnfolded && run.verdict !== "suspect");
    room -= one.markup.length;
    if (room < 0) break;
    drawn.push(one);
  }
  return drawn;
}

const worstFirst = (runs: readonly JudgedRun[]): readonly JudgedRun[] => {
  const gravity = ({ judged: [run] }: JudgedRun) => (run === undefined ? -1 : verdicts.indexOf(run.verdict));
  return runs.toSorted((a, b) => gravity(b) - gravity(a));
};

const count = (n: number, what: string): string => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

const drawTile = (verdict: Verdict, runs: number): Markup =>
  html`<div class="tile"><b class="${verdict}">${runs.toLocaleString("en")}</b>${verdict}</div>`;

function drawSources(sources: readonly SourceSummary[]): Markup {
  const row = ({
    source,
    runs,
    events,
    verdicts: counts,
  }: SourceSummary) => html`<tr><td class="name"><bdi>${source ?? "no source"}</bdi></td><td class="n">${runs}</td><td class="n">${events}</td>${verdicts.toReversed().map((one) => html`<td class="n">${counts[one]}</td>`)}</tr>
`;
  return html`<div class="wide"><table><tr><th>source</th><th class="n">runs</th><th class="n">events</th>${verdicts.toReversed().map((one) => html`<th class="n">${one}</th>`)}</tr>
${sources.map(row)}</table></div>
`;
}

function drawAccuracy({ labelled, precision, recall, recallByKind, missed, falseAlarms }: Accuracy): Markup {
  const row = (
    name: string,
    { count: part, of, share }: Share,
  ) => html`<tr><td><bdi>${name}</bdi></td><td class="n">${share === null ? "–" : share.toFixed(2)}</td><td class="n">${part} of ${of}</td></tr>
`;
  return html`<h2>Against ${count(labelled, "label")}</h2>
<div class="wide"><table class="narrow">
${row("precision, transients counted as right", precision.transientsRight)}${row("precision, transients counted as wrong", precision.transientsWrong)}${row("recall of the stuck runs", recall)}${Object.entries(recallByKind).map(([kind, share]) => row(`recall of ${kind}`, share))}</table></div>
${drawMistakes("Missed", missed)}${drawMistakes("False alarms", falseAlarms)}`;
}

function drawMistakes(title: string, mistakes: readonly Mistake[]): Markup | null {
  if (mistakes.length === 0) return null;
  const row = ({
    trace,
    verdict,
    label,
    kind,
    why,
  }: Mistake) => html`<tr><td><bdi class="mono">${trace}</bdi></td><td class="${verdict}">${verdict}</td><td><bdi>${label}, ${kind}${why === null ? "" : `: ${why}`}</bdi></td></tr>
`;
  return html`<details><summary>${title}: ${mistakes.length}</summary><div class="wide"><table><tr><th>run</th><th>verdict</th><th>label</th></tr>
${mistakes.map(row)}</table></div></details>
`;
}

const drawProblems = (problems: readonly string[]): Markup => html`<h2>About the recordings</h2>
${problems.map(
  (problem) => html`<p class="mono"><bdi>${problem}</bdi></p>
`,
)}`;

const drawKey = (): Markup => html`<p class="dim">Every event is a mark, in order:
<span class="line key"><i class="cell call"></i></span> call, <span class="line key"><i class="cell result"></i></span> result,
<span class="line key"><i class="cell said"></i></span> message of the agent, <span class="line key"><i class="cell heard"></i></span> message to it;
<span class="line key"><i class="cell result bad"></i></span> failed, <span class="line key"><i class="cell call why"></i></span> evidence.
Marks with the same letter are the same call, result or message.</p>
`;

function drawRest(runs: readonly JudgedRun[]): Markup {
  if (runs.length === 0) return html``;
  const row = ({ judged: [run] }: JudgedRun) =>
    run === undefined
      ? html``
      : html`<tr><td><bdi class="mono">${run.trace}</bdi></td><td class="${run.verdict}">${run.verdict}</td><td class="n">${run.events}</td></tr>
`;
  const left = runs.length - mostListed;
  return html`<h2>The others</h2><details><summary>${count(runs.length, "run")}</summary><div class="wide"><table><tr><th>run</th><th>verdict</th><th class="n">events</th></tr>
${runs.slice(0, mostListed).map(row)}</table></div>${left > 0 ? html`<p class="dim">and ${count(left, "more run")}</p>` : null}</details>
`;
}
