import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { States } from "./states.ts";

export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** What every adapter must keep. `open` gives the same place again when it is given what an earlier call gave. */
export function statesConformance(name: string, makePlace: () => Promise<() => Promise<States>>): void {
  const putAll = async (states: States, texts: readonly string[]) => {
    for (const text of texts) await states.put(hashOf(text), text);
    return texts.map(hashOf).sort();
  };

  describe(`states in ${name}`, () => {
    it("are there as they were put, also for the next who opens the place", async () => {
      const open = await makePlace();
      const text = JSON.stringify({ née: "✓\u0000\u2028", large: "x".repeat(300_000) });
      await (await open()).put(hashOf(text), text);
      expect(await (await open()).get(hashOf(text))).toBe(text);
    });

    it("that nobody put are told from those that are there", async () => {
      const states = await (await makePlace())();
      expect(await states.get(hashOf("nobody's"))).toBeNull();
      await states.put(hashOf('""'), '""');
      expect(await states.get(hashOf("nobody's"))).toBeNull();
    });

    it("put twice lie there once", async () => {
      const states = await (await makePlace())();
      const hashes = await putAll(states, ['"a"', '"a"']);
      await Promise.all([states.put(hashOf('"a"'), '"a"'), states.put(hashOf('"a"'), '"a"')]);
      expect(await states.list(null, 10)).toEqual([hashes[0]]);
      expect(await states.get(hashOf('"a"'))).toBe('"a"');
    });

    it("are gone once they are removed, and removing them again is fine", async () => {
      const open = await makePlace();
      const states = await open();
      await putAll(states, ["1", "2"]);
      await states.remove(hashOf("1"));
      await states.remove(hashOf("1"));
      expect(await states.get(hashOf("1"))).toBeNull();
      expect(await (await open()).list(null, 10)).toEqual([hashOf("2")]);
    });

    it("are listed in order, piece by piece, each once", async () => {
      const states = await (await makePlace())();
      expect(await states.list(null, 5)).toEqual([]);
      const all = await putAll(
        states,
        Array.from({ length: 23 }, (_, i) => String(i)),
      );
      const found: string[] = [];
      for (let after: string | null = null; ; ) {
        const piece: string[] = await states.list(after, 5);
        if (piece.length === 0) break;
        found.push(...piece);
        after = piece.at(-1) ?? null;
      }
      expect(found).toEqual(all);
    });
  });
}
