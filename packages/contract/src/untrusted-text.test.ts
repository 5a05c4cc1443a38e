import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printable } from "./untrusted-text.ts";

describe("text from an agent", () => {
  it("never carries a control character or a direction mark to a terminal", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(printable(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u200b-\u200f\u2028\u2029]/u);
      }),
    );
    expect(printable("\u001b]0;title\u0007done")).toBe("\ufffd]0;title\ufffddone");
    expect(printable("safe\u202Efdp.exe")).toBe("safe\ufffdfdp.exe");
  });

  it("is on one line, cut where it is too long, and otherwise as it was", () => {
    expect(printable("a\nb\tc\r\nd")).toBe("a b c  d");
    expect(printable("abcdef", 3)).toBe("abc…");
    expect(printable("Grüße, 世界 👋")).toBe("Grüße, 世界 👋");
  });
});
