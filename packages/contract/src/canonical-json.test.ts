import fc from "fast-check";
import { canonicalize } from "json-canonicalize";
import { describe, expect, it } from "vitest";
import { canonicalJson, type FormLimits, stateLimits } from "./canonical-json.ts";
import { Fault } from "./fault.ts";

const write = (value: unknown) => canonicalJson(value, stateLimits);

function faultOf(value: unknown, limits: FormLimits = stateLimits): Fault {
  try {
    canonicalJson(value, limits);
  } catch (error) {
    expect(error).toBeInstanceOf(Fault);
    return error as Fault;
  }
  throw new Error("it was written");
}

describe("the canonical form", () => {
  it("is the one of RFC 8785, whatever the value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }), (value) => {
        expect(write(value)).toBe(canonicalize(value));
        expect(canonicalJson(value)).toBe(canonicalize(value));
      }),
    );
  });

  it("is the same for the same value in another order, and names that look like numbers are sorted as texts", () => {
    expect(write(JSON.parse('{"b":[1,{"10":0,"9":0}],"a":null}'))).toBe('{"a":null,"b":[1,{"10":0,"9":0}]}');
    expect(write(JSON.parse('{"toJSON":{"z":1,"a":2},"b":1}'))).toBe('{"b":1,"toJSON":{"a":2,"z":1}}');
    expect(write(JSON.parse('{"b":1,"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1},"b":1}');
  });

  it("escapes what has to be escaped in texts of any length, and nothing else", () => {
    for (const text of ['"', "\\", "\n", "\u0000", "\u007f", "\u2028", "é", "/", "~ !#[]^"])
      for (const long of [text, `${text}${"x".repeat(2000)}`]) {
        expect(write({ [long]: [long] })).toBe(canonicalize({ [long]: [long] }));
      }
  });

  it("leaves out what is undefined, as JSON does", () => {
    expect(write({ a: undefined, b: 1 })).toBe('{"b":1}');
  });
});

describe("without limits", () => {
  it("halves of characters are written as JSON does: old hashes depend on it", () => {
    for (const odd of ["\ud83d", "x\udc00"]) expect(canonicalJson({ odd: [odd] })).toBe(canonicalize({ odd: [odd] }));
  });
});

describe("what has no canonical form", () => {
  it("is refused: numbers without end, halves of characters, what is no JSON", () => {
    expect(faultOf(JSON.parse("[1e999]")).message).toMatch(/number in it is too large/);
    expect(faultOf([Number.NaN]).message).toMatch(/number in it is NaN/);
    expect(faultOf({ at: new Date(0) }).message).toMatch(/not a plain one, but a Date$/);
    expect(faultOf([undefined]).message).toMatch(/undefined in a list is not JSON/);
    expect(faultOf(JSON.parse('["\\ud83d"]')).message).toMatch(/half a character/);
    expect(faultOf(JSON.parse('{"\\udc00x":1}')).code).toBe("bad-request");
    for (const odd of [undefined, () => 1, 1n, Symbol("s"), new Date(0), new Map(), [undefined]]) {
      expect(faultOf({ odd: [odd] }).code).toBe("bad-request");
    }
    expect(write("😀")).toBe('"😀"');
  });

  it("is refused when it is nested too deeply, however deep", () => {
    const nest = (levels: number) => Array.from({ length: levels }).reduce<unknown>((inner) => [inner], 1);
    expect(write(nest(stateLimits.depth))).toHaveLength(2 * stateLimits.depth + 1);
    expect(faultOf(nest(stateLimits.depth + 1)).message).toMatch(/nested deeper than 30 levels/);
    const circular: unknown[] = [];
    circular.push(circular);
    expect(faultOf(circular).code).toBe("bad-request");
  });
});

describe("what is too large", () => {
  it("is refused by the number of its values", () => {
    const limits = { values: 4, depth: 3 };
    expect(canonicalJson([1, 2, 3], limits)).toBe("[1,2,3]");
    expect(faultOf([1, 2, 3, 4], limits)).toMatchObject({
      code: "body-too-large",
      message: "it has more than 4 values",
    });
  });
});
