import { describe, expect, it } from "vitest";
import { numberedLines } from "./output.ts";

describe("the lines of a noisy agent", () => {
  it("are as long as asked for, numbered, and go on where the last batch ended", () => {
    const lines = (numberedLines(9, 2, 80) + numberedLines(11, 1, 80)).split("\n");
    expect(lines.pop()).toBe("");
    expect(lines.map((text) => Number.parseInt(text, 10))).toEqual([9, 10, 11]);
    expect(lines.map(({ length }) => length)).toEqual([79, 79, 79]);
  });

  it("are cut when there is room for less than they say", () => {
    expect(numberedLines(1, 2, 10)).toBe("1 ran one\n2 ran one\n");
  });
});
