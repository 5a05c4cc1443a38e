import { StringDecoder } from "node:string_decoder";

/** Complete lines of output that is not drawn on a screen. */
export interface LineSplitter {
  feed(bytes: Buffer): void;
  /** The lines completed since the last call. Of too many, some in the middle are missing. */
  take(): string[];
  /** Ends the last line: nothing follows it, or something that does not belong to it. */
  finish(): void;
}

const mostLines = 2000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it is for
const escapes = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same
const controls = /[\x00-\x08\x0b-\x1f\x7f]/g;

/** Only the first `longest` characters of a line are kept. */
export function splitLines(longest: number): LineSplitter {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  let first: string[] = [];
  let last: string[] = [];

  function add(line: string): void {
    if (first.length < mostLines / 2) return void first.push(line);
    last.push(line);
    // Not one by one: moving a whole array for each line would be slow.
    if (last.length >= mostLines) last = last.slice(-mostLines / 2);
  }

  return {
    feed(bytes) {
      const text = decoder.write(bytes);
      let start = 0;
      for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
        add(rest === "" ? text.slice(start, Math.min(end, start + longest)) : rest + text.slice(start, end));
        rest = "";
        start = end + 1;
      }
      if (rest.length < longest) rest += text.slice(start, start + longest - rest.length);
    },
    take() {
      const lines = [...first, ...last.slice(-mostLines / 2)].map((line) => plain(line.slice(0, longest)));
      first = [];
      last = [];
      return lines;
    },
    finish() {
      rest += decoder.end();
      if (rest !== "") add(rest);
      rest = "";
    },
  };
}

/** Of a line that is written over itself (a progress bar) the last version counts. */
function plain(line: string): string {
  const text = line.replace(escapes, "").replace(/\r+$/, "");
  return text.slice(text.lastIndexOf("\r") + 1).replace(controls, "");
}
