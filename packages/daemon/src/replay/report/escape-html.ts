import { printable } from "@rouse/contract";

/** Markup that we wrote ourselves. No text of a trace can pass for it: that is a string. */
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

/** Harmless in text and in quoted attributes; what would turn text around or hide in it is made visible. */
export const escapeHtml = (text: string): string =>
  printable(text, longest).replace(/[&<>"']/g, (character) => entities[character] ?? "");
