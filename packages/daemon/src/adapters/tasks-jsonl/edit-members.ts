interface Member {
  readonly key: string;
  /** Where the value stands in the text. */
  readonly from: number;
  readonly to: number;
}

type Value = string | number | boolean | null;

/**
 * Sets members of a JSON object in its text and leaves every other character as it is: numbers too long for us, spacing
 * and repeated keys belong to the owner. The text must be one valid object.
 */
export function editMembers(text: string, changes: ReadonlyMap<string, Value>): string {
  const members = findMembers(text);
  const there = new Set(members.map(({ key }) => key));
  const added = [...changes].filter(([key]) => !there.has(key));
  let edited = addMembers(text, members.at(-1) ?? null, added);
  for (const { key, from, to } of members.toReversed()) {
    const value = changes.get(key);
    // Of a repeated key the last one counts; all of them are set.
    if (value !== undefined) edited = edited.slice(0, from) + JSON.stringify(value) + edited.slice(to);
  }
  return edited;
}

/** New members go behind the last one, spaced the way the first one is. */
function addMembers(text: string, last: Member | null, added: readonly (readonly [string, Value])[]): string {
  const space = /^[^:]*:\s/.test(text) ? " " : "";
  const written = added.map(([key, value]) => `${JSON.stringify(key)}:${space}${JSON.stringify(value)}`);
  const at = last?.to ?? text.indexOf("{") + 1;
  const first = last === null || written.length === 0 ? "" : `,${space}`;
  return text.slice(0, at) + first + written.join(`,${space}`) + text.slice(at);
}

function findMembers(text: string): Member[] {
  const members: Member[] = [];
  let at = skipSpace(text, text.indexOf("{") + 1);
  while (text[at] === '"') {
    const keyEnd = endOfString(text, at);
    const key = JSON.parse(text.slice(at, keyEnd)) as string;
    const from = skipSpace(text, text.indexOf(":", keyEnd) + 1);
    const to = endOfValue(text, from);
    members.push({ key, from, to });
    at = skipSpace(text, to);
    if (text[at] === ",") at = skipSpace(text, at + 1);
  }
  return members;
}

function endOfValue(text: string, from: number): number {
  let depth = 0;
  let at = from;
  while (at < text.length) {
    const c = text[at];
    if (c === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (depth === 0 && (c === "," || c === "}")) break;
    if (c === "{" || c === "[") depth += 1;
    else if (c === "}" || c === "]") depth -= 1;
    at += 1;
  }
  while (isSpace(text[at - 1])) at -= 1;
  return at;
}

/** The index behind the closing quote. */
function endOfString(text: string, from: number): number {
  let at = from + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text[at])) at += 1;
  return at;
}

const isSpace = (c: string | undefined): boolean => c === " " || c === "\t" || c === "\n" || c === "\r";
