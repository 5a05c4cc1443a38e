import { printable } from "@rouse/contract";
import { digestOf } from "../mask-text.ts";

/** One JSON object of a stream. Every field may be missing or of any type: programs change and are not trusted. */
export type Fields = Readonly<Record<string, unknown>>;

/** In UTF-16 units. Longer lines (a picture as a tool's result) are skipped. */
export const longestRead = 4 * 1024 * 1024;

/** The object in a line; `null` for anything else. */
export function parseLine(line: string): Fields | null {
  if (line.length > longestRead || !/^\s*\{/.test(line)) return null;
  try {
    return fieldsOf(JSON.parse(line));
  } catch {
    return null;
  }
}

export const fieldsOf = (value: unknown): Fields | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : null;

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

/** A finite number of at least 0: `1e999` is valid JSON and reads as infinity. */
export const amountOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : null;

export const countOf = (value: unknown): number | null =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;

/** A name or id: short, and harmless wherever it is shown. The same text always gives the same name. */
export function nameOf(value: unknown): string | null {
  const text = textOf(value);
  return text === null ? null : printable(text, 199).replace(/\p{Surrogate}/gu, "\ufffd");
}

/** Equal content has an equal digest, whatever the order of its keys. */
export const digestOfValue = (value: unknown): string =>
  digestOf(typeof value === "string" ? value : canonical(value, 0));

/** No honest argument is nested this deep; deeper ones would exhaust the stack. */
const deepest = 64;

function canonical(value: unknown, depth: number): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (depth === deepest) return '"…"';
  if (Array.isArray(value)) return `[${value.map((each) => canonical(each, depth + 1)).join(",")}]`;
  const fields = value as Fields;
  const keys = Object.keys(fields).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(fields[key], depth + 1)}`).join(",")}}`;
}

/** The texts in a result without the JSON around them: masking would take JSON for one quotation. */
export const textIn = (value: unknown): string => leavesOf(value, 0).join("\n");

function leavesOf(value: unknown, depth: number): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [JSON.stringify(value) ?? "null"];
  if (depth === deepest) return ["…"];
  if (Array.isArray(value)) return value.flatMap((each) => leavesOf(each, depth + 1));
  const fields = value as Fields;
  return Object.keys(fields)
    .sort()
    .flatMap((key) => leavesOf(fields[key], depth + 1));
}
