import { describe, expect, it } from "vitest";
import { splitLines } from "./split-lines.ts";

const split = (...pieces: (string | Buffer)[]) => {
  const splitter = splitLines(100);
  for (const piece of pieces) splitter.feed(Buffer.from(piece));
  return splitter.take();
};

describe("lines of a stream", () => {
  it("are complete ones, put together from whatever pieces come", () => {
    const euro = Buffer.from("€\n");
    expect(split("on", "e\ntw", "o\r\nthree")).toEqual(["one", "two"]);
    expect(split(euro.subarray(0, 1), euro.subarray(1))).toEqual(["€"]);
  });

  it("have no escape sequences and control characters in them", () => {
    expect(split("\x1b[31;1mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://a\x1b\\y\x07\x00\n")).toEqual(["red xy"]);
    expect(split("\x1bP1$r\x1b\\dcs\x1b(Bz\n")).toEqual(["dcsz"]);
  });

  it("are what was written last when a line was written over itself", () => {
    expect(split("10 %\r50 %\r100 %\r\n")).toEqual(["100 %"]);
  });

  it("are cut when they are too long, and the next one is whole again", () => {
    expect(split("x".repeat(80), "x".repeat(80), "\nnext\n")).toEqual(["x".repeat(100), "next"]);
    expect(split(`${"y".repeat(300)}\nnext\n`)).toEqual(["y".repeat(100), "next"]);
  });

  it("are the first and the last when there are too many to be read", () => {
    const splitter = splitLines(100);
    splitter.feed(Buffer.from(Array.from({ length: 100_000 }, (_, i) => `${i}\n`).join("")));
    const lines = splitter.take();
    expect(lines).toHaveLength(2000);
    expect([lines[0], lines.at(-1)]).toEqual(["0", "99999"]);
    expect(splitter.take()).toEqual([]);
  });

  it("include the last one without an end once it is over", () => {
    const splitter = splitLines(100);
    splitter.feed(Buffer.from("one\ntwo"));
    splitter.finish();
    expect(splitter.take()).toEqual(["one", "two"]);
  });
});
