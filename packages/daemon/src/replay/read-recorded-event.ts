import { printable, StepEvent } from "@rouse/contract";
import { digestEvent } from "@rouse/core";
import type { z } from "zod";
import { Label } from "./measure-labels.ts";
import type { ProblemKind } from "./note-problems.ts";

/** What is wrong with a line, without its place. */
export interface Flaw {
  readonly kind: ProblemKind;
  readonly message: string;
}

/** `event` is `null` when the line belongs to no run or is no event. An unusable field counts as not recorded. */
type LineReading =
  | { readonly trace: string; readonly event: StepEvent; readonly flaws: readonly Flaw[] }
  | { readonly trace: null; readonly event: null; readonly flaws: readonly Flaw[] };

const longestTrace = 1000;
const labels: readonly string[] = Label.shape.label.options;
const kinds: readonly string[] = StepEvent.shape.kind.options;

export function readRecordedEvent(text: string): LineReading {
  const line = parse(text);
  if ("flaw" in line) return refuse(line.flaw.kind, line.flaw.message);
  const { trace, kind, label } = line.fields;
  if (typeof label === "string" && labels.includes(label))
    return refuse("label-line", "is a label, not an event of a run: --labels takes files of them");
  if (trace === undefined) return refuse("no-trace", "no trace: which run does it belong to?");
  if (typeof trace !== "string" || trace === "" || trace.length > longestTrace)
    return refuse("no-trace", `trace: expected a text of up to ${longestTrace} characters, found ${show(trace)}`);
  if (kind === undefined) return refuse("no-kind", `no kind: expected ${kinds.join(", ")}`);
  if (typeof kind !== "string" || !kinds.includes(kind))
    return refuse("unknown-kind", `kind: found ${show(kind)}, expected ${kinds.join(", ")}`);
  return { trace, ...readFields(line.fields) };
}

const refuse = (kind: ProblemKind, message: string): LineReading => ({
  trace: null,
  event: null,
  flaws: [{ kind, message }],
});

function parse(text: string): { readonly fields: Record<string, unknown> } | { readonly flaw: Flaw } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { flaw: { kind: "not-json", message: `is not JSON: ${printable(text.trim(), 60)}` } };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { flaw: { kind: "not-an-object", message: `expected a JSON object, found ${show(value)}` } };
  return { fields: value as Record<string, unknown> };
}

function readFields(fields: Record<string, unknown>): { event: StepEvent; flaws: readonly Flaw[] } {
  const read = StepEvent.safeParse(fields);
  if (read.success) return { event: withDigests(read.data), flaws: [] };
  const wrong = new Map(read.error.issues.map((issue) => [String(issue.path[0]), issue]));
  const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => !wrong.has(name)));
  const flaws = [...wrong].map(([name, issue]): Flaw => {
    const message = `${name}: found ${show(fields[name])}, expected ${expected(issue)} or null; taken as not recorded`;
    return { kind: "wrong-type", message };
  });
  return { event: withDigests(StepEvent.parse(kept)), flaws };
}

type Issue = z.core.$ZodIssue;

function expected(issue: Issue): string {
  if (issue.code === "too_big") return `a text of up to ${issue.maximum} characters`;
  if (issue.code === "too_small") return `a number from ${issue.minimum}`;
  const type = issue.code === "invalid_type" ? issue.expected : "";
  return type === "boolean" ? "true, false" : type === "number" ? "a number" : "a text";
}

/** The format cuts excerpts at this length: a text as long as this may not be whole. */
const excerpt = 300;

/** A recording written by hand has texts without digests. A digest that is `null` was left out on purpose. */
function withDigests(event: StepEvent): StepEvent {
  const args = isWhole(event.args, event.args_digest) ? event.args : null;
  const text = isWhole(event.text, event.text_digest) ? event.text : null;
  if (args === null && text === null) return event;
  const { args_digest, text_digest, text_class } = digestEvent({ ...event, args, text }, false);
  return { ...event, args_digest, text_digest, text_class };
}

const isWhole = (text: string | null | undefined, digest: string | null | undefined): boolean =>
  typeof text === "string" && text.length < excerpt && digest === undefined;

function show(value: unknown): string {
  return printable(JSON.stringify(value) ?? "nothing", 60);
}
