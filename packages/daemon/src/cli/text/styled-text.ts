import { type HealthState, printable } from "@rouse/contract";

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, magenta: 35, cyan: 36 } as const;
export type Style = keyof typeof codes;

export interface Span {
  readonly text: string;
  readonly style?: Style;
}

/**
 * Output is made of lines, and colour is added last. Only this file writes anything that a terminal acts on, so no text
 * of an agent can bring its own.
 */
export type Line = readonly (string | Span)[];

export const styled = (style: Style, text: string): Span => ({ text, style });

const longest = 4000;

/** Cleans the texts of a line, so that they can be measured. */
export function spansOf(line: Line): Span[] {
  return line.map((part) => {
    if (typeof part === "string") return { text: printable(part, longest) };
    return { ...part, text: printable(part.text, longest) };
  });
}

export function paintLine(line: Line, colours: boolean): string {
  return withoutTail(spansOf(line))
    .map(({ text, style }) => (colours && style !== undefined ? `\x1b[${codes[style]}m${text}\x1b[0m` : text))
    .join("");
}

/** Removes spaces at the end, also inside of a colour: after a full row they would begin another one. */
function withoutTail(spans: readonly Span[]): Span[] {
  const kept = [...spans];
  for (let last = kept.pop(); last !== undefined; last = kept.pop()) {
    const text = last.text.trimEnd();
    if (text !== "") return [...kept, { ...last, text }];
  }
  return kept;
}

const stateStyles: Readonly<Record<HealthState, Style>> = {
  HEALTHY: "green",
  DEGRADED: "yellow",
  UNRESPONSIVE: "red",
  STUCK: "red",
  FAILING: "red",
  QUARANTINED: "magenta",
  TERMINATED: "dim",
};

export const styledState = (state: HealthState): Span => styled(stateStyles[state] ?? "bold", state);
