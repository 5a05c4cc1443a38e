import { Fault } from "@rouse/contract";

/** Deep enough for anything we define, shallow enough that nobody downstream recurses far. */
const deepest = 32;

/** Parses a body, or says what is wrong with it. */
export function parseJson(text: string): unknown {
  if (isTooDeep(text)) throw new Fault("bad-request", `the JSON is nested deeper than ${deepest} levels`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Fault("bad-request", `the body is not valid JSON: ${reason(error)}`, { cause: error });
  }
}

/** V8 quotes the input in its message; only where it went wrong is passed on. */
function reason(error: unknown): string {
  const position = /at position \d+/.exec(String(error));
  return position === null ? "it ends too early or is malformed" : `unexpected character ${position[0]}`;
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 92) i++;
      else if (c === 34) inString = false;
    } else if (c === 34) inString = true;
    else if (c === 123 || c === 91) {
      if (++depth > deepest) return true;
    } else if (c === 125 || c === 93) depth--;
  }
  return false;
}
