import { printable, StepEvent } from "@rouse/contract";
import { digestEvent } from "@rouse/core";
import { z } from "zod";
import type { ProblemKind } from "./note-problems.ts";

/** What is wrong with a line, without the place it stands at. */
export interface Flaw {
  readonly kind: ProblemKind;
  readonly message: string;
}

/** `event` is `null` when the line belongs to no run or is no event. A field that cannot be used counts as not recorded. */
export type LineReading =
  | { readonly trace: string; readonly event: StepEvent; readonly flaws: readonly Flaw[] }
  | { readonly trace: null; readonly event: null; readonly flaws: readonly Flaw[] };

const longestTrace = 1000;
const kinds: readonly string[] = StepEvent.shape.kind.options;

export function readRecordedEvent(text: string): LineReading {
  const line = parse(text);
  if ("flaw" in line) return refuse(line.flaw.kind, line.flaw.message);
  const { trace, kind } = line.fields;
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
  const wrong = [...new Set(read.error.issues.map(({ path }) => String(path[0])))];
  const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => !wrong.includes(name)));
  const flaws = wrong.map(
    (name): Flaw => ({
      kind: "wrong-type",
      message: `${name}: found ${show(fields[name])}, expected ${expected(name)}`,
    }),
  );
  return { event: withDigests(StepEvent.parse(kept)), flaws };
}

function expected(name: string): string {
  const schema = z.toJSONSchema(StepEvent).properties?.[name];
  const [one] = (typeof schema === "object" ? schema.anyOf : undefined) ?? [];
  if (typeof one !== "object") return "something else";
  if (one.type === "boolean") return "true, false or null";
  if (one.type === "number")
    return one.minimum === undefined ? "a number or null" : `a number from ${one.minimum} or null`;
  return one.maxLength === undefined ? "a text or null" : `a text of up to ${one.maxLength} characters or null`;
}

/** Where excerpts are cut, by the format: from there on a text no longer stands for the whole. */
const excerpt = 300;

/** Who writes a recording by hand gives texts without digests. A digest that is `null` was left out on purpose and stays unknown. */
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
