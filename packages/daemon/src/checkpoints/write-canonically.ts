import { Fault } from "@rouse/contract";

export interface FormLimits {
  readonly bytes: number;
  readonly values: number;
  /** Of lists and objects in one another. */
  readonly depth: number;
}

const mostNames = 1000;
const advice = "keep large data in the workspace, and in the state only what refers to it";

/**
 * The one way to write a JSON value down (RFC 8785), so that equal values have equal hashes. What has no such form is refused: numbers such as 1e999,
 * halves of characters, and whatever is not JSON at all.
 *
 * The library that makes the checksums of beats takes minutes for millions of small values, all of them on the thread that hears the agents.
 */
export function writeCanonically(value: unknown, limits: FormLimits): string {
  let values = 0;
  // The same few names occur thousands of times.
  const names = new Map<string, string>();

  const write = (one: unknown, depth: number): string => {
    if (++values > limits.values) throw tooLarge(`more than ${limits.values} values`);
    switch (typeof one) {
      case "string":
        return quote(one);
      case "number":
        if (!Number.isFinite(one)) throw unfit("a number in it is too large");
        return String(one);
      case "boolean":
        return String(one);
      case "object":
        if (one === null) return "null";
        if (depth === limits.depth) throw unfit(`it is nested deeper than ${limits.depth} levels`);
        return Array.isArray(one) ? writeList(one, depth + 1) : writeObject(one, depth + 1);
      case "undefined":
      case "function":
      case "symbol":
      case "bigint":
        throw unfit(`a ${typeof one} is not JSON`);
    }
  };

  const writeList = (list: readonly unknown[], depth: number): string => {
    let text = "[";
    for (let i = 0; i < list.length; i++) text += (i === 0 ? "" : ",") + write(list[i], depth);
    return `${text}]`;
  };

  const writeObject = (object: object, depth: number): string => {
    const kind: unknown = Object.getPrototypeOf(object);
    if (kind !== Object.prototype && kind !== null) throw unfit("an object in it is not a plain one");
    let text = "{";
    for (const name of Object.keys(object).sort()) {
      const member = (object as Record<string, unknown>)[name];
      // As JSON does it: what is undefined is not there.
      if (member !== undefined) text += (text.length === 1 ? "" : ",") + writeName(name) + write(member, depth);
    }
    return `${text}}`;
  };

  const writeName = (name: string): string => {
    const known = names.get(name);
    if (known !== undefined) return known;
    const written = `${quote(name)}:`;
    if (names.size < mostNames) names.set(name, written);
    return written;
  };

  const text = write(value, 0);
  const bytes = Buffer.byteLength(text);
  if (bytes > limits.bytes) throw tooLarge(`${bytes} bytes`);
  return text;

  function tooLarge(found: string): Fault {
    const mebibytes = limits.bytes / 1024 / 1024;
    return new Fault(
      "body-too-large",
      `a state has at most ${mebibytes} MiB and ${limits.values} values, this one has ${found}; ${advice}`,
    );
  }
}

/** Most texts need nothing but quotes, and are written many times faster for it. */
const needsQuotesOnly = /^[ !#-[\]-~]*$/;

function quote(text: string): string {
  if (text.length < 1000 && needsQuotesOnly.test(text)) return `"${text}"`;
  if (/\p{Surrogate}/u.test(text)) throw unfit("a text in it has half a character");
  return JSON.stringify(text);
}

const unfit = (problem: string): Fault => new Fault("bad-request", `the state cannot be kept: ${problem}`);
