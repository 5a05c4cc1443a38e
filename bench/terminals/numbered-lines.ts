/** `count` lines of `width` bytes each, end of line included, no two alike: a lost, doubled or moved one shows. */
export function numberedLines(first: number, count: number, width: number): string {
  let text = "";
  for (let n = first; n < first + count; n++)
    text += `${`${n} ran one more step of the work and wrote down what came of it `.padEnd(width - 1, ".").slice(0, width - 1)}\n`;
  return text;
}
