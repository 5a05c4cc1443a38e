import type { StepEvent } from "@rouse/contract";
import type { Finding } from "@rouse/core";
import type { Moment } from "../replay-run.ts";

/** One event as a report draws it. */
export interface Mark {
  readonly kind: "call" | "result" | "said" | "heard" | "error";
  readonly failed: boolean;
  /** Equal for equal calls, results or messages; `null` when it is not known what it was. */
  readonly same: number | null;
}

/** An event that a verdict rests on, with its text. */
export interface Excerpt extends Mark {
  readonly index: number;
  /** `null` where the source has no clock. */
  readonly at: number | null;
  readonly tool: string | null;
  readonly words: string | null;
}

/** What is needed to draw a run: the stretch around its gravest verdict, bounded for any length of run. */
export interface RunSketch {
  /** Index of the first mark. */
  readonly from: number;
  readonly marks: readonly Mark[];
  readonly evidence: readonly Excerpt[];
}

const marksBefore = 600;
const marksAfter = 300;
/** How far back a detector can look, in events. */
const excerptsKept = 160;
const longestExcerpt = 200;

export function startSketch() {
  let index = -1;
  let recent: Mark[] = [];
  let excerpts: Excerpt[] = [];
  let shown: { from: number; marks: Mark[]; until: number; evidence: readonly Excerpt[] } | null = null;
  return {
    take(event: StepEvent): void {
      index += 1;
      const mark = markOf(event);
      recent.push(mark);
      if (shown !== null && index < shown.until) shown.marks.push(mark);
      excerpts.push(excerptOf(event, mark, index));
      // Not cut at every event: moving the lists each time would take longer than reading the recording.
      if (recent.length > 2 * marksBefore) recent = recent.slice(-marksBefore);
      if (excerpts.length > 2 * excerptsKept) excerpts = excerpts.slice(-excerptsKept);
    },
    /** The verdict has become graver: this is the stretch to show. */
    mark({ because }: Moment): void {
      const marks = recent.slice(-marksBefore);
      const wanted = eventsOf(because);
      shown = {
        from: index + 1 - marks.length,
        marks,
        until: index + marksAfter,
        evidence: excerpts.filter((one, i) => wanted.has(one.index) || isCallOf(one, excerpts[i + 1], wanted)),
      };
    },
    finish: (): RunSketch | null =>
      shown === null ? null : { from: shown.from, marks: shown.marks, evidence: shown.evidence },
  };
}

/** A finding names results; the call just before each belongs to it. */
const isCallOf = (one: Excerpt, next: Excerpt | undefined, wanted: ReadonlySet<number>): boolean =>
  one.kind === "call" && next !== undefined && next.kind !== "call" && wanted.has(next.index);

/** The events a finding names as its evidence. */
export function eventsOf(findings: readonly Finding[]): ReadonlySet<number> {
  const named = findings.flatMap(({ evidence }) => String(evidence.events ?? "").split(" "));
  return new Set(named.filter((word) => /^\d+$/.test(word)).map(Number));
}

function markOf(event: StepEvent): Mark {
  const failed = event.failed === true || event.kind === "error";
  switch (event.kind) {
    case "tool_call":
      return { kind: "call", failed, same: printOf(event.args_digest, event.tool ?? "") };
    case "tool_result":
      return { kind: "result", failed, same: printOf(event.text_class ?? event.text_digest, "result") };
    case "error":
      return { kind: "error", failed, same: printOf(event.text_class ?? event.text_digest, "result") };
    case "message": {
      const kind = event.role === "agent" || event.role === "assistant" ? "said" : "heard";
      return { kind, failed, same: printOf(event.text_class ?? event.text_digest, kind) };
    }
  }
}

/** FNV-1a. 32 bits are enough to paint equal things alike, and take less memory than digests. */
function printOf(digest: string | null | undefined, of: string): number | null {
  if (digest === null || digest === undefined) return null;
  const text = `${of}\n${digest}`;
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash;
}

function excerptOf(event: StepEvent, mark: Mark, index: number): Excerpt {
  const words = event.kind === "tool_call" ? event.args : event.text;
  const text = typeof words === "string" ? cutExcerpt(words) : null;
  return { ...mark, index, at: event.at ?? null, tool: event.tool ?? null, words: text };
}

/** A copy: a slice would keep the whole text in memory. */
const cutExcerpt = (text: string): string =>
  text.length <= longestExcerpt ? text : `${Buffer.from(text.slice(0, longestExcerpt)).toString()}…`;
