import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Checkpoint, CheckpointFlaw } from "@rouse/contract";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFileStates } from "../adapters/states-files/open-file-states.ts";
import {
  type CheckpointWorld,
  faultOf,
  largeState,
  openCheckpointWorld,
  task,
  turn,
} from "./checkpoint-world.test-support.ts";

let folder = "";
let world: CheckpointWorld;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "rouse-checkpoints-"));
  world = await openCheckpointWorld({ states: await openFileStates(folder) });
});
afterEach(() => rmSync(folder, { recursive: true }));

const saveLarge = (step: number) => world.save(step, { state: largeState(`step ${step}`) });
const fileOf = ({ stateHash }: Checkpoint) => join(folder, "states", stateHash.slice(0, 2), stateHash);
const why = { reason: "it was stuck", attempt: 2 };

function flipByte(file: string): void {
  const bytes = readFileSync(file);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 1;
  writeFileSync(file, bytes);
}

const damages: [string, (checkpoint: Checkpoint) => void, CheckpointFlaw][] = [
  ["with one flipped bit", (one) => flipByte(fileOf(one)), "state-changed"],
  ["that is cut off", (one) => truncateSync(fileOf(one), 50_000), "state-changed"],
  ["that is empty", (one) => truncateSync(fileOf(one), 0), "state-changed"],
  ["that is gone", (one) => rmSync(fileOf(one)), "state-missing"],
];

async function flawsOf(): Promise<Record<number, CheckpointFlaw[]>> {
  const { checks, sound } = await world.checkpoints.verify(task);
  expect(sound).toBe(checks.every(({ flaws }) => flaws.length === 0));
  return Object.fromEntries(checks.map(({ number, flaws }) => [number, flaws]));
}

describe("the way back", () => {
  it("is the newest checkpoint with its state, and what a replacement has to know", async () => {
    await world.save(3);
    const newest = await world.save(4, { stepName: "test", state: largeState("a") });
    const { context, state } = await world.checkpoints.contextFor(task, why);
    expect(context).toEqual({
      taskId: task,
      checkpoint: newest.id,
      step: 4,
      stepName: "test",
      reason: "it was stuck",
      attempt: 2,
      lost: { checkpoints: 0, steps: 0, flaws: [], startsOver: false },
      workspace: null,
    });
    expect(JSON.parse(state ?? "")).toEqual(largeState("a"));
  });

  it.each(damages)("goes past a state %s to the one before, and says so", async (_, damage, flaw) => {
    const before = await saveLarge(4);
    const newest = await saveLarge(6);
    damage(newest);
    const { context, state } = await world.checkpoints.contextFor(task, why);
    expect(context).toMatchObject({ checkpoint: before.id, step: 4 });
    expect(context.lost).toEqual({ checkpoints: 1, steps: 2, flaws: [flaw], startsOver: false });
    expect(JSON.parse(state ?? "")).toEqual(largeState("step 4"));
  });

  it("starts over when no state is left, and when there never was one", async () => {
    for (const step of [1, 2, 3]) rmSync(fileOf(await saveLarge(step)));
    const { context, state } = await world.checkpoints.contextFor(task, why);
    expect(context).toMatchObject({ checkpoint: null, step: null, stepName: null });
    expect(context.lost).toMatchObject({ checkpoints: 3, startsOver: true });
    expect(context.lost.flaws).toEqual(["state-missing", "parent-flawed"]);
    expect(state).toBeNull();
    expect((await world.checkpoints.contextFor("new", why)).context.lost).toEqual({
      checkpoints: 0,
      steps: null,
      flaws: [],
      startsOver: true,
    });
    expect((await world.checkpoints.contextFor(null, why)).context).toMatchObject({ taskId: null, checkpoint: null });
  });

  it("is the newest also over a hole in the chain, but the hole is said", async () => {
    await world.save(1);
    const missing = await world.save(2);
    const newest = await world.save(3);
    world.replaceRow(missing.id, null);
    const { context } = await world.checkpoints.contextFor(task, why);
    expect(context).toMatchObject({ checkpoint: newest.id, lost: { checkpoints: 0, flaws: ["parent-missing"] } });
  });

  it("does not go past the newest in silence when that is gone", async () => {
    const saved = [];
    for (let step = 1; step <= 6; step++) saved.push(await world.save(step));
    const [, , , fourth, fifth, sixth] = saved;
    for (const gone of [fifth, sixth]) world.replaceRow(gone?.id ?? "", null);
    const { context } = await world.checkpoints.contextFor(task, why);
    expect(context).toMatchObject({ checkpoint: fourth?.id, step: 4 });
    expect(context.lost).toEqual({ checkpoints: 1, steps: null, flaws: ["missing"], startsOver: false });
    for (const gone of saved.slice(0, 4)) world.replaceRow(gone.id, null);
    const { lost } = (await world.checkpoints.contextFor(task, why)).context;
    expect(lost).toEqual({ checkpoints: 1, steps: null, flaws: ["missing"], startsOver: true });
  });

  it("misses nothing while the newest is on its way to the disk", async () => {
    const first = await world.save(1);
    const release = world.stalls();
    const saving = world.save(2);
    while (world.told.length < 2) await turn();
    const { context } = await world.checkpoints.contextFor(task, why);
    expect(context).toMatchObject({ checkpoint: first.id, lost: { checkpoints: 0, flaws: [] } });
    expect((await world.checkpoints.verify(task)).sound).toBe(true);
    release();
    expect((await world.checkpoints.contextFor(task, why)).context.lost.flaws).toEqual([]);
    await saving;
    expect((await world.checkpoints.verify(task)).checks).toHaveLength(2);
  });

  it("reads one checkpoint when that is right, not the whole chain", async () => {
    for (let step = 0; step < 30; step++) await world.save(step);
    const asked: number[] = [];
    const read = world.store.readCheckpoints;
    Object.assign(world.store, {
      readCheckpoints: (taskId: string, limit: number) => {
        asked.push(limit);
        return read(taskId, limit);
      },
    });
    await world.checkpoints.contextFor(task, why);
    expect(asked).toEqual([1]);
  });

  it("gives up after 200 that are not right, and says that there are older ones", async () => {
    const first = await world.save(0);
    for (let step = 1; step <= 200; step++) {
      const { id } = await world.save(step);
      world.replaceRow(id, { state: '"changed"' });
    }
    const { context } = await world.checkpoints.contextFor(task, why);
    expect(context.lost).toMatchObject({ checkpoints: 200, startsOver: true, olderUnread: true });
    // One fewer, and it is reached.
    world.replaceRow((await world.checkpoints.list(task, 1)).checkpoints[0]?.id ?? "", null);
    expect((await world.checkpoints.contextFor(task, why)).context.checkpoint).toBe(first.id);
  });
});

describe("verifying", () => {
  it("finds nothing wrong with what was saved, small and large, one after another and beside each other", async () => {
    const first = await world.save(1);
    await saveLarge(2);
    await world.save(2, { parent: first.id, state: "again" });
    await world.save(1, { parent: null, state: "from the start" });
    expect(await world.checkpoints.verify(task)).toMatchObject({ taskId: task, sound: true, more: false });
    expect(await flawsOf()).toEqual({ 1: [], 2: [], 3: [], 4: [] });
  });

  it.each(damages)("finds a state %s, and tells every one that goes on from it", async (_, damage, flaw) => {
    await world.save(1);
    damage(await saveLarge(2));
    await world.save(3);
    await world.save(4);
    expect(await flawsOf()).toEqual({ 1: [], 2: [flaw], 3: ["parent-flawed"], 4: ["parent-flawed"] });
  });

  it("finds a hole in the chain", async () => {
    const first = await world.save(1);
    await world.save(2);
    await world.save(3);
    world.replaceRow(first.id, null);
    expect(await flawsOf()).toEqual({ 2: ["parent-missing"], 3: ["parent-flawed"] });
  });

  it("finds that the newest is gone, and when all are", async () => {
    const first = await world.save(1);
    const newest = await world.save(2);
    world.replaceRow(newest.id, null);
    const gone = { id: newest.id, number: null, step: null, stepName: null, time: null, flaws: ["missing"] };
    const verdict = await world.checkpoints.verify(task);
    expect(verdict).toMatchObject({ sound: false, checks: [gone, { number: 1, flaws: [] }] });
    world.replaceRow(first.id, null);
    expect(await world.checkpoints.verify(task)).toMatchObject({ sound: false, checks: [gone] });
    expect(await world.checkpoints.verify("new")).toMatchObject({ sound: true, checks: [] });
  });

  it("is done once at a time, and once more for all who ask meanwhile", async () => {
    for (let step = 1; step <= 3; step++) await world.save(step);
    const { readCheckpoints, findCheckpoint } = world.store;
    const count = { chains: 0, reading: 0, mostReading: 0 };
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    Object.assign(world.store, {
      async readCheckpoints(taskId: string, limit: number) {
        count.chains += 1;
        await gate;
        return readCheckpoints(taskId, limit);
      },
      async findCheckpoint(id: string) {
        count.mostReading = Math.max(count.mostReading, ++count.reading);
        await turn();
        count.reading -= 1;
        return findCheckpoint(id);
      },
    });
    const first = world.checkpoints.verify(task);
    while (count.chains === 0) await turn();
    const others = Array.from({ length: 20 }, () => world.checkpoints.verify(task));
    for (let i = 0; i < 5; i++) await turn();
    open();
    for (const verdict of await Promise.all([first, ...others])) expect(verdict).toMatchObject({ sound: true });
    expect(count).toEqual({ chains: 2, reading: 0, mostReading: 1 });
  });

  it("finds whatever was changed in a row: any letter of its head, its id, its place, its task, its state", async () => {
    const { id } = await world.save(1, { stepName: "plan" });
    const row = world.disk.checkpoints.get(id);
    if (row === undefined) throw new Error("it was saved");
    const anyLetter = fc.tuple(fc.nat(row.head.length - 1), fc.constantFrom("0", "1", "x", '"', " ", "}"));
    await fc.assert(
      fc.asyncProperty(anyLetter, async ([place, letter]) => {
        fc.pre(row.head[place] !== letter);
        world.replaceRow(id, { head: row.head.slice(0, place) + letter + row.head.slice(place + 1) });
        const flaws = (await flawsOf())[1];
        expect(flaws?.[0]).toMatch(/^(?:head-changed|unreadable)$/);
        world.replaceRow(id, row);
      }),
    );
    expect(await flawsOf()).toEqual({ 1: [] });
    world.replaceRow(id, { number: 7 });
    expect(await flawsOf()).toEqual({ 7: ["head-changed"] });
    world.replaceRow(id, { number: 1, state: '{"step":2}' });
    expect(await flawsOf()).toEqual({ 1: ["state-changed"] });
    world.replaceRow(id, { ...row, id: "0".repeat(64) });
    expect(await flawsOf()).toMatchObject({ 1: ["head-changed"] });
  });

  it("finds a checkpoint that was moved from another task", async () => {
    const { id } = await world.save(1, {}, "other");
    const stolen = await world.store.findCheckpoint(id);
    if (stolen === null) throw new Error("it was saved");
    world.replaceRow(id, null);
    world.disk.checkpointsOf.set(task, [{ ...stolen, taskId: task }]);
    expect(await flawsOf()).toEqual({ 1: ["head-changed"] });
  });

  it("looks at the newest 1000 and says when there are more", async () => {
    const first = await world.save(0);
    for (let step = 1; step <= 1000; step++) await world.save(step);
    world.replaceRow(first.id, { state: '"changed"' });
    const { checks, more } = await world.checkpoints.verify(task);
    expect({ count: checks.length, more }).toEqual({ count: 1000, more: true });
    // The oldest of them still knows the one before it.
    expect(checks.at(-1)?.flaws).toEqual(["parent-flawed"]);
  });
});

describe("showing a checkpoint", () => {
  it("that nobody saved is told from one that is damaged, and damaged states are not given out", async () => {
    expect((await faultOf(world.checkpoints.show("0".repeat(64)))).code).toBe("checkpoint-unknown");
    const saved = await saveLarge(1);
    expect(JSON.parse((await world.checkpoints.show(saved.id)).state)).toEqual(largeState("step 1"));
    flipByte(fileOf(saved));
    const fault = await faultOf(world.checkpoints.show(saved.id));
    expect(fault.code).toBe("database-damaged");
    expect(fault.message).toMatch(/state-changed.*rouse checkpoints verify fix-42/);
  });

  it("leaves out of a list what cannot even be read", async () => {
    const { id } = await world.save(1);
    const second = await world.save(2);
    world.replaceRow(id, { head: "{" });
    expect((await world.checkpoints.list(task, 10)).checkpoints).toEqual([second]);
    expect(await flawsOf()).toEqual({ 1: ["unreadable"], 2: ["parent-flawed"] });
  });
});
