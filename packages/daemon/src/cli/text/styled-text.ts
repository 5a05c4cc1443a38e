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

const plain = /^[\x20-\x7e…–—·→]*$/;
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\ufe0f|[\u{20000}-\u{3fffd}]/u;

let graphemes: Intl.Segmenter | undefined;

/** The segmenter is made when it is first needed: most texts are plain ASCII, and Node takes a while to make one. */
function segmentsOf(text: string): Intl.Segments {
  graphemes ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  return graphemes.segment(text);
}

/** Columns a text takes in a terminal: Chinese characters and emoji take two. */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const { segment } of segmentsOf(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** Cuts a text to so many columns; the last one is "…" where something is missing. */
export function cutText(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let used = 1;
  for (const { segment } of segmentsOf(text)) {
    used += wide.test(segment) ? 2 : 1;
    if (used > width) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** Cuts a line of several parts in the same way. */
export function cutLine(line: Line, width: number): Line {
  let room = width;
  const kept: Span[] = [];
  for (const span of spansOf(line)) {
    if (room <= 0) break;
    kept.push({ ...span, text: cutText(span.text, room) });
    room -= widthOf(span.text);
  }
  return kept;
}

/** Breaks a line between words and indents what follows. A word too long for a line is broken anywhere. */
export function wrapLine(line: Line, width: number, indent: number): Line[] {
  const spans = spansOf(line);
  if (spans.reduce((sum, { text }) => sum + widthOf(text), 0) <= width) return [spans];
  const lines: Span[][] = [[]];
  let used = 0;
  for (const { text, ...style } of spans.flatMap(wordsOf).flatMap((word) => breakWord(word, width - indent))) {
    const needed = widthOf(text.trimEnd());
    if (used + needed > width && used > (lines.length === 1 ? 0 : indent)) {
      lines.push([{ text: " ".repeat(indent) }]);
      used = indent;
    }
    // The space that ended the line before is not needed at the start of this one.
    if (text.trim() === "" && lines.length > 1 && used === indent) continue;
    lines.at(-1)?.push({ text, ...style });
    used += widthOf(text);
  }
  return lines;
}

const wordsOf = ({ text, ...style }: Span): Span[] =>
  (text.match(/\S+\s*|\s+/g) ?? []).map((word) => ({ text: word, ...style }));

function breakWord(span: Span, width: number): Span[] {
  if (widthOf(span.text.trimEnd()) <= width) return [span];
  const pieces: Span[] = [];
  let piece = "";
  for (const { segment } of segmentsOf(span.text)) {
    if (widthOf(piece + segment) > width) {
      pieces.push({ ...span, text: piece });
      piece = "";
    }
    piece += segment;
  }
  return [...pieces, { ...span, text: piece }];
}
