import { days, type EpochMs, hours, toIso } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import type { StoreUnderTest } from "./store.conformance.ts";
import { type Commit, emptyCommit, type KeptMachine, type SavedCheckpoint, type Store, taskMachine } from "./store.ts";

const noon: EpochMs = Date.UTC(2026, 1, 5, 12);
const order = (now: EpochMs) => ({ now, beats: hours(24), history: days(30) });

/** Part of the store's conformance: things of any machine, tasks among them, and the checkpoints of tasks. */
export function machineConformance(under: () => StoreUnderTest): void {
  const save = (part: Partial<Commit>, store: Store = under().store) => store.commit({ ...emptyCommit, ...part });
  const machines = async (store: Store = under().store) => (await store.resume()).machines;
  const numbers = async (taskId: string, limit = 99) =>
    (await under().store.readCheckpoints(taskId, limit)).map(({ number }) => number);

  describe("things of any machine", () => {
    it("are kept apart from those of other machines that have the same name", async () => {
      const [breaker, task] = [thingOf("breaker", "t-1"), taskOf("t-1")];
      await save({ machines: [task, breaker] });
      expect(await machines()).toEqual([breaker, task]);
      await save({
        machines: [
          { ...task, record: null },
          { ...taskOf("never there"), record: null },
        ],
      });
      expect(await machines()).toEqual([breaker]);
      expect(await machines(await under().reopen())).toEqual([breaker]);
    });

    it("go when they have been over for longer than the history, and leave the checkpoints of a task of their name", async () => {
      await save({
        machines: [{ ...thingOf("alert", "t-1"), overAt: noon }, thingOf("alert", "t-2"), taskOf("t-1")],
        checkpoints: [checkpointOf("t-1", 1)],
      });
      await tidyWholly(under().store, noon + days(31));
      expect(await machines()).toEqual([thingOf("alert", "t-2"), taskOf("t-1")]);
      expect(await numbers("t-1")).toEqual([1]);
    });
  });

  describe("tasks", () => {
    it("are as they were saved last, also after a death without a word", async () => {
      await save({ machines: [taskOf("t-2"), taskOf("t-1")] });
      const over = { ...taskOf("t-1"), overAt: noon + 0.5, record: '{"née":"✓"}' };
      await save({ machines: [over] });
      expect(await machines()).toEqual([over, taskOf("t-2")]);
      expect(await machines(await under().reopen())).toEqual([over, taskOf("t-2")]);
    });

    it("may be taken up again after they were over", async () => {
      await save({ machines: [{ ...taskOf("t-1"), overAt: noon }] });
      await save({ machines: [taskOf("t-1")] });
      await tidyWholly(under().store, noon + days(99));
      expect(await machines()).toEqual([taskOf("t-1")]);
    });

    it("come back by the thousands", async () => {
      const many = Array.from({ length: 4500 }, (_, i) => taskOf(`t-${String(i).padStart(5, "0")}`));
      await save({ machines: many });
      expect(await machines(await under().reopen())).toEqual(many);
    });
  });

  describe("checkpoints", () => {
    it("are read newest first, of one task, without their states, and found whole by their id", async () => {
      const other = checkpointOf("other", 1);
      await save({ checkpoints: [checkpointOf("t-1", 1), checkpointOf("t-1", 2), other, checkpointOf("t-1", 10)] });
      expect(await numbers("t-1")).toEqual([10, 2, 1]);
      expect(await numbers("t-1", 2)).toEqual([10, 2]);
      expect((await under().store.readCheckpoints("t-1", 9, 10)).map(({ number }) => number)).toEqual([2, 1]);
      expect(await numbers("nobody's")).toEqual([]);
      expect(await under().store.findCheckpoint(other.id)).toEqual(other);
      expect(await under().store.findCheckpoint("unknown")).toBeNull();
      const again = await under().reopen();
      const { state: _, ...head } = other;
      expect(await again.readCheckpoints("other", 9)).toEqual([head]);
    });

    it("are never changed once they are there, and take a commit that is tried again", async () => {
      const first = checkpointOf("t-1", 1);
      const commit = { machines: [taskOf("t-1")], checkpoints: [first, checkpointOf("t-1", 2)] };
      await save(commit);
      await save(commit);
      await save({ checkpoints: [{ ...first, state: '"another"' }] });
      expect(await numbers("t-1")).toEqual([2, 1]);
      expect(await under().store.findCheckpoint(first.id)).toEqual(first);
    });

    it("of two with the same number both are kept", async () => {
      await save({ checkpoints: [checkpointOf("t-1", 1), { ...checkpointOf("t-1", 1), id: "twin" }] });
      expect(await numbers("t-1")).toEqual([1, 1]);
    });

    it("need the files that their states lie in, and no others", async () => {
      const { store } = under();
      await save({ checkpoints: [inFile("t-1", 1, "aa"), checkpointOf("t-1", 2)] });
      expect(await store.refersToState("aa")).toBe(true);
      expect(await store.refersToState(stateHashOf("t-1", 2))).toBe(false);
      expect(await store.refersToState("bb")).toBe(false);
      expect(await (await under().reopen()).refersToState("aa")).toBe(true);
    });

    it("of which there are many lose their oldest states for good, and no heads", async () => {
      const { store } = under();
      const all = [inFile("t-1", 1, "aa"), ...[2, 3, 4].map((n) => checkpointOf("t-1", n)), inFile("t-1", 5, "ee")];
      const other = inFile("other", 1, "oo");
      await save({ checkpoints: [...all, other] });
      expect(await store.forgetOldStates("t-1", { states: 5, bytes: 500 })).toEqual([]);
      expect(await store.forgetOldStates("t-1", { states: 3, bytes: 500 })).toEqual(["aa"]);
      expect(await store.forgetOldStates("t-1", { states: 3, bytes: 500 })).toEqual([]);
      expect(await numbers("t-1")).toEqual([5, 4, 3, 2, 1]);
      const again = await under().reopen();
      const found = await Promise.all(all.map(({ id }) => again.findCheckpoint(id)));
      const forgotten = all.slice(0, 2).map((one) => ({ ...one, state: null, stateForgotten: true }));
      expect(found).toEqual([...forgotten, ...all.slice(2)]);
      expect(await again.refersToState("aa")).toBe(false);
      expect(await again.refersToState("ee")).toBe(true);
      expect(await again.findCheckpoint(other.id)).toEqual(other);
    });

    it("lose their oldest states by what those say of their size, and the newest never", async () => {
      const { store } = under();
      const damaged = { ...checkpointOf("t-1", 2), head: "{" };
      await save({ checkpoints: [checkpointOf("t-1", 1), damaged, ...[3, 4].map((n) => checkpointOf("t-1", n))] });
      const kept = async () => {
        const found = await Promise.all([1, 2, 3, 4].map((n) => store.findCheckpoint(`t-1/${n}`)));
        return found.flatMap((one) => (one === null || one.stateForgotten ? [] : one.number));
      };
      await store.forgetOldStates("t-1", { states: 9, bytes: 200 });
      expect(await kept()).toEqual([2, 3, 4]);
      await store.forgetOldStates("t-1", { states: 9, bytes: 199 });
      expect(await kept()).toEqual([4]);
      await store.forgetOldStates("t-1", { states: 9, bytes: 1 });
      expect(await kept()).toEqual([4]);
      expect(await store.forgetOldStates("nobody's", { states: 1, bytes: 1 })).toEqual([]);
    });

    it("hold states of 64 kB as they are", async () => {
      const large = { ...checkpointOf("t-1", 1), state: JSON.stringify("é\u0000\u2028".repeat(10_000)) };
      await save({ checkpoints: [large] });
      expect(await under().store.findCheckpoint(large.id)).toEqual(large);
    });
  });

  describe("tasks and checkpoints that are tidied", () => {
    it("go when their task has been over for longer than the history, and no others", async () => {
      await save({
        machines: [
          { ...taskOf("old"), overAt: noon },
          { ...taskOf("young"), overAt: noon + days(20) },
          taskOf("not-over"),
        ],
        checkpoints: ["old", "young", "not-over"].flatMap((id) => [inFile(id, 1, `${id}-file`), checkpointOf(id, 2)]),
      });
      await tidyWholly(under().store, noon + days(31));
      expect((await machines()).map(({ id }) => id)).toEqual(["not-over", "young"]);
      expect(await numbers("old")).toEqual([]);
      expect(await under().store.findCheckpoint(checkpointOf("old", 2).id)).toBeNull();
      expect(await under().store.refersToState("old-file")).toBe(false);
      expect(await numbers("young")).toEqual([2, 1]);
      expect(await numbers("not-over")).toEqual([2, 1]);
      expect(await under().store.refersToState("not-over-file")).toBe(true);
    });

    it("go in small steps: a task that is there has its newest checkpoint, and commits come between", async () => {
      const { store } = under();
      const many = Array.from({ length: 1200 }, (_, i) => checkpointOf("long", i + 1));
      await save({ machines: [{ ...taskOf("long"), overAt: noon }], checkpoints: many });
      let saved = 0;
      for (let more = true; more; ) {
        more = await store.tidy(order(noon + days(31)));
        const left = await numbers("long", 1);
        expect(left).toEqual((await machines()).some(({ id }) => id === "long") ? [1200] : []);
        await save({ machines: [taskOf(`new-${++saved}`)] });
      }
      expect(await numbers("long")).toEqual([]);
      expect(await machines()).toHaveLength(saved);
    });

    it("do not keep the tidying from ending when there are many of them", async () => {
      const over = Array.from({ length: 1300 }, (_, i) => ({ ...taskOf(`t-${i}`), overAt: noon }));
      await save({ machines: over, checkpoints: over.map(({ id }) => checkpointOf(id, 1)) });
      await tidyWholly(under().store, noon + days(31));
      expect(await machines()).toEqual([]);
      expect(await numbers("t-1299")).toEqual([]);
    });
  });
}

async function tidyWholly(store: Store, now: EpochMs): Promise<void> {
  while (await store.tidy(order(now)));
}

const thingOf = (machine: string, id: string): KeptMachine => ({
  machine,
  id,
  record: JSON.stringify({ id }),
  overAt: null,
});

export const taskOf = (taskId: string): KeptMachine => thingOf(taskMachine, taskId);

const stateHashOf = (taskId: string, number: number): string => `state of ${taskId} at ${number}`;

export function checkpointOf(taskId: string, number: number, stateHash = stateHashOf(taskId, number)): SavedCheckpoint {
  const time = noon + number + 0.25;
  const head = JSON.stringify({ taskId, step: number, stateHash, stateBytes: 100, time: toIso(time) });
  return { id: `${taskId}/${number}`, taskId, number, time, head, state: JSON.stringify({ number }) };
}

const inFile = (taskId: string, number: number, stateHash: string): SavedCheckpoint => ({
  ...checkpointOf(taskId, number, stateHash),
  state: null,
});
