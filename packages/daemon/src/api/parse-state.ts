import { Fault, stateLimits } from "@rouse/contract";
import { parseJson } from "./parse-json.ts";

/** Beside the state itself, a request has a handful of values. */
const mostValues = stateLimits.values + 100;
const [quote, comma, backslash] = [34, 44, 92];
const openings: ReadonlySet<number> = new Set([91, 123]);

/** Parses a body with a state in it. Millions of small values would keep the monitor from hearing anybody while they are parsed: they are counted first. */
export function parseState(text: string): unknown {
  if (hasMoreThan(mostValues, text))
    throw new Fault(
      "body-too-large",
      `a state has at most ${stateLimits.values} values; keep large data in the workspace, and in the state only what refers to it`,
    );
  return parseJson(text);
}

/** Every value but the first of a list or object follows a comma, and every list and object opens with a bracket. */
function hasMoreThan(most: number, text: string): boolean {
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) i = endOfText(text, i);
    else if ((c === comma || openings.has(c)) && ++values > most) return true;
  }
  return false;
}

function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}
