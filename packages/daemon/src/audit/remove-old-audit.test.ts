import { type AuditRecord, days, type EpochMs, toIso } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { createMemoryDisk } from "../adapters/store-memory/memory-disk.ts";
import { openMemoryStore } from "../adapters/store-memory/open-memory-store.ts";
import type { GroupCommit } from "../engine/group-commit.ts";
import { emptyCommit } from "../ports/store.ts";
import { lineOf } from "../ports/store-audit.conformance.ts";
import { keepAuditTrail, type NewAuditLine } from "./audit-trail.ts";
import { removeOldAudit } from "./remove-old-audit.ts";

const noon: EpochMs = Date.UTC(2026, 1, 5, 12);

/** A trail with lines of these days, and who tidies it. */
async function trailOf(...dates: number[]) {
  const disk = createMemoryDisk();
  const store = await openMemoryStore(disk);
  await store.commit({ ...emptyCommit, audit: dates.map((day, i) => lineOf(i + 1, noon + days(day))) });
  const last = disk.audit.at(-1) as AuditRecord;
  const audit = keepAuditTrail({ last, store: "store-1", isSealed: true, sign: () => "signed" });
  const written: AuditRecord[] = [];
  let isDown = false;
  const engine = { addToTrail: (line: NewAuditLine) => void written.push(audit.append(line)) };
  const commits = {
    async saved() {
      if (isDown) throw new Error("the store is down");
      await store.commit({ ...emptyCommit, audit: written });
    },
  } as GroupCommit;
  const remove = removeOldAudit({ store, audit, engine, commits });
  return {
    written,
    breakStore: () => {
      isDown = true;
    },
    through: (day: number) => remove(noon + days(day), days(30)),
    numbers: () => disk.audit.map(({ number }) => number),
    async tidy(day: number) {
      const now = noon + days(day);
      const auditThrough = await remove(now, days(30));
      await store.tidy({ now, beats: days(1), history: days(30), auditThrough });
      return disk.audit.map(({ number }) => number);
    },
  };
}

describe("old lines of the audit trail", () => {
  it("go once the trail says so, signed and saved", async () => {
    const { through, written, numbers } = await trailOf(0, 1, 2, 20, 25);
    expect(await through(20)).toBe(0);
    expect(written).toEqual([]);
    expect(await through(33)).toBe(3);
    expect(written).toMatchObject([
      {
        number: 6,
        action: "audit-removed",
        evidence: { store: "store-1", removed: { number: 3, hash: "hash of 3" } },
        signature: "signed",
        time: toIso(noon + days(33)),
      },
    ]);
    expect(numbers()).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it("stay when that cannot be saved", async () => {
    const { through, breakStore } = await trailOf(0, 1, 2, 20, 25);
    breakStore();
    await expect(through(33)).rejects.toThrow("the store is down");
  });

  it("go a day's worth at a time, so that removing leaves fewer lines than it takes", async () => {
    const { tidy, written } = await trailOf(0, 0.1, 0.2, 20);
    expect(await tidy(30.15)).toEqual([1, 2, 3, 4]);
    expect(written).toEqual([]);
    expect(await tidy(31.1)).toEqual([4, 5]);
    expect(await tidy(31.2)).toEqual([4, 5]);
  });

  it("are spoken of once, although they are not all gone at once", async () => {
    const { through, written } = await trailOf(0, 1, 2, 20);
    for (let i = 0; i < 3; i++) expect(await through(33)).toBe(3);
    expect(written).toHaveLength(1);
  });

  it("leave no hole when a clock jumped", async () => {
    const { tidy } = await trailOf(20, -3000, 21, 22);
    expect(await tidy(31)).toEqual([1, 2, 3, 4]);
    expect(await tidy(51.5)).toEqual([4, 5]);
  });

  it("are not kept for the sake of lines that a wrong clock dated into the future, nor take them along while they are new", async () => {
    const { tidy } = await trailOf(3000, 0, 1, 3000, 3000);
    expect(await tidy(35)).toEqual([4, 5, 6]);
  });

  it("may be all there are: what is left is the line that says so", async () => {
    const { tidy } = await trailOf(0);
    expect(await tidy(400)).toEqual([2]);
  });
});
