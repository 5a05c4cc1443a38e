import { days, type EpochMs, hours, minutes, type RouseEvent, seconds, toIso } from "@rouse/contract";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type Commit,
  type EventToSave,
  emptyCommit,
  type IntendedAction,
  type SavedRecord,
  type SavedSignal,
  type Store,
} from "./store.ts";
import { auditConformance, lineOf } from "./store-audit.conformance.ts";
import { machineConformance, taskOf } from "./store-machines.conformance.ts";
import { shardConformance } from "./store-shards.conformance.ts";

export interface StoreUnderTest {
  readonly store: Store;
  /** A second monitor on the same data while the first lives. */
  openSecond(): Promise<Store>;
  /** Another shard of the same data. */
  openShard(shard: number): Promise<Store>;
  /** The monitor of a shard, of 0 if none is named, dies without a word; the next one opens what is on disk. */
  reopen(shard?: number): Promise<Store>;
  cleanup(): Promise<void>;
}

const noon: EpochMs = Date.UTC(2026, 1, 5, 12);

/** What every store promises (see store.ts), one test each. An adapter's test file is a call of this. */
export function storeConformance(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(name, () => {
    let under: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      under = await open();
      store = under.store;
    });
    afterEach(() => under.cleanup());
    const save = (part: Partial<Commit>) => store.commit({ ...emptyCommit, ...part });

    it("starts with nothing", async () => {
      expect(await store.resume()).toEqual({
        records: [],
        signals: [],
        actions: [],
        machines: [],
        lastAudit: null,
        marks: {},
        lastSignalId: 0,
        lastEventId: 0,
      });
      expect(await store.readEvents({ limit: 10 })).toEqual([]);
      expect(await store.readBeats(1, 10)).toEqual([]);
      expect(await store.readHistory(1, noon, noon + hours(1), minutes(5))).toEqual([]);
      expect(await store.readAudit({ limit: 10 })).toEqual([]);
    });

    it("gives a monitor that starts again everything that was committed, though the last one died without a word", async () => {
      await save({
        signals: [
          beat(1, 7, noon + 0.25),
          { ...beat(2, 8, noon), at: 1234.5678, kind: "registered", body: '{"née":"✓"}' },
        ],
        records: [record(7, 1), record(8, 0)],
        events: [missed(5, "agent-7", noon)],
        actions: [action("alert/7")],
        machines: [taskOf("t-1")],
        audit: [lineOf(1, noon)],
        marks: { frozen: "yes", alive: "12" },
      });
      const again = await under.reopen();
      expect(await again.resume()).toEqual({
        records: [record(7, 1), record(8, 0)],
        signals: [{ ...beat(2, 8, noon), at: 1234.5678, kind: "registered", body: '{"née":"✓"}' }],
        actions: [action("alert/7")],
        machines: [taskOf("t-1")],
        lastAudit: { number: 1, hash: lineOf(1, noon).hash },
        marks: { frozen: "yes", alive: "12" },
        lastSignalId: 2,
        lastEventId: 5,
      });
      expect(await again.readBeats(7, 10)).toEqual([beat(1, 7, noon + 0.25)]);
    });

    it("resumes with exactly the signals that are newer than their agent's record, oldest first", async () => {
      const ids = Array.from({ length: 60 }, (_, i) => i + 1);
      await save({ signals: ids.map((id) => beat(id, id % 3, noon + id)) });
      await save({ records: [record(0, 60), record(1, 55)] }); // agent 2 has no record yet
      const { signals } = await (await under.reopen()).resume();
      expect(signals.map(({ id }) => id)).toEqual(ids.filter((id) => id % 3 === 2 || id === 58));
    });

    it("applies commits in the order they were called", async () => {
      const calls = Array.from({ length: 50 }, (_, i) =>
        save({ records: [record(1, i + 1)], marks: { turn: `${i + 1}` } }),
      );
      await Promise.all(calls);
      const { records, marks } = await store.resume();
      expect(records).toEqual([record(1, 50)]);
      expect(marks).toEqual({ turn: "50" });
    });

    it("shows a reader every commit that resolved before it asked", async () => {
      for (let id = 1; id <= 20; id++) {
        await save({ signals: [beat(id, 1, noon + id)], events: [missed(id, "agent-1", noon + id)] });
        expect((await store.readBeats(1, 1))[0]?.id).toBe(id);
        expect((await store.readEvents({ limit: 1, newestFirst: true }))[0]?.id).toBe(id);
      }
    });

    it("takes the same commit twice without harm", async () => {
      const commit: Commit = {
        ...emptyCommit,
        signals: [beat(1, 1, noon), beat(2, 2, noon), beat(3, 1, noon)],
        records: [record(1, 0)],
        events: [missed(1, "agent-1", noon)],
        actions: [action("a")],
        marks: { m: "1" },
      };
      await store.commit(commit);
      const once = await everythingIn(store);
      await store.commit(commit);
      expect(await everythingIn(store)).toEqual(once);
    });

    it("keeps what was saved first under an id or key that comes again", async () => {
      await save({ signals: [beat(1, 1, noon)], events: [missed(1, "agent-1", noon)], actions: [action("a")] });
      await save({
        signals: [{ ...beat(1, 1, noon), body: '{"other":1}' }],
        events: [missed(1, "agent-1", noon + 5)],
        actions: [{ ...action("a"), body: '{"other":1}' }],
      });
      expect(await store.readBeats(1, 9)).toEqual([beat(1, 1, noon)]);
      expect((await store.readEvents({ limit: 9 })).map(({ time }) => time)).toEqual([toIso(noon)]);
      expect((await store.resume()).actions).toEqual([action("a")]);
    });

    it("puts signals that come late, because their commit was tried again after a later one, in their place", async () => {
      await save({ signals: [beat(10, 1, noon + 10), beat(11, 2, noon + 11)] });
      await save({ signals: [beat(20, 1, noon + 20)] });
      await save({
        signals: [beat(5, 1, noon + 5), beat(15, 1, noon + 15), beat(16, 3, noon + 16), beat(15, 1, noon + 15)],
      });
      await save({ signals: [beat(21, 3, noon + 21), beat(22, 1, noon + 22)] });
      const expectOrderIn = async (reader: Store) => {
        expect((await reader.readBeats(1, 99)).map(({ id }) => id)).toEqual([22, 20, 15, 10, 5]);
        expect((await reader.readBeats(3, 99)).map(({ id }) => id)).toEqual([21, 16]);
        expect((await reader.resume()).signals.map(({ id }) => id)).toEqual([5, 10, 11, 15, 16, 20, 21, 22]);
      };
      await expectOrderIn(store);
      await expectOrderIn(await under.reopen());
    });

    it("does not put an agent's record back when an older commit is tried again", async () => {
      await save({ records: [record(1, 9)] });
      await save({ records: [record(1, 4)] });
      expect((await store.resume()).records).toEqual([record(1, 9)]);
      await save({ records: [{ ...record(1, 9), record: '{"now":"silent"}' }] });
      expect((await store.resume()).records).toEqual([{ ...record(1, 9), record: '{"now":"silent"}' }]);
    });

    it("forgets an agent that is removed, with its signals and its past, and nobody else", async () => {
      await save({
        signals: [beat(1, 1, noon), beat(2, 2, noon), beat(3, 1, noon + hours(1)), beat(4, 2, noon)],
        records: [record(1, 1), record(2, 2)],
        events: [missed(1, "agent-1", noon)],
      });
      await tidyWholly(store, { now: noon + days(2), beats: hours(24), history: days(30) });
      await save({ signals: [beat(5, 1, noon + days(2)), beat(6, 2, noon + days(2))] });
      await save({ removed: [1] });
      const isForgotten = async (reader: Store): Promise<void> => {
        const resumption = await reader.resume();
        expect(resumption.records.map(({ agentNo }) => agentNo)).toEqual([2]);
        expect(resumption.signals.map(({ id }) => id)).toEqual([4, 6]);
        expect(await reader.readBeats(1, 10)).toEqual([]);
        expect(await reader.readHistory(1, noon - hours(1), noon + days(3), hours(1))).toEqual([]);
        expect(await reader.readEvents({ agentId: "agent-1", limit: 10 })).toHaveLength(1);
      };
      await isForgotten(store);
      await isForgotten(await under.reopen());
    });

    it("remembers the last id it gave out after the agent that bore it was removed", async () => {
      await save({ signals: [beat(41, 1, noon)], records: [record(1, 41)] });
      await save({ removed: [1] });
      expect(await (await under.reopen()).resume()).toMatchObject({ records: [], signals: [], lastSignalId: 41 });
    });

    it("lets another agent have the name of one that is removed, in the same commit and after it", async () => {
      await save({ records: [record(1, 0)] });
      const namesake = { ...record(2, 6), agentId: record(1, 0).agentId };
      const commit = { removed: [1], records: [namesake], signals: [beat(6, 2, noon)] };
      await save(commit);
      await save(commit);
      const { records, signals } = await (await under.reopen()).resume();
      expect({ records, signals }).toEqual({ records: [namesake], signals: [] });
    });

    it("drops actions that are over and marks that are null", async () => {
      await save({ actions: [action("a"), action("b")], marks: { x: "1", y: "2" } });
      await save({ finished: ["a", "never-there"], marks: { x: null, never: null } });
      const { actions, marks } = await store.resume();
      expect(actions).toEqual([action("b")]);
      expect(marks).toEqual({ y: "2" });
    });

    it("finds events by agent, type, id and time (both ends included), from either end", async () => {
      await save({
        events: [
          missed(1, "a", noon),
          recovered(2, "a", noon + 1),
          missed(3, "b", noon + 2),
          missed(4, "a", noon + 3),
          { id: 5, time: noon + 4, agentId: null, event: { type: "MONITOR_STOPPED", payload: {} } },
        ],
      });
      const ids = async (query: Parameters<Store["readEvents"]>[0]) =>
        (await store.readEvents(query)).map(({ id }) => id);
      expect(await ids({ limit: 9 })).toEqual([1, 2, 3, 4, 5]);
      expect(await ids({ limit: 2 })).toEqual([1, 2]);
      expect(await ids({ limit: 2, newestFirst: true })).toEqual([5, 4]);
      expect(await ids({ limit: 9, after: 3 })).toEqual([4, 5]);
      expect(await ids({ limit: 9, after: 3, newestFirst: true })).toEqual([5, 4]);
      expect(await ids({ limit: 2, before: 4, newestFirst: true })).toEqual([3, 2]);
      expect(await ids({ limit: 9, after: 1, before: 4 })).toEqual([2, 3]);
      expect(await ids({ limit: 9, agentId: "a" })).toEqual([1, 2, 4]);
      expect(await ids({ limit: 9, agentId: "a", types: ["HEARTBEAT_MISSED"], newestFirst: true })).toEqual([4, 1]);
      expect(await ids({ limit: 9, types: ["AGENT_RECOVERED", "MONITOR_STOPPED"] })).toEqual([2, 5]);
      expect(await ids({ limit: 9, types: [] })).toEqual([]);
      expect(await ids({ limit: 9, since: noon + 1, until: noon + 3 })).toEqual([2, 3, 4]);
      expect((await store.readEvents({ limit: 1 }))[0]).toEqual({
        id: 1,
        time: toIso(noon),
        ...missed(1, "a", noon).event,
      });
    });

    it("reads an agent's beats newest first, and only beats", async () => {
      await save({
        signals: [{ ...beat(1, 1, noon), kind: "registered" }, beat(2, 1, noon), beat(3, 2, noon), beat(4, 1, noon)],
      });
      expect((await store.readBeats(1, 9)).map(({ id }) => id)).toEqual([4, 2]);
      expect((await store.readBeats(1, 1)).map(({ id }) => id)).toEqual([4]);
      expect((await store.readBeats(1, 9, 4)).map(({ id }) => id)).toEqual([2]);
      expect((await store.readBeats(1, 9, 3)).map(({ id }) => id)).toEqual([2]);
      expect(await store.readBeats(1, 9, 2)).toEqual([]);
    });

    it("reads what was told of an agent's steps newest first, from any place back", async () => {
      const told = (id: number, agentNo: number, kind: SavedSignal["kind"]) => ({
        ...beat(id, agentNo, noon + id),
        kind,
      });
      await save({
        signals: [
          told(1, 1, "steps"),
          told(2, 1, "heartbeat"),
          told(3, 2, "steps"),
          told(4, 1, "holder"),
          told(5, 1, "registered"),
          told(6, 1, "steps"),
        ],
      });
      const ids = async (before: number | null, limit: number) =>
        (await store.readSteps(1, before, limit)).map(({ id }) => id);
      expect(await ids(null, 9)).toEqual([6, 4, 1]);
      expect(await ids(null, 2)).toEqual([6, 4]);
      expect(await ids(6, 9)).toEqual([4, 1]);
      expect(await ids(3, 9)).toEqual([1]);
      expect(await ids(999, 9)).toEqual([6, 4, 1]);
      expect(await ids(1, 9)).toEqual([]);
      expect(await store.readSteps(3, null, 9)).toEqual([]);
      expect(await store.readSteps(2, null, 9)).toEqual([told(3, 2, "steps")]);
      store = await under.reopen();
      expect((await store.resume()).signals.map(({ kind }) => kind)).toContain("steps");
    });

    it("removes old steps with the beats of their time", async () => {
      await save({
        signals: [
          { ...beat(1, 1, noon), kind: "steps" },
          { ...beat(2, 1, noon + days(2)), kind: "steps" },
        ],
        records: [record(1, 2)],
      });
      await tidyWholly(store, { now: noon + days(2), beats: hours(24), history: days(30) });
      expect((await store.readSteps(1, null, 9)).map(({ id }) => id)).toEqual([2]);
    });

    it("tells an agent's past in stretches, each with the last values that were reported in it", async () => {
      await save({
        signals: [
          beat(1, 1, noon, { tokenCount: 5 }), // on the edge: belongs to the stretch before
          beat(2, 1, noon + seconds(10), { tokenCount: 10, errorCount: 1 }),
          beat(3, 1, noon + seconds(60), { tokenCount: 20 }),
          beat(4, 2, noon + seconds(70), { tokenCount: 999 }),
          { ...beat(5, 1, noon + seconds(80), { tokenCount: 999 }), kind: "registered" },
          beat(6, 1, noon + seconds(200), { toolCallCount: 0 }),
          beat(7, 1, noon + seconds(250), { tokenCount: 999 }), // after the range
        ],
      });
      expect(await store.readHistory(1, noon, noon + seconds(210), minutes(1))).toEqual([
        { at: noon + seconds(60), beats: 2, tokenCount: 20, errorCount: 1, toolCallCount: null },
        { at: noon + seconds(210), beats: 1, tokenCount: null, errorCount: null, toolCallCount: 0 },
      ]);
    });

    it("tells a long past as well as a short one", async () => {
      const signals = Array.from({ length: 3600 }, (_, i) =>
        beat(i + 1, 1, noon + seconds(i + 1), { tokenCount: i + 1 }),
      );
      await save({ signals });
      const past = await store.readHistory(1, noon, noon + hours(1), minutes(10));
      expect(past.map(({ beats }) => beats)).toEqual([600, 600, 600, 600, 600, 600]);
      expect(past.map(({ tokenCount }) => tokenCount)).toEqual([600, 1200, 1800, 2400, 3000, 3600]);
    });

    it("turns old beats into one row an hour when it is tidied, and tells the same past by the hour", async () => {
      const signals = Array.from({ length: 1500 }, (_, i) =>
        beat(
          i + 1,
          i % 2,
          noon + seconds(10 * (i + 1)),
          i % 7 === 0 ? { tokenCount: i, toolCallCount: 1 } : { errorCount: i },
        ),
      );
      await save({ signals, records: [record(0, 1500), record(1, 1500)] });
      const past = () => store.readHistory(1, noon, noon + hours(5), hours(1));
      const before = await past();
      expect(before.reduce((sum, { beats }) => sum + beats, 0)).toBe(750);

      // In the middle of an hour, so that the two halves of it have to be put together.
      await tidyWholly(store, { now: noon + hours(26) + minutes(30) + 1, beats: hours(24), history: days(30) });
      expect(await store.readBeats(1, 2000)).toHaveLength(750 - 450);
      expect(await past()).toEqual(before);
      await tidyWholly(store, { now: noon + days(3), beats: hours(24), history: days(30) });
      expect(await store.readBeats(1, 2000)).toEqual([]);
      expect(await past()).toEqual(before);
      store = await under.reopen();
      expect(await past()).toEqual(before);

      await tidyWholly(store, { now: noon + days(31), beats: hours(24), history: days(30) });
      expect(await past()).toEqual([]);
    });

    it("never tidies away a signal that resuming still needs", async () => {
      await save({
        signals: [beat(1, 1, noon), beat(2, 2, noon), beat(3, 1, noon), { ...beat(4, 3, noon), kind: "registered" }],
        records: [record(1, 1), record(3, 4)],
      });
      await tidyWholly(store, { now: noon + days(40), beats: hours(24), history: days(30) });
      expect((await store.resume()).signals.map(({ id }) => id)).toEqual([2, 3]);
      expect((await store.readBeats(1, 9)).map(({ id }) => id)).toEqual([3]);
    });

    it("does not keep old beats for the sake of some that a wrong clock dated into the future", async () => {
      await save({
        signals: [beat(1, 1, noon + days(365)), beat(2, 1, noon), beat(3, 2, noon), beat(4, 1, noon + days(2))],
        records: [record(1, 4), record(2, 4)],
      });
      await tidyWholly(store, { now: noon + days(2), beats: hours(24), history: days(30) });
      expect(await store.readBeats(2, 9)).toEqual([]);
      expect((await store.readBeats(1, 9)).map(({ id }) => id)).not.toContain(2);
      expect((await store.readBeats(1, 1)).map(({ id }) => id)).toEqual([4]);
    });

    it("removes old events when it is tidied, and no others", async () => {
      await save({ events: [missed(1, "a", noon), missed(2, "a", noon + days(20))] });
      await tidyWholly(store, { now: noon + days(31), beats: hours(24), history: days(30) });
      expect((await store.readEvents({ limit: 9 })).map(({ id }) => id)).toEqual([2]);
    });

    it("remembers the last ids it gave out after everything that bore them was tidied away", async () => {
      await save({
        signals: [beat(41, 1, noon), beat(42, 1, noon)],
        records: [record(1, 42)],
        events: [missed(17, "a", noon)],
      });
      await tidyWholly(store, { now: noon + days(40), beats: hours(24), history: days(30) });
      expect(await store.resume()).toMatchObject({ signals: [], lastSignalId: 42, lastEventId: 17 });
      expect(await (await under.reopen()).resume()).toMatchObject({ signals: [], lastSignalId: 42, lastEventId: 17 });
    });

    it("takes commits between the steps of tidying", async () => {
      const signals = Array.from({ length: 3000 }, (_, i) => beat(i + 1, i % 1000, noon));
      await save({ signals, records: Array.from({ length: 1000 }, (_, i) => record(i, 3000)) });
      let id = 3000;
      while (await store.tidy({ now: noon + days(2), beats: hours(24), history: days(30) })) {
        id++;
        await save({ signals: [beat(id, 1, noon + days(2))] });
      }
      expect(id).toBeGreaterThan(3000);
      expect((await store.readBeats(1, 9999)).map((signal) => signal.id).reverse()).toEqual(
        Array.from({ length: id - 3000 }, (_, i) => 3001 + i),
      );
      expect(await store.readBeats(2, 9)).toEqual([]);
    });

    it("lets in one monitor at a time", async () => {
      await expect(under.openSecond()).rejects.toMatchObject({
        name: "Fault",
        code: "daemon-running",
        retryable: false,
      });
      await save({ marks: { still: "works" } });
      await store.close();
      const second = await under.openSecond();
      expect((await second.resume()).marks).toEqual({ still: "works" });
      await second.close();
    });

    it("finishes what is under way when it is closed, and may be closed twice", async () => {
      const committed = Promise.all([save({ marks: { a: "1" } }), save({ signals: [beat(1, 1, noon)] })]);
      await Promise.all([store.close(), store.close()]);
      await committed;
      await store.close();
      await expect(save({ marks: { a: "2" } })).rejects.toMatchObject({ code: "store-unavailable" });
      const second = await under.openSecond();
      expect(await second.resume()).toMatchObject({ marks: { a: "1" }, lastSignalId: 1 });
      await second.close();
    });

    machineConformance(() => under);
    auditConformance(() => under);
    shardConformance(() => under);
  });
}

async function tidyWholly(store: Store, order: Parameters<Store["tidy"]>[0]): Promise<void> {
  while (await store.tidy(order));
}

const everythingIn = async (store: Store) => ({
  resumption: await store.resume(),
  beats: [await store.readBeats(1, 99), await store.readBeats(2, 99)],
  events: await store.readEvents({ limit: 99 }),
});

const beat = (id: number, agentNo: number, time: EpochMs, counts: Record<string, number> = {}): SavedSignal => ({
  id,
  agentNo,
  at: id * 10,
  time,
  kind: "heartbeat",
  body: JSON.stringify({ agentId: `agent-${agentNo}`, ...counts }),
});

const record = (agentNo: number, through: number): SavedRecord => ({
  agentNo,
  agentId: `agent-${agentNo}`,
  through,
  record: JSON.stringify({ through }),
});

const eventOf = (id: number, agentId: string, time: EpochMs, event: RouseEvent): EventToSave => ({
  id,
  agentId,
  time,
  event,
});

const missed = (id: number, agentId: string, time: EpochMs): EventToSave =>
  eventOf(id, agentId, time, { type: "HEARTBEAT_MISSED", payload: { agentId, missed: 1, silentSeconds: 7 } });

const recovered = (id: number, agentId: string, time: EpochMs): EventToSave =>
  eventOf(id, agentId, time, { type: "AGENT_RECOVERED", payload: { agentId, from: "DEGRADED", illForSeconds: 3 } });

const action = (key: string): IntendedAction => ({ key, agentId: "agent-7", createdAt: noon, body: '{"do":"it"}' });
