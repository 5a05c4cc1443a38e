import { cut } from "./mask-text.ts";

const longest = 2000;

/**
 * A text as a person could type it on one line. What agents take for something else than words goes: control characters, `/` or `!` at the
 * beginning (commands), `@` before a word (a file to be read, a menu to choose it from), `\` at the end (Enter begins a new line then).
 */
export function lineToType(text: string): string {
  const line = text
    .normalize("NFC")
    .replace(/\s+/g, " ")
    .replace(/\p{C}/gu, "")
    .replace(/(?<=^|\s)@+/g, "")
    .replace(/^[^\p{L}\p{N}"'“‘«([]+/u, "");
  return cut(line, longest).replace(/[\\\s]+$/, "");
}
