/** One line of a file. `text` is `null` when it is too long to be held; `bytes` is its length. */
export interface TextLine {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string | null;
  readonly bytes: number;
}

/** No step of an agent needs a longer line; a broken file or a core dump may have one. */
export const longestLine = 4 * 1024 * 1024;

const newline = 0x0a;
const byteOrderMark = "\ufeff";

/** Lines of a stream as they come. At most one piece and one line of the allowed length are held in memory. */
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
