import { hours } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import { openMemoryStates } from "../adapters/states-memory/open-memory-states.ts";
import { hashOf } from "../ports/states.conformance.ts";
import {
  type CheckpointWorld,
  largeState,
  openCheckpointWorld,
  refuseBehindCommit,
  task,
  turn,
} from "./checkpoint-world.test-support.ts";

async function forgetAll(world: CheckpointWorld): Promise<number> {
  let steps = 1;
  while (await world.checkpoints.forget(world.now())) steps++;
  return steps;
}

describe("files of states that nobody needs", () => {
  it("are removed once their task is tidied away, and those that are needed stay", async () => {
    const world = await openCheckpointWorld();
    const kept = await world.save(1, { state: largeState("kept") });
    const gone = await world.save(1, { state: largeState("gone") }, "old");
    const shared = await world.save(2, { state: largeState("shared") }, "old");
    await world.save(2, { state: largeState("shared") });
    for (const { id } of [gone, shared]) world.replaceRow(id, null);
    await forgetAll(world);
    expect([...world.folder.keys()].sort()).toEqual([kept.stateHash, shared.stateHash].sort());
  });

  it("are removed when a crash came between file and commit; nothing that was answered for is lost", async () => {
    const folder = new Map<string, string>();
    const world = await openCheckpointWorld({ states: openMemoryStates(folder) });
    const saved = await world.save(1, { state: largeState("saved") });
    await world.states.put(hashOf('"left"'), '"left"');
    const next = await openCheckpointWorld({ store: world.store, states: openMemoryStates(folder) });
    await forgetAll(next);
    expect([...folder.keys()]).toEqual([saved.stateHash]);
    expect((await next.checkpoints.verify(task)).sound).toBe(true);
  });

  it("are looked at a hundred at a time, then not again for an hour", async () => {
    const world = await openCheckpointWorld();
    for (let i = 0; i < 250; i++) world.folder.set(hashOf(`${i}`), `${i}`);
    expect(await world.checkpoints.forget(world.now())).toBe(true);
    expect(world.folder.size).toBe(150);
    expect(await forgetAll(world)).toBe(2);
    expect(world.folder.size).toBe(0);
    world.folder.set(hashOf("late"), "late");
    world.passes(hours(1) - 1);
    expect(await world.checkpoints.forget(world.now())).toBe(false);
    expect(world.folder.size).toBe(1);
    world.passes(1);
    await forgetAll(world);
    expect(world.folder.size).toBe(0);
  });
});

describe("files of states that are needed", () => {
  it("are not removed while their checkpoint waits for its commit", async () => {
    const world = await openCheckpointWorld();
    const release = world.stalls();
    const saving = world.save(1, { state: largeState("a") });
    while (world.told.length === 0) await turn();
    const forgetting = forgetAll(world);
    for (let i = 0; i < 5; i++) await turn();
    release();
    await Promise.all([saving, forgetting]);
    expect((await world.checkpoints.verify(task)).sound).toBe(true);
  });

  it("are not removed when their checkpoint was refused with a commit that will be tried again", async () => {
    const world = await openCheckpointWorld();
    await refuseBehindCommit(world, { state: largeState("a") });
    await forgetAll(world);
    expect(world.folder.size).toBe(1);
    await world.clears();
    await world.commits.drain();
    expect((await world.checkpoints.verify(task)).checks).toMatchObject([{ number: 1, flaws: [] }]);
  });

  it("are there although the same state was just being forgotten", async () => {
    const world = await openCheckpointWorld();
    const state = largeState("again");
    const { id, stateHash } = await world.save(1, { state });
    world.replaceRow(id, null);
    const remove = world.states.remove;
    let asked: () => void = () => undefined;
    const removing = new Promise<void>((resolve) => {
      asked = resolve;
    });
    Object.assign(world.states, {
      async remove(hash: string) {
        asked();
        // A disk that takes its time.
        for (let i = 0; i < 20; i++) await turn();
        await remove(hash);
      },
    });
    const forgetting = forgetAll(world);
    await removing;
    await Promise.all([world.save(1, { state }), forgetting]);
    expect(world.folder.has(stateHash)).toBe(true);
    expect((await world.checkpoints.verify(task)).sound).toBe(true);
  });
});
