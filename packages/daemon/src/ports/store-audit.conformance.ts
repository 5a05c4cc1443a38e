import { type AuditRecord, days, type EpochMs, hours, toIso } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { StoreUnderTest } from "./store.conformance.ts";
import { type AuditQuery, type Commit, emptyCommit, type Store } from "./store.ts";

const noon: EpochMs = Date.UTC(2026, 1, 5, 12);

/** Part of the store's conformance: the audit trail, and marks as they are now. */
export function auditConformance(under: () => StoreUnderTest): void {
  const save = (part: Partial<Commit>) => under().store.commit({ ...emptyCommit, ...part });
  const numbers = async (query: Partial<AuditQuery> = {}, store: Store = under().store) =>
    (await store.readAudit({ limit: 99, ...query })).map(({ number }) => number);

  describe("the audit trail", () => {
    it("is kept as it is, to the last character", async () => {
      const line: AuditRecord = {
        ...lineOf(1, noon),
        reason: "née ✓ 😀 \u0000 it's",
        evidence: { count: 0.1, big: 2 ** 53, none: null, deep: { list: ["a", 1, true] } },
        policy: "default@3",
        signature: "c2ln",
      };
      await save({ audit: [line, { ...lineOf(2, noon), subject: null }] });
      expect(await under().store.readAudit({ limit: 1 })).toEqual([line]);
      const again = await under().reopen();
      expect(await again.readAudit({ limit: 9 })).toEqual([line, { ...lineOf(2, noon), subject: null }]);
      expect((await again.resume()).lastAudit).toEqual({ number: 2, hash: lineOf(2, noon).hash });
    });

    it("is read from any place, from either end, and by what it is about", async () => {
      const lines = [1, 2, 3, 4, 5].map((number) => ({ ...lineOf(number, noon), subject: number % 2 ? "odd" : null }));
      await save({ audit: lines });
      expect(await numbers()).toEqual([1, 2, 3, 4, 5]);
      expect(await numbers({ after: 2, limit: 2 })).toEqual([3, 4]);
      expect(await numbers({ limit: 2, newestFirst: true })).toEqual([5, 4]);
      expect(await numbers({ after: 3, newestFirst: true })).toEqual([5, 4]);
      expect(await numbers({ before: 4, limit: 2, newestFirst: true })).toEqual([3, 2]);
      expect(await numbers({ subject: "odd" })).toEqual([1, 3, 5]);
      expect(await numbers({ subject: "odd", after: 1, newestFirst: true, limit: 1 })).toEqual([5]);
      expect(await numbers({ subject: "nobody" })).toEqual([]);
    });

    it("takes a commit that is tried again without harm, and one that comes late in its place", async () => {
      await save({ audit: [lineOf(1, noon), lineOf(2, noon)] });
      await save({ audit: [lineOf(1, noon), { ...lineOf(2, noon), reason: "another" }] });
      await save({ audit: [lineOf(5, noon)] });
      await save({ audit: [lineOf(3, noon), lineOf(4, noon)] });
      expect(await numbers()).toEqual([1, 2, 3, 4, 5]);
      expect(await under().store.readAudit({ after: 1, limit: 1 })).toEqual([lineOf(2, noon)]);
      expect((await under().store.resume()).lastAudit?.number).toBe(5);
    });

    it("loses its beginning up to the line it is told, and nothing when it is told none", async () => {
      await save({ audit: [1, 2, 3, 4, 5].map((number) => lineOf(number, noon)) });
      await tidyWholly(under().store, noon + days(400));
      expect(await numbers()).toEqual([1, 2, 3, 4, 5]);
      await tidyWholly(under().store, noon, 3);
      expect(await numbers()).toEqual([4, 5]);
    });

    it("never loses its last line, so that the next one can be chained to it", async () => {
      await save({ audit: [lineOf(1, noon), lineOf(2, noon)] });
      await tidyWholly(under().store, noon, 99);
      expect(await numbers()).toEqual([2]);
      expect((await (await under().reopen()).resume()).lastAudit).toEqual({ number: 2, hash: lineOf(2, noon).hash });
    });

    it("is tidied in small steps, from the oldest line on", async () => {
      const lines = Array.from({ length: 1700 }, (_, i) => lineOf(i + 1, noon));
      await save({ audit: lines });
      for (let more = true, next = 1701; more; next++) {
        more = await under().store.tidy({ now: noon, beats: hours(24), history: days(30), auditThrough: 1600 });
        await save({ audit: [lineOf(next, noon)] });
        const left = await numbers({ limit: 2000 });
        expect(left).toEqual(left.map((_, i) => (left[0] ?? 0) + i));
      }
      expect((await numbers())[0]).toBe(1601);
    });
  });

  describe("a mark", () => {
    it("is as it was saved last", async () => {
      await save({ marks: { a: "1", b: "2" } });
      await save({ marks: { a: "3", b: null } });
      expect((await under().store.resume()).marks).toEqual({ a: "3" });
    });
  });
}

async function tidyWholly(store: Store, now: EpochMs, auditThrough = 0): Promise<void> {
  while (await store.tidy({ now, beats: hours(24), history: days(30), auditThrough }));
}

/** The store neither makes nor checks a chain: any hash will do. */
export const lineOf = (number: number, time: EpochMs): AuditRecord => ({
  number,
  time: toIso(time),
  actor: "rouse",
  action: "nudge-sent",
  subject: "worker-1",
  reason: "because",
  evidence: { attempt: 1 },
  policy: null,
  before: `hash of ${number - 1}`,
  hash: `hash of ${number}`,
  signature: null,
});
