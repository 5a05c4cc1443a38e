import { Fault, stateLimits } from "@rouse/contract";

const [quote, comma, backslash] = [34, 44, 92];
const openings: ReadonlySet<number> = new Set([91, 123]);
/** A request has a few values beside the state itself. */
const mostValues = stateLimits.values + 100;
/** Levels. Deep enough for anything we define, shallow enough for recursive code. */
const deepest = 32;

/**
 * Parses a body, or says what is wrong with it. `onMember` is told where each member of a list ends: at a comma, or at
 * the last bracket.
 */
export function parseJson(text: string, onMember: (end: number) => void = ignore): unknown {
  if (isTooDeep(text, onMember)) throw new Fault("bad-request", `the JSON is nested deeper than ${deepest} levels`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Fault("bad-request", `the body is not valid JSON: ${reason(error)}`, { cause: error });
  }
}

/** Parses a body, and says where in it each member of a list stands: `null` when it is no list. */
export function parseMembers(text: string): { value: unknown; members: readonly string[] | null } {
  const ends: number[] = [];
  const value = parseJson(text, (end) => ends.push(end));
  if (!Array.isArray(value)) return { value, members: null };
  let from = text.indexOf("[") + 1;
  const members = ends.map((end) => {
    const member = text.slice(from, end);
    from = end + 1;
    return member;
  });
  return { value, members };
}

const ignore = (): void => undefined;

/** V8 quotes the input in its message; only where it went wrong is passed on. */
function reason(error: unknown): string {
  const position = /at position \d+/.exec(String(error));
  return position === null ? "it ends too early or is malformed" : `unexpected character ${position[0]}`;
}

/** Looks only at brackets and commas outside strings. */
function isTooDeep(text: string, onMember: (end: number) => void): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) i = endOfString(text, i);
    else if (c === 123 || c === 91) {
      if (++depth > deepest) return true;
    } else if (c === 125 || c === 93) {
      if (--depth === 0) onMember(i);
    } else if (depth === 1 && c === comma) onMember(i);
  }
  return false;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === backslash) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

/** Parses a body with a state in it. Its values are counted first: parsing millions of them would block the monitor. */
export function parseState(text: string): unknown {
  if (hasMoreThan(mostValues, text))
    throw new Fault(
      "body-too-large",
      `a state has at most ${stateLimits.values} values; keep large data in the workspace, and in the state only what refers to it`,
    );
  return parseJson(text);
}

/** Counts commas and opening brackets: each value but the first of a list or object follows a comma. */
function hasMoreThan(most: number, text: string): boolean {
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) i = endOfString(text, i);
    else if ((c === comma || openings.has(c)) && ++values > most) return true;
  }
  return false;
}
