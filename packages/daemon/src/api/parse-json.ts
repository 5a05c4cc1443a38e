import { Fault, stateLimits } from "@rouse/contract";

const [quote, comma, backslash] = [34, 44, 92];
const openings: ReadonlySet<number> = new Set([91, 123]);
/** A request has a few values beside the state itself. */
const mostValues = stateLimits.values + 100;
/** Levels. Deep enough for anything we define, shallow enough for recursive code. */
const deepest = 32;

/** Parses a body, or says what is wrong with it. */
export function parseJson(text: string): unknown {
  refuseTooDeep(text, ignore);
  return parse(text);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Fault("bad-request", `the body is not valid JSON: ${reason(error)}`, { cause: error });
  }
}

/**
 * Parses a value, or a list of them, and says where in the text each member of a list stands: `null` when it is no list.
 * None of them may be longer than `longest`, and that is seen before anything is parsed: hundreds of thousands of small
 * values in one would block the monitor.
 */
export function parseMembers(text: string, longest: number): { value: unknown; members: readonly string[] | null } {
  const ends: number[] = [];
  refuseTooDeep(text, (end) => ends.push(end));
  const isList = /^\s*\[/.test(text);
  const members = isList ? cutAt(ends, text, text.indexOf("[") + 1) : null;
  // A list that does not end is cut nowhere after its last comma.
  const rest = members === null ? text.length : text.length - (ends.at(-1) ?? 0);
  if (rest > longest || members?.some(({ length }) => length > longest) === true)
    throw new Fault("body-too-large", `a heartbeat has at most ${longest / 1024} KiB`);
  return { value: parse(text), members };
}

function cutAt(ends: readonly number[], text: string, start: number): string[] {
  let from = start;
  return ends.map((end) => {
    const member = text.slice(from, end);
    from = end + 1;
    return member;
  });
}

const ignore = (): void => undefined;

/** V8 quotes the input in its message; only where it went wrong is passed on. */
function reason(error: unknown): string {
  const position = /at position \d+/.exec(String(error));
  return position === null ? "it ends too early or is malformed" : `unexpected character ${position[0]}`;
}

/** Looks only at brackets and commas outside strings. `onMember`: where a member ends, at a comma or the last bracket. */
function refuseTooDeep(text: string, onMember: (end: number) => void): void {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === quote) i = endOfString(text, i);
    else if (c === 123 || c === 91) {
      if (++depth > deepest) throw new Fault("bad-request", `the JSON is nested deeper than ${deepest} levels`);
    } else if (c === 125 || c === 93) {
      if (--depth === 0) onMember(i);
    } else if (depth === 1 && c === comma) onMember(i);
  }
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
