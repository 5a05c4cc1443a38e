import type { AuditSeal } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { Anchor } from "./anchors.ts";

export const sealOfLine = (number: number): AuditSeal => ({
  time: `2026-02-05T12:00:${String(number % 60).padStart(2, "0")}.000Z`,
  store: "store-1",
  number,
  hash: String(number).padStart(64, "0"),
  signature: "c2ln",
});

const now = (): AbortSignal => AbortSignal.timeout(30_000);

/** What every anchor that can be asked must keep. `open` gives the same place again within a test. */
export function anchorConformance(name: string, open: () => Anchor): void {
  describe(`seals in ${name}`, () => {
    it("are there in their order, also for the next who opens the place", async () => {
      const anchor = open();
      for (const number of [1, 66, 131]) await anchor.place(sealOfLine(number), now());
      expect(await open().read()).toEqual([1, 66, 131].map(sealOfLine));
      await open().place(sealOfLine(196), now());
      expect(await anchor.read()).toEqual([1, 66, 131, 196].map(sealOfLine));
    });

    it("placed again, as after a crash, are there once", async () => {
      await open().place(sealOfLine(1), now());
      await open().place(sealOfLine(1), now());
      expect(await open().read()).toEqual([sealOfLine(1)]);
    });

    it("stay when others are placed that contradict them", async () => {
      const other = { ...sealOfLine(1), hash: "f".repeat(64) };
      await open().place(sealOfLine(66), now());
      await open().place(other, now());
      expect(await open().read()).toEqual([sealOfLine(66), other]);
    });
  });
}
