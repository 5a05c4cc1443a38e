import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lineToType } from "./place-to-type.ts";

describe("a text to be typed", () => {
  it("is one line without anything a keyboard would do besides writing", () => {
    expect(lineToType("The last 5 calls\nwere  identical.\r\n\r\nPlease report.\n")).toBe(
      "The last 5 calls were identical. Please report.",
    );
    expect(lineToType("a\x1b[31mb\x03c\x04d\x7fe\u009bf\u200bg\u202eh")).toBe("a[31mbcdefgh");
    expect(lineToType("\x1b")).toBe("");
  });

  it("is no command, opens no menu and does not swallow Enter", () => {
    expect(lineToType("/clear everything")).toBe("clear everything");
    expect(lineToType("  !rm -r")).toBe("rm -r");
    expect(lineToType("#remember")).toBe("remember");
    expect(lineToType("look at @src/a.ts, me@home")).toBe("look at src/a.ts, me@home");
    expect(lineToType("the path ends in \\ \\")).toBe("the path ends in");
    expect(lineToType('"quoted" (and so on)')).toBe('"quoted" (and so on)');
  });

  it("is at most 2000 characters, none of them cut in half", () => {
    expect(lineToType("é".repeat(3000))).toBe("é".repeat(2000));
    expect(lineToType(`${"a".repeat(1999)}😀`)).toBe("a".repeat(1999));
  });

  it("never holds a control character, whatever it was made of", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 3000 }), (text) => {
        const line = lineToType(text);
        expect(line).not.toMatch(/\p{C}/u);
        expect(line.length).toBeLessThanOrEqual(2000);
        expect(line).not.toMatch(/^[/!#@\\?]|[\\\s]$/);
      }),
    );
  });
});
