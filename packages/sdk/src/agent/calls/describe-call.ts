import { canonicalJson, classOfText, cut, digestOf } from "@rouse/contract";

export interface Described {
  readonly digest: string;
  readonly class: string;
}

export interface Describing {
  describe(value: unknown): Described | null;
  describeError(error: unknown): Described | null;
}

/** Larger values are not looked at: nothing may slow down the agent. */
const limits = { values: 20_000, depth: 30 };
const longestText = 200_000;

/**
 * What stands for arguments and results outside the process: digests, equal for equal values whatever the order of
 * their keys. `null` for what cannot be read, because unknown never equals unknown. Never throws.
 */
export function describe(value: unknown): Described | null {
  try {
    if (value === undefined) return null;
    const plain = asPlain(value, { left: limits.values }, []);
    const text = typeof plain === "string" ? plain : canonicalJson(plain);
    return { digest: digestOf(bound(text)), class: classOfText(bound(leavesOf(plain).join("\n"))) };
  } catch {
    return null;
  }
}

/** Of an error its words, without the stack: that differs from call to call. */
export function describeError(error: unknown): Described | null {
  try {
    return describe(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
  } catch {
    return null;
  }
}

/** The beginning and the end of a text that is too long, and how long it is. */
const bound = (text: string): string =>
  text.length <= 2 * longestText ? text : `${cut(text, longestText)}\n${text.length}\n${text.slice(-longestText)}`;

class Unreadable extends Error {}

/** The value as JSON could have it. Functions, and objects that show nothing of themselves, are unreadable. */
function asPlain(value: unknown, budget: { left: number }, above: readonly object[]): unknown {
  budget.left -= 1;
  if (budget.left < 0 || above.length > limits.depth) throw new Unreadable();
  if (typeof value === "bigint") return `${value}`;
  if (typeof value === "number" && !Number.isFinite(value)) return `${value}`;
  if (typeof value === "function" || typeof value === "symbol") throw new Unreadable();
  if (typeof value !== "object" || value === null) return value ?? null;
  if (above.includes(value)) return "(itself)";
  if (value instanceof Date) return `${value.getTime()}`;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (value instanceof URL) return value.href;
  if (ArrayBuffer.isView(value)) return describeBytes(value);
  const inside = [...above, value];
  const read = (one: unknown): unknown => asPlain(one, budget, inside);
  if (Array.isArray(value)) return value.map(read);
  if (value instanceof Map || value instanceof Set) return [...value].map(read);
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  const kind: unknown = Object.getPrototypeOf(value);
  if (entries.length === 0 && kind !== Object.prototype && kind !== null) throw new Unreadable();
  return Object.fromEntries(entries.map(([name, one]) => [name, read(one)]));
}

function describeBytes({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  if (byteLength > longestText) throw new Unreadable();
  return digestOf(new Uint8Array(buffer, byteOffset, byteLength).join());
}

function leavesOf(plain: unknown): readonly string[] {
  if (typeof plain !== "object" || plain === null) return [String(plain)];
  return Object.values(plain).flatMap(leavesOf);
}
