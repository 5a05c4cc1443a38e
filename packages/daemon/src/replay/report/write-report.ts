import { createHash } from "node:crypto";
import type { Accuracy, Mistake, Share } from "../measure-labels.ts";
import type { JudgedRun } from "../replay-recordings.ts";
import { type Replayed, type Verdict, verdicts } from "../replay-run.ts";
import { type SourceSummary, summariseRuns } from "../summarise-runs.ts";
import { drawRun, html, type Markup } from "./draw-run.ts";
import type { RunSketch } from "./sketch-run.ts";

interface ReportContents {
  readonly runs: readonly JudgedRun[];
  readonly policy: string;
  readonly accuracy: Accuracy | null;
  /** What was noted while reading, a sentence each. */
  readonly problems: readonly string[];
}

/** The worst runs are drawn up to so many characters, to stay below 10 MB; the others get a line each. */
const mostDrawn = 8_000_000;
const mostListed = 8000;
/** So many runs are unfolded; nobody scrolls through more. */
const mostUnfolded = 50;

/** One file that needs nothing else: no scripts, nothing from elsewhere, and a CSP that forbids both. */
export function writeReport({ runs, policy, accuracy, problems }: ReportContents): string {
  const judged = runs.flatMap(({ judged: [run], sketch }) => (run === undefined ? [] : [{ run, sketch }]));
  const summary = summariseRuns(judged.map(({ run }) => run));
  const sorted = judged.toSorted((a, b) => verdicts.indexOf(b.run.verdict) - verdicts.indexOf(a.run.verdict));
  const ill = sorted.filter(({ run }) => run.verdict !== "healthy");
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

interface DrawnRun {
  readonly run: Replayed;
  readonly sketch: RunSketch | null;
}

function drawWorst(ill: readonly DrawnRun[]): readonly Markup[] {
  const drawn: Markup[] = [];
  let room = mostDrawn;
  for (const { run, sketch } of ill) {
    const one = drawRun(run, sketch, drawn.length < mostUnfolded && run.verdict !== "suspect");
    room -= one.markup.length;
    if (room < 0) break;
    drawn.push(one);
  }
  return drawn;
}

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

function drawRest(runs: readonly DrawnRun[]): Markup {
  if (runs.length === 0) return html``;
  const row = ({ run }: DrawnRun) =>
    html`<tr><td><bdi class="mono">${run.trace}</bdi></td><td class="${run.verdict}">${run.verdict}</td><td class="n">${run.events}</td></tr>
`;
  const left = runs.length - mostListed;
  return html`<h2>The others</h2><details><summary>${count(runs.length, "run")}</summary><div class="wide"><table><tr><th>run</th><th>verdict</th><th class="n">events</th></tr>
${runs.slice(0, mostListed).map(row)}</table></div>${left > 0 ? html`<p class="dim">and ${count(left, "more run")}</p>` : null}</details>
`;
}

/** No meaning rests on a colour alone, and every colour is readable on light and dark ground. */
const reportStyle = `
:root { color-scheme: light dark; --ground: #fff; --card: #f6f7f9; --text: #1b1f24; --dim: #5b6470; --line: #d5dae1;
  --stuck: #b3261e; --failing: #8e24aa; --suspect: #9a6200; --healthy: #1e7b3c; --call: #c3cad4; --result: #dfe4ea; --said: #b7d3f2; --heard: #e7ddf5; }
@media (prefers-color-scheme: dark) { :root { --ground: #14171b; --card: #1c2127; --text: #e4e8ed; --dim: #9aa5b1; --line: #343c46;
  --stuck: #ff8a80; --failing: #e09bf0; --suspect: #f0b95b; --healthy: #77d48f; --call: #4a5462; --result: #303842; --said: #2c4a6b; --heard: #47395c; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem 4rem; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p { margin: .3rem 0; } .dim { color: var(--dim); } .wide { overflow-x: auto; }
bdi, code, td { overflow-wrap: anywhere; }
code, .mono { font: .86em/1.45 ui-monospace, Menlo, Consolas, monospace; }
.tiles { display: flex; flex-wrap: wrap; gap: .7rem; margin: 1.1rem 0; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .55rem 1rem; min-width: 7rem; }
.tile b { display: block; font-size: 1.5rem; line-height: 1.25; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
table.narrow { width: auto; min-width: 30rem; max-width: 100%; } td.kind { white-space: nowrap; } td.what { width: 100%; min-width: 12rem; } td.name { min-width: 9rem; }
th { text-align: left; font-weight: 600; color: var(--dim); } th, td { padding: .22rem .9rem .22rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.stuck { color: var(--stuck); } .failing { color: var(--failing); } .suspect { color: var(--suspect); } .healthy { color: var(--healthy); }
.run { background: var(--card); border: 1px solid var(--line); border-left: .3rem solid currentColor; border-radius: .4rem; margin: .6rem 0; padding: .55rem .9rem; }
.run > * { color: var(--text); } .run summary { cursor: pointer; }
.run summary b { text-transform: uppercase; font-size: .78rem; letter-spacing: .05em; margin-right: .5rem; }
.run summary .dim { font-size: .9rem; }
.line { display: flex; flex-wrap: wrap; gap: 2px; margin: .7rem 0; padding: 0; list-style: none; }
.line li, .cell { width: 15px; height: 21px; border-radius: 3px; font: 600 10px/19px ui-monospace, Menlo, Consolas, monospace; text-align: center;
  border: 1px solid transparent; color: #14171b; }
.line .call { background: var(--call); } .line .result { background: var(--result); height: 17px; line-height: 13px; margin-top: 4px; }
.line .said { background: var(--said); border-radius: 8px; } .line .heard { background: var(--heard); border-radius: 8px; }
.line .error { background: var(--result); height: 17px; line-height: 13px; margin-top: 4px; }
.line .bad { border-bottom: 3px solid var(--stuck); border-bottom-left-radius: 0; border-bottom-right-radius: 0; }
.line .why { outline: 2px solid var(--text); }
.line .turn { width: auto; padding: 0 .45em; background: none; border: 1px solid currentColor; font-family: system-ui, sans-serif; }
.line .turn.stuck { color: var(--stuck); } .line .turn.failing { color: var(--failing); } .line .turn.suspect { color: var(--suspect); } .line .turn.healthy { color: var(--healthy); }
.line .a0 { background: #f4a7a1; } .line .a1 { background: #9fc5f8; } .line .a2 { background: #a8dba8; } .line .a3 { background: #f6d27a; }
.line .a4 { background: #cdb4f0; } .line .a5 { background: #8fd9d2; } .line .a6 { background: #f3b4d8; } .line .a7 { background: #d4c3a5; }
.key { display: inline-flex; margin: 0 .1rem; vertical-align: middle; } .line .cell { display: inline-block; margin-top: 0; }
`;
