import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createCleaner, longestLine } from "./clean-output.ts";
import { createUtf8Decoder } from "./decode-utf8.ts";

function clean(...chunks: (string | Buffer)[]): string[] {
  const cleaner = createCleaner();
  const lines = chunks.flatMap((chunk) => cleaner.push(Buffer.from(chunk as string)));
  return [...lines, ...cleaner.end()].map(({ text }) => text);
}

const esc = "\x1b";
/** Controls other than tab and newline, and what reorders text. */
const dangerous = /(?![\t\n])\p{Cc}|[\u200b-\u200f\u2028-\u202e\u2060-\u2069]/u;

describe("cleaned output", () => {
  it("is the text without colours, titles, links and pictures", () => {
    expect(clean(`${esc}[1;31mred${esc}[0m and ${esc}]0;a title\x07plain\n`)).toEqual(["red and plain"]);
    expect(clean(`${esc}]8;;https://example.org${esc}\\link${esc}]8;;${esc}\\ ${esc}(B${esc}=${esc}7x\n`)).toEqual([
      "link x",
    ]);
    expect(clean(`a${esc}P1;2q#0~~${esc}\\b${esc}_Gf=1;AAAA${esc}\\c${esc}^x${esc}\\d${esc}Xy${esc}\\e`)).toEqual([
      "abcde",
    ]);
    expect(clean("\u009b31mred\u009b0m \u009d0;title\u009cand \u0090q\u009cmore\n")).toEqual(["red and more"]);
  });

  it("shows of a line that was written over what was last", () => {
    expect(clean("10%\r20%\r100%\r\ndone\r\r\n")).toEqual(["100%", "done"]);
    expect(clean(`working${esc}[2K${esc}[Gfinished\n`)).toEqual(["finished"]);
    expect(clean("abd\bc\n", "x\b\b\b\by\n")).toEqual(["abc", "y"]);
  });

  it("keeps apart what stood in different places of a screen", () => {
    expect(clean(`${esc}[1;1Htop${esc}[2;1Hnext${esc}[Aabove`)).toEqual(["top", "next", "above"]);
    expect(clean(`two${esc}[1Cwords${esc}[3C.`)).toEqual(["two words   ."]);
  });

  it("keeps tabs and empty lines, and makes every other control and direction mark visible", () => {
    expect(clean("a\tb\n\nc\x00\x07\x7f\u202ed\u0099\n")).toEqual(["a\tb", "", "c���\ufffdd\ufffd"]);
  });

  it("is not silenced by a sequence that never ends", () => {
    expect(clean(`${esc}]0;never ended\nnext line\n`)).toEqual(["", "next line"]);
    expect(clean(`${esc}P${"x".repeat(70_000)}\nnext line\n`).at(-1)).toBe("next line");
    expect(clean(`${esc}[${"1".repeat(300)}\nnext line\n`).at(-1)).toBe("next line");
    expect(clean(`${esc}[${"1".repeat(300)}text\n`).at(-1)).toMatch(/1text$/);
    expect(clean(`${esc}[12\nnext line\n`).at(-1)).toBe("next line");
  });

  it("shows what is not UTF-8, also when it breaks off in the middle of a character", () => {
    expect(clean(Buffer.from([0x41, 0xff, 0x42]), Buffer.from([0xe2, 0x82]))).toEqual(["A\ufffdB\ufffd"]);
  });

  it("wraps lines without end", () => {
    const lines = clean("é".repeat(longestLine + 5));
    expect(lines.map((line) => line.length)).toEqual([longestLine, 5]);
  });

  it("knows the offset of every line", () => {
    const cleaner = createCleaner();
    const lines = [...cleaner.push(Buffer.from("one\r\nold\rnew\n")), ...cleaner.push(Buffer.from("é…\nrest"), 100)];
    expect([...lines, ...cleaner.end()]).toEqual([
      { offset: 0, text: "one", whole: true },
      { offset: 9, text: "new", whole: true },
      { offset: 100, text: "é…", whole: true },
      { offset: 106, text: "rest", whole: false },
    ]);
  });

  /** Bytes that are likely to mean something to a terminal. */
  const nasty = fc.oneof(
    fc.uint8Array({ maxLength: 20 }),
    fc
      .constantFrom(
        "\x1b[",
        "\x1b]0;",
        "\x1bP",
        "\x1b_",
        "\x1b\\",
        "\x07",
        "\r",
        "\n",
        "\b",
        "\t",
        "1;2",
        "m",
        "2K",
        "H",
        "C",
        "é",
        "😀",
        "\u009b",
        "\u202e",
      )
      .map((text) => Buffer.from(text)),
  );

  it("holds no control character for any bytes, and is the same however they arrive", () => {
    fc.assert(
      fc.property(fc.array(nasty, { maxLength: 40 }), fc.array(fc.nat(), { maxLength: 10 }), (parts, cuts) => {
        const bytes = Buffer.concat(parts);
        const whole = clean(bytes);
        expect(whole.join("\n")).not.toMatch(dangerous);
        const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
        const chunks = [0, ...places].map((place, index) => bytes.subarray(place, places[index] ?? bytes.length));
        expect(clean(...chunks)).toEqual(whole);
        expect(clean(...Array.from(bytes, (byte) => Buffer.of(byte)))).toEqual(whole);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("decoding", () => {
  it("says the same as the platform's decoder, for any bytes", () => {
    const likely = fc.constantFrom(
      0x41,
      0x80,
      0xbf,
      0xc0,
      0xc3,
      0xe0,
      0xe2,
      0x82,
      0xac,
      0xed,
      0xa0,
      0xf0,
      0x9f,
      0x90,
      0xf4,
      0x8f,
      0xf5,
      0xff,
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(likely, fc.integer({ min: 0, max: 255 })), { maxLength: 30 }), (bytes) => {
        const codePoints: number[] = [];
        const decoder = createUtf8Decoder((codePoint) => codePoints.push(codePoint));
        for (const byte of bytes) decoder.push(byte);
        decoder.end();
        expect(String.fromCodePoint(...codePoints)).toBe(
          new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.from(bytes)),
        );
      }),
      { numRuns: 3000 },
    );
  });
});
