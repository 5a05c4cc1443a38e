/** One line of a file. `text` is `null` when it was too long to be held; `bytes` says how long it was. */
export interface TextLine {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string | null;
  readonly bytes: number;
}

/** Nothing an agent does in one step needs more; a broken file or a core dump may well have it. */
export const longestLine = 4 * 1024 * 1024;

const newline = 0x0a;
const byteOrderMark = "\ufeff";

/** Lines of a stream as they come. Never more than one piece and one line of the allowed length is held. */
export async function* readLines(
  pieces: AsyncIterable<Buffer>,
  longest: number = longestLine,
): AsyncGenerator<TextLine> {
  let held: Buffer[] = [];
  let bytes = 0;
  let number = 0;

  function hold(part: Buffer): void {
    bytes += part.length;
    if (bytes > longest) held = [];
    else if (part.length > 0) held.push(part);
  }

  function endLine(): TextLine {
    number += 1;
    const text = bytes > longest ? null : decode(held, number);
    const line = { number, text, bytes };
    held = [];
    bytes = 0;
    return line;
  }

  for await (const piece of pieces) {
    let from = 0;
    for (let end = piece.indexOf(newline); end !== -1; end = piece.indexOf(newline, from)) {
      hold(piece.subarray(from, end));
      from = end + 1;
      yield endLine();
    }
    hold(piece.subarray(from));
  }
  if (bytes > 0) yield endLine();
}

function decode(parts: readonly Buffer[], number: number): string {
  const text = (parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)).toString("utf8");
  return number === 1 && text.startsWith(byteOrderMark) ? text.slice(1) : text;
}
