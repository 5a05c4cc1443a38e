import { beforeEach, describe, expect, it } from "vitest";
import type { StatesToKeep } from "../ports/store.ts";
import {
  type CheckpointWorld,
  faultOf,
  largeState,
  openCheckpointWorld,
  task,
} from "./checkpoint-world.test-support.ts";

const why = { reason: "it was stuck", attempt: 1 };
let world: CheckpointWorld;
let asked: StatesToKeep[];

/** As if only the newest three were kept; what is really asked for is written down. */
beforeEach(async () => {
  world = await openCheckpointWorld();
  asked = [];
  const { forgetOldStates } = world.store;
  Object.assign(world.store, {
    forgetOldStates(taskId: string, keep: StatesToKeep) {
      asked.push(keep);
      return forgetOldStates(taskId, { ...keep, states: 3 });
    },
  });
});

/** The tenth makes room, and the eleventh comes after that. */
async function saveEleven(states: readonly unknown[] = []) {
  const saved = [];
  for (let step = 1; step <= 11; step++) saved.push(await world.save(step, { state: states[step - 1] ?? { step } }));
  return saved;
}

describe("a task that saves for ever", () => {
  it("keeps its newest states, and the chain is as right as ever", async () => {
    const saved = await saveEleven();
    const { sound, checks } = await world.checkpoints.verify(task);
    expect(sound).toBe(true);
    expect(checks.filter(({ stateForgotten }) => stateForgotten).map(({ number }) => number)).toEqual([
      7, 6, 5, 4, 3, 2, 1,
    ]);
    expect((await world.checkpoints.list(task, 99)).checkpoints).toEqual(saved.toReversed());
    const { context, state } = await world.checkpoints.contextFor(task, why);
    expect(context).toMatchObject({ step: 11, lost: { checkpoints: 0, flaws: [] } });
    expect(state).toBe('{"step":11}');
    expect(asked).toEqual([{ states: 1000, bytes: 256 * 1024 * 1024 }]);
  });

  it("has room on the disk again at once, but not at the cost of whoever has the same state", async () => {
    const [lost, shared] = [largeState("lost"), largeState("shared")];
    const [first, second] = await saveEleven([lost, shared, ...Array.from({ length: 6 }, () => 0), shared]);
    expect([...world.folder.keys()]).toEqual([second?.stateHash]);
    const fault = await faultOf(world.checkpoints.show(first?.id ?? ""));
    expect(fault.code).toBe("checkpoint-unknown");
    expect(fault.message).toMatch(/not kept any more.*newest 1000 states.*256 MiB/);
  });

  it("is not called damaged because a state is forgotten while it is looked at", async () => {
    for (let step = 1; step <= 4; step++) await world.save(step, { state: largeState(`${step}`) });
    const { get } = world.states;
    Object.assign(world.states, {
      async get(stateHash: string) {
        for (const gone of await world.store.forgetOldStates(task, { states: 3, bytes: 1 })) world.folder.delete(gone);
        return get(stateHash);
      },
    });
    const { sound, checks } = await world.checkpoints.verify(task);
    expect(sound).toBe(true);
    expect(checks.map(({ stateForgotten = false }) => stateForgotten)).toEqual([false, true, true, true]);
  });

  it("is saved although no room could be made", async () => {
    Object.assign(world.store, { forgetOldStates: () => Promise.reject(new Error("the disk is gone")) });
    expect(await saveEleven()).toHaveLength(11);
    expect((await world.checkpoints.verify(task)).checks.some(({ stateForgotten }) => stateForgotten)).toBe(false);
  });

  it("starts over when those that are left are damaged, and it is said what is lost", async () => {
    const saved = await saveEleven();
    for (const { id } of saved.slice(-4)) world.replaceRow(id, { state: '"changed"' });
    const { lost } = (await world.checkpoints.contextFor(task, why)).context;
    expect(lost).toMatchObject({ checkpoints: 11, startsOver: true });
    expect(lost.flaws).toEqual(["state-changed", "parent-flawed", "state-missing"]);
  });
});

describe("a state that is called forgotten although it is among the newest", () => {
  it("is missing", async () => {
    const saved = await saveEleven();
    const flawsOf = async (place: number) => (await world.checkpoints.verify(task)).checks[place]?.flaws;
    world.replaceRow(saved[10]?.id ?? "", { state: null, stateForgotten: true });
    expect(await flawsOf(0)).toEqual(["state-missing"]);
    world.replaceRow(saved[8]?.id ?? "", { state: null, stateForgotten: true });
    expect(await flawsOf(2)).toEqual(["state-missing"]);
    const { context } = await world.checkpoints.contextFor(task, why);
    expect(context).toMatchObject({ step: 10, lost: { checkpoints: 1, steps: 1, flaws: ["state-missing"] } });
    expect(await world.save(11, { state: { step: 11 } })).toMatchObject({ number: 12 });
  });
});
