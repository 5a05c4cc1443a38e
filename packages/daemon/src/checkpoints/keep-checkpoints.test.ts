import { createHash } from "node:crypto";
import { canonicalJson, Fault } from "@rouse/contract";
import { describe, expect, it } from "vitest";
import {
  faultOf,
  largeState,
  openCheckpointWorld,
  refuseBehindCommit,
  somebody,
  task,
  turn,
} from "./checkpoint-world.test-support.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

describe("a checkpoint that is saved", () => {
  it("has an id that anybody can work out from what it says, and its state", async () => {
    const world = await openCheckpointWorld();
    const sent = { step: 3, stepName: "parse", state: { z: 1, a: ["é"] } };
    const { checkpoint, isNew } = await world.checkpoints.save(task, sent, somebody);
    expect(isNew).toBe(true);
    const { id, ...head } = checkpoint;
    expect(id).toBe(sha256(canonicalJson(head)));
    expect(head).toEqual({
      taskId: task,
      number: 1,
      step: 3,
      stepName: "parse",
      agentId: "worker-1",
      incarnation: 1,
      parent: null,
      stateHash: sha256('{"a":["é"],"z":1}'),
      stateBytes: 18,
      workspace: null,
      time: "2026-02-05T12:00:00.000Z",
    });
    expect(await world.checkpoints.show(id)).toEqual({ checkpoint, state: '{"a":["é"],"z":1}' });
  });

  it("goes on from the newest of its task, and other tasks have chains of their own", async () => {
    const world = await openCheckpointWorld();
    const first = await world.save(1);
    const second = await world.save(2);
    const other = await world.save(1, {}, "other");
    expect([first, second, other].map(({ number, parent }) => [number, parent])).toEqual([
      [1, null],
      [2, first.id],
      [1, null],
    ]);
    expect((await world.checkpoints.list(task, 10)).checkpoints).toEqual([second, first]);
    expect((await world.checkpoints.list(task, 1)).checkpoints).toEqual([second]);
  });

  it("is an event, and what it means for agent and task is in the same commit", async () => {
    const world = await openCheckpointWorld();
    const { id } = await world.save(4, { stepName: "build\u001b[2J" });
    expect(world.told).toEqual([{ checkpoint: expect.objectContaining({ id }), inDraft: true }]);
    expect(await world.events()).toEqual([
      {
        type: "CHECKPOINT_SAVED",
        payload: { agentId: "worker-1", taskId: task, checkpoint: id, step: 4, stepName: "build\ufffd[2J" },
      },
    ]);
  });

  it("needs no state, and may be saved by somebody who is no agent", async () => {
    const world = await openCheckpointWorld();
    const nobody = { agentId: null, incarnation: null };
    const { checkpoint } = await world.checkpoints.save(task, { step: 0 }, nobody);
    expect(checkpoint).toMatchObject({ agentId: null, incarnation: null, stepName: "" });
    expect((await world.checkpoints.show(checkpoint.id)).state).toBe("null");
    const named = await world.checkpoints.save(task, { step: 1, agentId: "worker-7" }, nobody);
    expect(named.checkpoint.agentId).toBe("worker-7");
  });

  it("lies in its row when it is small, and in a file when it is not", async () => {
    const world = await openCheckpointWorld();
    const small = await world.save(1, { state: "x".repeat(65_534) });
    expect(small.stateBytes).toBe(65_536);
    expect(world.folder.size).toBe(0);
    const large = await world.save(2, { state: "x".repeat(65_535) });
    expect([...world.folder.keys()]).toEqual([large.stateHash]);
    expect(world.disk.checkpoints.get(large.id)?.state).toBeNull();
    expect((await world.checkpoints.show(large.id)).state).toBe(JSON.stringify("x".repeat(65_535)));
  });

  it("is answered for only once it is on the disk, its file before its row", async () => {
    const world = await openCheckpointWorld();
    const release = world.stalls();
    let answered = false;
    const saving = world.save(1, { state: largeState("a") }).then(() => {
      answered = true;
    });
    while (world.told.length === 0) await turn();
    expect(world.folder.size).toBe(1);
    for (let i = 0; i < 5; i++) await turn();
    expect(answered).toBe(false);
    expect(world.disk.checkpoints.size).toBe(0);
    release();
    await saving;
    expect(world.disk.checkpoints.size).toBe(1);
  });
});

describe("the place in the chain", () => {
  it("of many saved at once is the order they came in, each after the one before", async () => {
    const world = await openCheckpointWorld();
    const saved = await Promise.all(
      Array.from({ length: 20 }, (_, i) => world.save(i, i % 3 === 0 ? { state: largeState(`${i}`) } : {})),
    );
    expect(saved.map(({ step, number }) => [step, number])).toEqual(saved.map((_, i) => [i, i + 1]));
    expect(saved.map(({ parent }) => parent)).toEqual([null, ...saved.slice(0, -1).map(({ id }) => id)]);
    expect((await world.checkpoints.verify(task)).sound).toBe(true);
  });

  it("of those of other tasks does not wait", async () => {
    const world = await openCheckpointWorld();
    world.workspace.outcome = null;
    const order: string[] = [];
    const release = world.stalls();
    const slow = world.save(1).then(() => order.push("slow"));
    await expect(faultOf(world.save(1, { parent: "f".repeat(64) }, "other"))).resolves.toMatchObject({
      code: "checkpoint-refused",
    });
    order.push("other");
    release();
    await slow;
    expect(order).toEqual(["other", "slow"]);
  });

  it("is after any known one that is named, and then the new one is the newest", async () => {
    const world = await openCheckpointWorld();
    const first = await world.save(1);
    await world.save(2);
    const third = await world.save(3);
    const redone = await world.save(2, { parent: first.id, state: "differently" });
    expect(redone).toMatchObject({ number: 4, parent: first.id });
    expect(await world.save(3, { state: "on" })).toMatchObject({ number: 5, parent: redone.id });
    expect(await world.save(2, { parent: third.id, state: "back" })).toMatchObject({ number: 6, parent: third.id });
    expect((await world.checkpoints.verify(task)).sound).toBe(true);
  });

  it("is a new beginning for somebody who says that they start over", async () => {
    const world = await openCheckpointWorld();
    await world.save(7);
    expect(await world.save(1, { parent: null })).toMatchObject({ number: 2, parent: null });
  });

  it("has no holes: an unknown parent is refused, with what is known", async () => {
    const world = await openCheckpointWorld();
    const first = await faultOf(world.save(1, { parent: "a".repeat(64) }));
    expect(first.code).toBe("checkpoint-refused");
    expect(first.message).toMatch(/hole: it has none yet/);
    const mine = await world.save(1);
    const theirs = await world.save(1, {}, "other");
    const fault = await faultOf(world.save(2, { parent: theirs.id }));
    expect(fault.code).toBe("checkpoint-refused");
    expect(fault.message).toContain(`its newest is ${mine.id}`);
    expect((await world.checkpoints.list(task, 10)).checkpoints).toEqual([mine]);
  });

  it("is never before the newest unless it is said from where", async () => {
    const world = await openCheckpointWorld();
    const newest = await world.save(5);
    const fault = await faultOf(world.save(4));
    expect(fault.code).toBe("checkpoint-refused");
    expect(fault.message).toMatch(/step 4 comes before step 5/);
    expect(fault.message).toContain(newest.id);
    expect(await world.save(4, { parent: newest.id })).toMatchObject({ number: 2, parent: newest.id });
    expect(await world.save(4, { state: "the same step, further on" })).toMatchObject({ number: 3 });
  });
});

describe("the same checkpoint sent again", () => {
  it("is the one that is there already, with or without its parent", async () => {
    const world = await openCheckpointWorld();
    const first = await world.save(1);
    const second = await world.save(2, { parent: first.id });
    const again = await world.checkpoints.save(task, { step: 2, state: { step: 2 }, parent: first.id }, somebody);
    expect(again).toEqual({ checkpoint: second, isNew: false });
    expect(await world.save(2)).toEqual(second);
    expect(world.told).toHaveLength(2);
    expect(await world.events()).toHaveLength(2);
    expect((await world.checkpoints.list(task, 10)).checkpoints).toHaveLength(2);
  });

  it("is another one when anything differs: step, name, state, who, after what", async () => {
    const world = await openCheckpointWorld();
    const first = await world.save(1);
    await world.save(1, { stepName: "named" });
    await world.save(1, { stepName: "named", state: 2 });
    await world.checkpoints.save(task, { step: 1, stepName: "named", state: 2 }, { ...somebody, incarnation: 2 });
    const last = { step: 1, stepName: "named", state: 2, parent: first.id };
    await world.checkpoints.save(task, last, { ...somebody, incarnation: 2 });
    expect((await world.checkpoints.list(task, 10)).checkpoints).toHaveLength(5);
  });

  it("is saved anew when the one that is there was damaged", async () => {
    const world = await openCheckpointWorld();
    const saved = await world.save(1);
    world.replaceRow(saved.id, { state: '{"step":9}' });
    const again = await world.save(1);
    expect(again).toMatchObject({ number: 2, parent: saved.id });
    expect((await world.checkpoints.show(again.id)).state).toBe('{"step":1}');
  });

  it("mends the file of its state", async () => {
    const world = await openCheckpointWorld();
    const saved = await world.save(1, { state: largeState("a") });
    for (const damage of ["", "{}"]) {
      world.folder.set(saved.stateHash, damage);
      expect((await world.checkpoints.verify(task)).sound).toBe(false);
      expect(await world.save(1, { state: largeState("a") })).toEqual(saved);
      expect((await world.checkpoints.verify(task)).sound).toBe(true);
    }
  });
});

describe("a checkpoint that cannot be saved for now", () => {
  it("is refused, sent again, and there once: whether or not the first attempt reached the disk meanwhile", async () => {
    const world = await openCheckpointWorld();
    const first = await world.save(1);
    world.fills();
    const fault = await faultOf(world.save(2, { state: largeState("a") }));
    expect(fault).toMatchObject({ code: "store-unavailable", retryable: true });
    expect((await faultOf(world.save(3))).code).toBe("store-unavailable");
    await world.clears();
    const second = await world.save(2, { state: largeState("a") });
    expect(second).toMatchObject({ number: 2, parent: first.id });
    expect((await world.checkpoints.list(task, 10)).checkpoints).toEqual([second, first]);
    expect(world.told).toHaveLength(2);
    expect(await world.save(3)).toMatchObject({ number: 3, parent: second.id });
  });

  it("is part of the chain while it waits behind a commit that failed: nothing takes its place", async () => {
    const world = await openCheckpointWorld();
    await refuseBehindCommit(world, { state: largeState("a") });
    await world.clears();
    expect(world.disk.checkpoints.size).toBe(0);
    // Not on the disk yet, but it will be before anything newer.
    const again = await world.save(1, { state: largeState("a") });
    expect(again.id).toBe(world.told[0]?.checkpoint.id);
    expect([...world.disk.checkpoints.keys()]).toEqual([again.id]);
    const next = await world.save(2);
    expect(next).toMatchObject({ number: 2, parent: again.id });
    expect((await world.checkpoints.verify(task)).checks).toMatchObject([
      { number: 2, flaws: [] },
      { number: 1, flaws: [] },
    ]);
  });

  it("is the one that the next goes on from, although it is not on the disk yet", async () => {
    const world = await openCheckpointWorld();
    await refuseBehindCommit(world);
    await world.clears();
    const waiting = world.told[0]?.checkpoint.id ?? "";
    expect(await world.save(2)).toMatchObject({ number: 2, parent: waiting });
    expect(await world.save(1, { parent: waiting })).toMatchObject({ number: 3, parent: waiting });
  });

  it("leaves no row when its state could not be written, and the caller is told why", async () => {
    const world = await openCheckpointWorld();
    const trouble = new Fault("store-unavailable", "the disk is full", { retryable: true });
    const whole = world.states.put;
    Object.assign(world.states, { put: () => Promise.reject(trouble) });
    expect(await faultOf(world.save(1, { state: largeState("a") }))).toBe(trouble);
    expect(world.disk.checkpoints.size).toBe(0);
    expect(await world.save(1)).toMatchObject({ number: 1 });
    Object.assign(world.states, { put: whole });
    expect(await world.save(2, { state: largeState("a") })).toMatchObject({ number: 2 });
  });
});

describe("many checkpoints of one task", () => {
  it("wait for a slow disk up to a hundred, and others do not wait for them", async () => {
    const world = await openCheckpointWorld();
    const release = world.stalls();
    const waiting = Array.from({ length: 100 }, (_, step) => world.save(step));
    const fault = await faultOf(world.save(100));
    expect(fault).toMatchObject({ code: "store-unavailable", retryable: true });
    expect(fault.message).toMatch(/100 checkpoints of task fix-42 wait/);
    const other = world.save(1, {}, "other");
    release();
    await Promise.all([...waiting, other]);
    expect(await world.save(100)).toMatchObject({ number: 101 });
  });

  it("are refused beyond a hundred thousand, with a way on", async () => {
    const world = await openCheckpointWorld();
    const { id } = await world.save(1);
    world.replaceRow(id, { number: 99_999 });
    expect(await world.save(2)).toMatchObject({ number: 100_000 });
    const fault = await faultOf(world.save(3));
    expect(fault).toMatchObject({ code: "checkpoint-refused", retryable: false });
    expect(fault.message).toMatch(/100000 checkpoints.*go on in a new task/);
  });
});

describe("a checkpoint that may not be saved", () => {
  it("is refused with what is wrong, and told", async () => {
    const world = await openCheckpointWorld();
    const refused = (sent: unknown) => faultOf(world.checkpoints.save(task, sent, somebody));
    expect((await refused({ state: 1 })).message).toMatch(/step/);
    expect((await refused({ step: -1 })).code).toBe("bad-request");
    expect((await refused([])).code).toBe("bad-request");
    expect((await refused({ step: 1, sate: 1 })).message).toMatch(/sate/);
    expect((await refused({ step: 1, state: JSON.parse("1e999") })).message).toMatch(/too large/);
    expect((await refused({ step: 1, state: "x".repeat(17 * 1024 * 1024) })).code).toBe("body-too-large");
    expect(world.disk.checkpoints.size).toBe(0);
    await world.commits.drain();
    const told = (await world.events()).filter(({ type }) => type === "CHECKPOINT_REFUSED");
    expect(told).toHaveLength(3);
    expect(told[0]?.payload).toMatchObject({ agentId: "worker-1", taskId: task });
  });

  it("is told the first, second, fourth … time, so that nobody fills the disk with refusals", async () => {
    const world = await openCheckpointWorld();
    for (let i = 0; i < 100; i++) await faultOf(world.save(-1));
    await world.commits.drain();
    expect(await world.events()).toHaveLength(7);
  });

  it("has no say when its task or its life is over, also when that happened while its state was written", async () => {
    const world = await openCheckpointWorld();
    const over = new Fault("forbidden", "incarnation 1 of worker-1 is over; the current one is 2");
    world.refuse.because = over;
    expect(await faultOf(world.save(1, { state: largeState("a"), workspace: true }))).toBe(over);
    expect({ files: world.folder.size, snapshots: world.workspace.keys }).toEqual({ files: 0, snapshots: [] });
    world.refuse.because = null;
    const put = world.states.put;
    Object.assign(world.states, {
      async put(hash: string, text: string) {
        await put(hash, text);
        world.refuse.because = over;
      },
    });
    expect(await faultOf(world.save(1, { state: largeState("a") }))).toBe(over);
    expect(world.disk.checkpoints.size).toBe(0);
  });

  it("is refused for a name that no task has", async () => {
    const world = await openCheckpointWorld();
    for (const name of ["", "../etc", "a b"])
      expect((await faultOf(world.checkpoints.save(name, { step: 1 }, somebody))).code).toBe("bad-request");
    expect((await faultOf(world.checkpoints.list("a/b", 1))).code).toBe("bad-request");
  });
});

describe("a checkpoint with the working tree", () => {
  const snapshot = { commit: "c".repeat(40), folder: "/work/repo", ref: "refs/rouse/x" };

  it("holds the snapshot that was taken, a new one each time: what was done since the last is not missed", async () => {
    const world = await openCheckpointWorld();
    world.workspace.outcome = snapshot;
    expect(await world.save(1, { workspace: true })).toMatchObject({ workspace: snapshot });
    world.passes(5);
    expect(await world.save(1, { workspace: true })).toMatchObject({ number: 2, workspace: snapshot });
    expect(new Set(world.workspace.keys).size).toBe(2);
    expect((await world.checkpoints.verify(task)).sound).toBe(true);
  });

  it("holds none where there is none to save, and one that somebody else has taken", async () => {
    const world = await openCheckpointWorld();
    expect((await world.save(1, { workspace: true })).workspace).toBeNull();
    expect((await world.save(2, { workspace: snapshot })).workspace).toEqual(snapshot);
    expect(world.workspace.keys).toHaveLength(1);
  });

  it("is not saved when the tree could not be", async () => {
    const world = await openCheckpointWorld();
    world.workspace.outcome = new Fault("checkpoint-refused", "the working tree could not be saved: git failed");
    expect((await faultOf(world.save(1, { workspace: true }))).message).toMatch(/git failed/);
    expect(world.disk.checkpoints.size).toBe(0);
    const nobody = { agentId: null, incarnation: null };
    const fault = await faultOf(world.checkpoints.save(task, { step: 1, workspace: true }, nobody));
    expect(fault.message).toMatch(/agentId/);
  });
});
