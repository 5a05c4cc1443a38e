import { Fault } from "@rouse/contract";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson, parseMembers } from "./parse-json.ts";

const nest = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);

describe("a body", () => {
  it("is parsed down to 32 levels, and refused below, without counting brackets in strings", () => {
    expect(parseJson(nest(32))).toBeDefined();
    expect(() => parseJson(nest(33))).toThrow(Fault);
    expect(parseJson(JSON.stringify(nest(99)))).toBe(nest(99));
  });

  it("that is not JSON is refused, without quoting it", () => {
    expect(() => parseJson('{"a": secret}')).toThrow(/^the body is not valid JSON: (?!.*secret)/);
  });
});

describe("a list", () => {
  it("has the text of each member as it was sent, whatever is in it", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.constantFrom(0, 1, "\t"), (list, space) => {
        const text = ` ${JSON.stringify(list, null, space)}\n`;
        const { value, members } = parseMembers(text, 1_000_000);
        expect(value).toEqual(JSON.parse(text));
        if (list.length > 0) expect(members?.map((member) => JSON.parse(member))).toEqual(value);
      }),
    );
  });

  it("is refused unparsed when one member is too long, and any other value when it is", () => {
    for (const text of ['[{"a":1},{"b":"123456789"}]', '{"agentId":"12345"}', '[{"b": not JSON at all']) {
      expect(() => parseMembers(text, 10)).toThrow(expect.objectContaining({ code: "body-too-large" }));
    }
    expect(parseMembers('[{"a":1},{"b":2}]', 10).members).toEqual(['{"a":1}', '{"b":2}']);
  });

  it("is none when it is anything else", () => {
    for (const text of ["{}", '{"a":[1,2]}', "1", '"[1,2]"', "null"]) expect(parseMembers(text, 99).members).toBeNull();
  });
});
