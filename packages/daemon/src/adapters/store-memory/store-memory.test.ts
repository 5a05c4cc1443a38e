import { describe, expect, it } from "vitest";
import { storeConformance } from "../../ports/store.conformance.ts";
import { emptyCommit, type SavedSignal } from "../../ports/store.ts";
import { createMemoryDisk } from "./memory-disk.ts";
import { openMemoryStore } from "./open-memory-store.ts";

storeConformance("store in memory", async () => {
  const disk = createMemoryDisk();
  return {
    store: await openMemoryStore(disk),
    openSecond: () => openMemoryStore(disk),
    openShard: (shard) => openMemoryStore(disk, shard),
    reopen: (shard) => {
      disk.crash();
      return openMemoryStore(disk, shard);
    },
    cleanup: async () => {},
  };
});

describe("a disk in memory", () => {
  const beat = (id: number): SavedSignal => ({ id, agentNo: 1, at: id, time: id, kind: "heartbeat", body: "{}" });

  it("refuses what a store from before the crash still wants to write", async () => {
    const disk = createMemoryDisk();
    const before = await openMemoryStore(disk);
    disk.crash();
    await openMemoryStore(disk);
    await expect(before.commit({ ...emptyCommit, marks: { late: "yes" } })).rejects.toMatchObject({
      code: "store-unavailable",
    });
    await before.close();
    await expect(openMemoryStore(disk)).rejects.toMatchObject({ code: "daemon-running" });
  });

  it("drops beats beyond the measure it was given, but none that its agent's record does not hold", async () => {
    const store = await openMemoryStore(createMemoryDisk({ keepBeatsPerAgent: 10 }));
    for (let id = 1; id <= 50; id++) await store.commit({ ...emptyCommit, signals: [beat(id)] });
    expect(await store.readBeats(1, 100)).toHaveLength(50);
    const record = { agentNo: 1, agentId: "a", through: 45, record: "{}" };
    await store.commit({ ...emptyCommit, records: [record] });
    await store.commit({ ...emptyCommit, signals: [beat(51)] });
    const kept = (await store.readBeats(1, 100)).map(({ id }) => id);
    expect(kept).toHaveLength(10);
    expect((await store.resume()).signals.map(({ id }) => id)).toEqual([46, 47, 48, 49, 50, 51]);
  });
});
