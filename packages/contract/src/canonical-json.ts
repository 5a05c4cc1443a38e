import { Fault } from "./fault.ts";

export interface FormLimits {
  readonly values: number;
  /** How deep lists and objects may be nested. */
  readonly depth: number;
}

/**
 * The bounds of one state, so that taking it never holds up the monitor: larger data belongs in the workspace, and a
 * reference to it in the state.
 */
export const stateLimits = { bytes: 16 * 1024 * 1024, values: 200_000, depth: 30 } as const;

const mostNames = 1000;

/**
 * The one way to write a JSON value down (RFC 8785), so that equal values have equal hashes. Ours, because the library
 * json-canonicalize takes minutes for millions of small values and has no bounds; the tests compare the two.
 *
 * What has no such form is refused: numbers such as 1e999, whatever is not JSON at all, and with limits also halves of
 * characters. Without limits those are written as `JSON.stringify` does: hashes of old audit lines depend on it.
 */
export function canonicalJson(value: unknown, limits?: FormLimits): string {
  const { values: mostValues = Number.POSITIVE_INFINITY, depth: deepest = Number.POSITIVE_INFINITY } = limits ?? {};
  const isStrict = limits !== undefined;
  let values = 0;
  // The same few names occur thousands of times.
  const names = new Map<string, string>();

  const write = (one: unknown, depth: number): string => {
    if (++values > mostValues) throw new Fault("body-too-large", `it has more than ${mostValues} values`);
    switch (typeof one) {
      case "string":
        return quote(one, isStrict);
      case "number":
        if (!Number.isFinite(one))
          throw unfit(Number.isNaN(one) ? "a number in it is NaN" : "a number in it is too large");
        return String(one);
      case "boolean":
        return String(one);
      case "object":
        if (one === null) return "null";
        if (depth === deepest) throw unfit(`it is nested deeper than ${deepest} levels, or holds itself`);
        return Array.isArray(one) ? writeList(one, depth + 1) : writeObject(one, depth + 1);
      case "undefined":
      case "function":
      case "symbol":
      case "bigint":
        throw unfit(one === undefined ? "undefined in a list is not JSON" : `a ${typeof one} is not JSON`);
    }
  };

  const writeList = (list: readonly unknown[], depth: number): string => {
    let text = "[";
    for (let i = 0; i < list.length; i++) text += (i === 0 ? "" : ",") + write(list[i], depth);
    return `${text}]`;
  };

  const writeObject = (object: object, depth: number): string => {
    const kind: unknown = Object.getPrototypeOf(object);
    if (kind !== Object.prototype && kind !== null) throw unfit(`an object in it is not a plain one${kindOf(object)}`);
    let text = "{";
    for (const name of Object.keys(object).sort()) {
      const member = (object as Record<string, unknown>)[name];
      // As JSON does it: an undefined field is left out.
      if (member !== undefined) text += (text.length === 1 ? "" : ",") + writeName(name) + write(member, depth);
    }
    return `${text}}`;
  };

  const writeName = (name: string): string => {
    const known = names.get(name);
    if (known !== undefined) return known;
    const written = `${quote(name, isStrict)}:`;
    if (names.size < mostNames) names.set(name, written);
    return written;
  };

  return write(value, 0);
}

/** Most texts need nothing but quotes; this makes writing them many times faster. */
const needsQuotesOnly = /^[ !#-[\]-~]*$/;

function quote(text: string, isStrict: boolean): string {
  if (text.length < 1000 && needsQuotesOnly.test(text)) return `"${text}"`;
  if (isStrict && /\p{Surrogate}/u.test(text)) throw unfit("a text in it has half a character");
  return JSON.stringify(text);
}

/** The class, for whoever looks for it in a large state. */
function kindOf(object: object): string {
  const { constructor: made } = object;
  return typeof made === "function" && made.name !== "" ? `, but a ${made.name.slice(0, 100)}` : "";
}

const unfit = (problem: string): Fault => new Fault("bad-request", `it has no canonical form: ${problem}`);
