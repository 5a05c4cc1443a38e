import { describe, expect, it } from "vitest";
import { editMembers } from "./edit-members.ts";

const edit = (text: string, changes: Record<string, string | null>) =>
  editMembers(text, new Map(Object.entries(changes)));

describe("setting members of an object in its text", () => {
  it("replaces what is there and adds what is not, spaced as the rest", () => {
    expect(edit('{"id":"a","status":"pending"}', { status: "running", agent: "w" })).toBe(
      '{"id":"a","status":"running","agent":"w"}',
    );
    expect(edit('{ "id": "a", "status": null }', { status: "running", agent: "w" })).toBe(
      '{ "id": "a", "status": "running", "agent": "w" }',
    );
    expect(edit("{}", { a: "1", b: null })).toBe('{"a":"1","b":null}');
    expect(edit(" { } ", { a: "1" })).toBe(' {"a":"1" } ');
  });

  it("leaves every other character as it is", () => {
    const odd =
      '{"n":12345678901234567890.10,"status":"x" ,"deep":{"status":"mine","l":["}",{"a":"\\"}"}]},"\\u0069":1e5,"t":true}';
    expect(edit(odd, { status: "y" })).toBe(odd.replace('"x"', '"y"'));
  });

  it("recognises a key however it is spelt, and sets both of two", () => {
    expect(edit('{"st\\u0061tus":1,"status":2}', { status: "y" })).toBe('{"st\\u0061tus":"y","status":"y"}');
  });

  it("is not confused by names that objects have by themselves", () => {
    const names = '{"__proto__":1,"constructor":2,"toString":{}}';
    expect(edit(names, { a: "1" })).toBe('{"__proto__":1,"constructor":2,"toString":{},"a":"1"}');
  });

  it("writes text from agents so that it stays one line of JSON", () => {
    const note = 'a "quote"\nand a new line\u2028 and \u001b[2J';
    const text = edit('{"id":"a"}', { note });
    expect(text).not.toContain("\n");
    expect(JSON.parse(text)).toEqual({ id: "a", note });
  });
});
