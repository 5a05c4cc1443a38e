import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emptyMemory, fingerprint, holds, remember } from "./remember-digests.ts";

const rememberAll = (texts: readonly string[]) =>
  texts.reduce((memory, text) => remember(memory, fingerprint(text)), emptyMemory);

describe("the memory of digests", () => {
  it("knows what it was just told, and nothing it was never told", () => {
    const memory = rememberAll(["a", "b"]);
    expect(holds(memory, fingerprint("a"))).toBe(true);
    expect(holds(memory, fingerprint("b"))).toBe(true);
    expect(holds(memory, fingerprint("c"))).toBe(false);
    expect(holds(emptyMemory, fingerprint("a"))).toBe(false);
  });

  it("still knows the last hundred of ten thousand, give or take a few, in the same space", () => {
    const texts = Array.from({ length: 10_000 }, (_, n) => `digest ${n}`);
    const memory = rememberAll(texts);
    const known = texts.slice(-100).filter((text) => holds(memory, fingerprint(text)));
    expect(known.length).toBeGreaterThanOrEqual(95);
    expect(memory.flat()).toHaveLength(emptyMemory.flat().length);
  });

  it("lets no two digests that come in turn push each other out", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), fc.string(), (...four) => {
        const memory = rememberAll(four);
        expect(four.every((text) => holds(memory, fingerprint(text)))).toBe(true);
      }),
      { numRuns: 2000 },
    );
    const sharePlaces = (text: string) => (fingerprint(text) & 0x1cf) === (fingerprint("0") & 0x1cf);
    const crowded = Array.from({ length: 4000 }, (_, n) => `${n}`).filter(sharePlaces);
    expect(crowded.length).toBeGreaterThan(8);
    const memory = rememberAll(crowded.slice(0, 4));
    expect(crowded.slice(0, 4).every((text) => holds(memory, fingerprint(text)))).toBe(true);
  });

  it("does not change the memory it is given", () => {
    const before = rememberAll(["a"]);
    const copy = structuredClone(before);
    remember(before, fingerprint("b"));
    expect(before).toEqual(copy);
    expect(remember(before, fingerprint("a"))).toBe(before);
  });

  it("tells a tool and its arguments from another split of the same letters", () => {
    expect(fingerprint("ab", "c")).not.toBe(fingerprint("a", "bc"));
  });
});
