import { describeDuration, printable, type RouseEvent } from "@rouse/contract";
import type { Moment, Replayed } from "../replay-run.ts";
import { type Excerpt, eventsOf, type Mark, type RunSketch } from "./sketch-run.ts";

/** One run with its timeline and everything the verdict rests on. */
export function drawRun(run: Replayed, sketch: RunSketch | null, open: boolean): Markup {
  const { verdict, index, because, trace, events, after } = run;
  const time = after === null ? "" : `, after ${describeDuration(after)}`;
  const place = index === null ? "" : `event ${index} of ${events}${time}`;
  const opened = open ? html` open` : null;
  return html`<details class="run ${verdict}"${opened}><summary><b class="${verdict}">${verdict}</b> <bdi class="mono">${trace}</bdi> <span class="dim">${place}</span></summary>
${because.map(({ kind, text, confidence }) => html`<p>${text} <span class="dim">(${kind}, ${Math.round(confidence * 100)} %)</span></p>`)}
${sketch === null ? null : drawSketch(run, sketch)}
${drawActions(run)}</details>
`;
}

function drawSketch(run: Replayed, sketch: RunSketch): Markup {
  const letters = nameRepeated(sketch.marks);
  return html`${drawTimeline(run, sketch, letters)}${sketch.evidence.length === 0 ? null : drawEvidence(sketch, letters)}`;
}

function drawTimeline({ because, moments, events }: Replayed, { from, marks }: RunSketch, letters: Letters): Markup {
  const evidence = eventsOf(because);
  const changesAt = new Set(moments.map(({ index }) => index));
  const cells = marks.map((mark, i) => {
    const index = from + i;
    const changes = changesAt.has(index) ? moments.filter((moment) => moment.index === index) : [];
    return html`${drawMark(mark, index, letters, evidence.has(index))}${changes.map(drawChange)}`;
  });
  const after = events - from - marks.length;
  return html`<ol class="line">${from > 0 ? skipped(from) : null}${cells}${after > 0 ? skipped(after) : null}</ol>
`;
}

const skipped = (count: number): Markup => html`<li class="turn dim">${count} more</li>`;

const drawChange = ({ verdict }: Moment): Markup => html`<li class="turn ${verdict}">${verdict}</li>`;

interface Letter {
  readonly letter: string;
  readonly colour: number;
}

type Letters = ReadonlyMap<number, Letter>;

/** A call, result or message that occurs at least so often gets a letter. */
const repeated = 3;
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const colours = 8;

/** The most frequent first. Calls are capital letters, everything else small ones. */
function nameRepeated(marks: readonly Mark[]): Letters {
  const times = new Map<number, { count: number; mark: Mark }>();
  for (const mark of marks) {
    if (mark.same === null) continue;
    const seen = times.get(mark.same);
    if (seen === undefined) times.set(mark.same, { count: 1, mark });
    else seen.count += 1;
  }
  const often = [...times].filter(([, { count }]) => count >= repeated).toSorted(([, a], [, b]) => b.count - a.count);
  const used = { capital: 0, small: 0 };
  return new Map(
    often.flatMap(([same, { mark }]): [number, Letter][] => {
      const size = mark.kind === "call" ? "capital" : "small";
      const letter = alphabet[used[size]++];
      if (letter === undefined) return [];
      const colour = (used[size] - 1 + (size === "small" ? colours / 2 : 0)) % colours;
      return [[same, { letter: size === "small" ? letter.toLowerCase() : letter, colour }]];
    }),
  );
}

const names: Readonly<Record<Mark["kind"], string>> = {
  call: "call",
  result: "result",
  said: "message of the agent",
  heard: "message to the agent",
  error: "error",
};

function drawMark({ kind, failed, same }: Mark, index: number, letters: Letters, why: boolean): Markup {
  const named = same === null ? undefined : letters.get(same);
  const paint = [kind, ...(named ? [`a${named.colour}`] : []), ...(failed ? ["bad"] : []), ...(why ? ["why"] : [])];
  const title = `${index}: ${names[kind]}${failed ? ", failed" : ""}${why ? ", evidence" : ""}`;
  return html`<li class="${paint.join(" ")}" title="${title}">${named?.letter ?? ""}</li>`;
}

function drawEvidence({ evidence }: RunSketch, letters: Letters): Markup {
  const clock = evidence.some(({ at }) => at !== null);
  const row = ({ index, kind, failed, same, at, tool, words }: Excerpt) => html`<tr><td class="n">${index}</td>${
    clock ? html`<td class="n">${at === null ? "" : `${at} s`}</td>` : null
  }<td class="kind">${names[kind]}${failed ? html` <b class="stuck">failed</b>` : null}</td><td>${
    letters.get(same ?? Number.NaN)?.letter ?? ""
  }</td><td class="what"><code><bdi>${[tool, words].filter(Boolean).join(" ") || "–"}</bdi></code></td></tr>
`;
  const times = clock ? html`<th class="n">at</th>` : null;
  return html`<div class="wide"><table><tr><th class="n">event</th>${times}<th>kind</th><th>same</th><th>what</th></tr>
${evidence.map(row)}</table></div>
`;
}

const mostActions = 10;

function drawActions({ actions, alerts, terminations }: Replayed): Markup | null {
  if (actions.length === 0) return null;
  const left = alerts + terminations - Math.min(actions.length, mostActions);
  const told = actions.slice(0, mostActions).map(
    ({ index, event }) => html`<p class="dim">at event ${index}: ${sayAction(event)}</p>
`,
  );
  return html`${told}${left > 0 ? html`<p class="dim">and ${left} more</p>` : null}`;
}

/** Without the summary of an alert, which would name the run again. */
function sayAction(event: RouseEvent): string {
  if (event.type === "ALERT_RAISED") return `an alert (${event.payload.severity})`;
  return event.type === "TERMINATION_ORDERED" ? `terminated (${event.payload.because})` : event.type;
}

/** Markup that we wrote ourselves. Text of a trace is a string and cannot pass for it. */
export interface Markup {
  readonly markup: string;
}

type Part = string | number | null | Markup | readonly Markup[];

const longest = 2000;

/** Every value put into the template is text and is escaped, unless it is markup already. */
export function html(fixed: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return { markup: fixed.reduce((before, after, i) => before + write(parts[i - 1] ?? null) + after) };
}

function write(part: Part): string {
  if (part === null) return "";
  if (typeof part === "number") return String(part);
  if (typeof part === "string") return escapeHtml(part);
  return "markup" in part ? part.markup : part.map(({ markup }) => markup).join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for elements and quoted attributes; `printable` makes bidi and hidden characters visible. */
const escapeHtml = (text: string): string =>
  printable(text, longest).replace(/[&<>"']/g, (character) => entities[character] ?? "");
