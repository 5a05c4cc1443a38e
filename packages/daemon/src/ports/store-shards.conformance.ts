import { days, type EpochMs, hours } from "@rouse/contract";
import { beforeEach, describe, expect, it } from "vitest";
import type { StoreUnderTest } from "./store.conformance.ts";
import { type Commit, emptyCommit, type Store } from "./store.ts";
import { lineOf } from "./store-audit.conformance.ts";
import { checkpointOf, taskOf } from "./store-machines.conformance.ts";

const noon: EpochMs = Date.UTC(2026, 1, 5, 12);

/** Something of every kind, under the same numbers and names in each shard. */
const everythingOf = (shard: string): Commit => ({
  ...emptyCommit,
  signals: [{ id: 1, agentNo: 1, at: 1, time: noon, kind: "heartbeat", body: JSON.stringify({ shard }) }],
  records: [{ agentNo: 1, agentId: `agent of ${shard}`, through: 0, record: JSON.stringify({ shard }) }],
  events: [
    {
      id: 1,
      time: noon,
      agentId: `agent of ${shard}`,
      event: { type: "MONITOR_GAP", payload: { cause: "stall", lastedSeconds: 1, detail: shard } },
    },
  ],
  actions: [{ key: "a", agentId: null, createdAt: noon, body: JSON.stringify({ shard }) }],
  machines: [{ ...taskOf("t-1"), record: JSON.stringify({ shard }) }],
  checkpoints: [{ ...checkpointOf("t-1", 1), state: JSON.stringify({ shard }) }],
  audit: [{ ...lineOf(1, noon), reason: shard, hash: `hash of ${shard}` }],
  marks: { shard },
});

const everythingIn = async (store: Store) => ({
  resumption: await store.resume(),
  beats: await store.readBeats(1, 99),
  events: await store.readEvents({ limit: 99 }),
  checkpoints: await store.readCheckpoints("t-1", 99),
  checkpoint: await store.findCheckpoint("t-1/1"),
  audit: await store.readAudit({ limit: 99 }),
});

/** Part of the store's conformance: shards, and the epoch that says whose each one is. */
export function shardConformance(under: () => StoreUnderTest): void {
  describe("two shards", () => {
    let first: Store;
    let second: Store;
    beforeEach(async () => {
      first = under().store;
      second = await under().openShard(1);
    });

    it("show nothing of each other: no records, numbers, checkpoints or audit trail", async () => {
      const nothing = await everythingIn(second);
      await first.commit(everythingOf("first"));
      const kept = await everythingIn(first);
      expect(await everythingIn(second)).toEqual(nothing);
      await second.commit(everythingOf("second"));
      expect(await everythingIn(first)).toEqual(kept);
      expect(await everythingIn(second)).toMatchObject({
        resumption: { marks: { shard: "second" }, lastSignalId: 1, lastEventId: 1, lastAudit: { number: 1 } },
        audit: [{ number: 1, reason: "second" }],
        checkpoint: { state: '{"shard":"second"}' },
      });
      const both = [kept, await everythingIn(second)];
      for (const shard of [0, 1]) expect(await everythingIn(await under().reopen(shard))).toEqual(both[shard]);
    });

    it("can both be read by whoever holds both: their agents and their events", async () => {
      await first.commit(everythingOf("first"));
      await second.commit(everythingOf("second"));
      const both = await Promise.all([first, second].map(everythingIn));
      expect(both.flatMap(({ resumption }) => resumption.records.map(({ agentId }) => agentId))).toEqual([
        "agent of first",
        "agent of second",
      ]);
      expect(both.flatMap(({ events }) => events.map(({ payload }) => payload))).toMatchObject([
        { detail: "first" },
        { detail: "second" },
      ]);
    });

    it("are tidied each for itself", async () => {
      const over = { machines: [{ ...taskOf("t-1"), overAt: noon }] };
      await first.commit({ ...everythingOf("first"), ...over });
      await second.commit({ ...everythingOf("second"), ...over });
      const kept = await everythingIn(second);
      while (await first.tidy({ now: noon + days(99), beats: hours(24), history: days(30), auditThrough: 9 }));
      expect(await everythingIn(first)).toMatchObject({ resumption: { machines: [] }, events: [], checkpoints: [] });
      expect(await everythingIn(second)).toEqual(kept);
    });

    it("have a monitor each, and an epoch each", async () => {
      await expect(under().openShard(1)).rejects.toMatchObject({ code: "daemon-running" });
      expect([await first.takeOver(), await first.takeOver(), await second.takeOver()]).toEqual([1, 2, 1]);
      await first.commit({ ...emptyCommit, epoch: 2 });
      await second.commit({ ...emptyCommit, epoch: 1 });
      await second.close();
      expect(await (await under().openShard(1)).takeOver()).toBe(2);
    });
  });

  describe("the epoch", () => {
    it("is higher for every monitor that takes over, also after a death without a word", async () => {
      expect(await under().store.takeOver()).toBe(1);
      expect(await (await under().reopen()).takeOver()).toBe(2);
    });

    it.each(["lost", "never taken"])(
      "that was %s keeps a commit out, whole, and the next one in time is taken",
      async (how) => {
        const { store } = under();
        const before = await store.takeOver();
        await store.commit({ ...emptyCommit, epoch: before, marks: { by: "the one before" } });
        const epoch = await store.takeOver();
        const kept = await everythingIn(store);
        const late = { ...everythingOf("late"), removed: [1], epoch: how === "lost" ? before : epoch + 1 };
        for (const _ of ["once", "tried again"])
          await expect(store.commit(late)).rejects.toMatchObject({
            name: "Fault",
            code: "epoch-lost",
            retryable: false,
          });
        expect(await everythingIn(store)).toEqual(kept);
        await store.commit({ ...late, epoch });
        expect((await store.resume()).marks).toEqual({ by: "the one before", shard: "late" });
        const taken = await everythingIn(store);
        const again = await under().reopen();
        await expect(again.commit(late)).rejects.toMatchObject({ code: "epoch-lost" });
        expect(await everythingIn(again)).toEqual(taken);
      },
    );
  });
}
