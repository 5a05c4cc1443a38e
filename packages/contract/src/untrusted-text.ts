/**
 * Everything an agent says is untrusted. Before such text reaches a terminal or a log line, control characters (they
 * move cursors, rewrite titles, answer prompts) and the invisible direction marks that reorder text are made visible.
 */
const unprintable =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

export function printable(text: string, longest = 500): string {
  const shown = text.length > longest ? `${text.slice(0, longest)}…` : text;
  return shown.replace(unprintable, (c) => (c === "\n" || c === "\t" || c === "\r" ? " " : "\ufffd"));
}

/** Cuts between characters: half a surrogate pair cannot be stored. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}
