import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { readLines, type TextLine } from "./read-lines.ts";

async function linesOf(pieces: readonly (string | Buffer)[], longest?: number): Promise<TextLine[]> {
  async function* stream() {
    for (const piece of pieces) yield Buffer.from(piece);
  }
  const lines: TextLine[] = [];
  for await (const line of readLines(stream(), longest)) lines.push(line);
  return lines;
}

const texts = async (pieces: readonly (string | Buffer)[], longest?: number) =>
  (await linesOf(pieces, longest)).map(({ text }) => text);

describe("lines of a stream", () => {
  it("are the same however the stream is cut, also within a letter", async () => {
    const whole = Buffer.from('{"a":"Grüße"}\n{"b":"世界"}\n');
    for (let at = 0; at <= whole.length; at++)
      expect(await texts([whole.subarray(0, at), whole.subarray(at)])).toEqual(['{"a":"Grüße"}', '{"b":"世界"}']);
  });

  it("are numbered from 1, the empty ones too, and the last needs no end", async () => {
    expect(await linesOf(["a\n\nb"])).toEqual([
      { number: 1, text: "a", bytes: 1 },
      { number: 2, text: "", bytes: 0 },
      { number: 3, text: "b", bytes: 1 },
    ]);
    expect(await linesOf([])).toEqual([]);
  });

  it("do not begin with a byte order mark", async () => {
    expect(await texts(["\ufeff{}\n{}"])).toEqual(["{}", "{}"]);
  });

  it("one that is too long is let go of, told with its length, and the next is read", async () => {
    const long = "x".repeat(1000);
    expect(await linesOf(["a\n", long, long, long, "\nb\n"], 1000)).toEqual([
      { number: 1, text: "a", bytes: 1 },
      { number: 2, text: null, bytes: 3000 },
      { number: 3, text: "b", bytes: 1 },
    ]);
    expect(await texts([`${long}\n`], 1000)).toEqual([long]);
  });

  it("one that is too long does not stay in memory while the rest of it comes", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const pieces: WeakRef<ArrayBufferLike>[] = [];
    async function* endless() {
      for (let i = 0; i < 50; i++) {
        const piece = Buffer.alloc(100_000, "x");
        pieces.push(new WeakRef(piece.buffer));
        yield piece;
      }
      // A weak reference holds on to what it refers to until the turn of the event loop is over.
      await new Promise(setImmediate);
      collect();
      expect(pieces.filter((piece) => piece.deref() !== undefined).length).toBeLessThan(5);
    }
    for await (const line of readLines(endless(), 250_000)) expect(line.bytes).toBe(5_000_000);
  });
});
