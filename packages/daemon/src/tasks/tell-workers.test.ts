import { minutes, seconds } from "@rouse/contract";
import { type AgentRecord, readRecord } from "@rouse/core";
import { describe, expect, it } from "vitest";
import { exited, type TaskWorld, taskWorld } from "./task-world.test-support.ts";

describe("a task taken from the queue", () => {
  const atWork = async (): Promise<TaskWorld> => {
    const world = await taskWorld();
    world.holds({ agentId: "a", taskId: null });
    await world.service.create({ taskId: "t" });
    await world.service.claimNext({ agentId: "a" });
    return world;
  };
  const record = (world: TaskWorld) => world.mustWatch("a").record;

  it("is what its agent works on, for as long as it holds it, and its own word goes first", async () => {
    const world = await atWork();
    expect(record(world)).toMatchObject({ task: { id: "t", claimed: true } });
    expect(world.tasks.isWorkOf("a", "t")).toBe(true);
    await world.service.complete("t", { agentId: "a" });
    expect(record(world)).toMatchObject({ task: { id: null, assignedAt: null } });
    expect(world.tasks.isWorkOf("a", "t")).toBe(false);
    world.holds({ agentId: "b", taskId: "other" });
    await world.service.create({ taskId: "u" });
    await world.service.claim("u", { agentId: "b" });
    expect(world.mustWatch("b").record.task.id).toBe("other");
  });

  it("waits to be begun since it was claimed, whatever else is said of it", async () => {
    const world = await atWork();
    const { assignedAt } = record(world).task;
    world.pass(seconds(9));
    await world.service.refresh("t", { agentId: "a" });
    expect(record(world).task.assignedAt).toBe(assignedAt);
  });

  it("while it has another is followed by that one", async () => {
    const world = await atWork();
    await world.service.create({ taskId: "u" });
    await world.service.claim("u", { agentId: "a" });
    expect(record(world).task.id).toBe("u");
    await world.service.complete("u", { agentId: "a" });
    expect(record(world)).toMatchObject({ task: { id: "t", claimed: true } });
  });

  it("is known of an agent that was never heard before it claimed it", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t" });
    await world.service.claimNext({ agentId: "late" });
    world.beats({ agentId: "late" });
    expect(world.mustWatch("late").record).toMatchObject({ task: { id: "t", claimed: true } });
  });

  it("is known of an agent to whom an earlier version gave it, which told nobody", async () => {
    const before = await atWork();
    await before.saved();
    await before.store.close();
    for (const [no, saved] of before.disk.records) {
      const known = readRecord(saved.record);
      const { claimed: _, ...task } = { ...known.task, id: null };
      const earlier = { ...known, task };
      before.disk.records.set(no, { ...saved, record: JSON.stringify(earlier) });
    }
    const world = await taskWorld({ disk: before.disk, at: minutes(1) });
    expect(record(world).task.id).toBeNull();
    world.pass(seconds(1));
    expect(record(world)).toMatchObject({ task: { id: "t", claimed: true } });
  });

  it("after another that its agent was started for is done with is what it works on, and is brought back for", async () => {
    const world = await taskWorld();
    await world.service.create({ taskId: "first" });
    world.holds({ agentId: "a", taskId: "first" });
    await world.service.complete("first", { agentId: "a" });
    expect(record(world).task.id).toBe("first");
    await world.service.create({ taskId: "second" });
    await world.service.claimNext({ agentId: "a" });
    world.holds({ agentId: "a", taskId: "first" });
    expect(record(world)).toMatchObject({ task: { id: "second", claimed: true } });
  });

  it("stays the one its agent is known by when another of its tasks is done", async () => {
    const world = await atWork();
    for (const taskId of ["u", "v"]) {
      await world.service.create({ taskId });
      await world.service.claim(taskId, { agentId: "a" });
    }
    await world.service.complete("u", { agentId: "a" });
    expect(record(world).task.id).toBe("v");
  });

  it("is taken away while its agent is down: that was not started for it, and is brought back", async () => {
    const world = await atWork();
    world.beats({ agentId: "a", taskId: "t" });
    expect(record(world).task.claimed).toBe(false);
    world.reports("a", 1, exited({ code: 1 }));
    await world.handsAnswer("restart-agent", { kind: "restarted", incarnation: 2, recovery: null });
    world.holds({ agentId: "a", taskId: null, incarnation: 2 });
    world.reports("a", 1, exited({ code: 1 }));
    expect(record(world).ladder.incident?.stage.kind).toBe("down");
    await world.service.cancel("t", { actor: "ann" });
    world.pass(seconds(90));
    await world.saved();
    expect(world.actions.filter(({ kind }) => kind === "restart-agent")).toHaveLength(2);
  });

  it("is what its agent is brought back for", async () => {
    const world = await atWork();
    world.reports("a", 1, exited({ code: 1 }));
    world.pass(minutes(2));
    await world.saved();
    expect(world.actions.find(({ kind }) => kind === "restart-agent")).toMatchObject({ agentId: "a", taskId: "t" });
  });

  it("is not done because its agent ends: who works through a queue says when it is", async () => {
    const world = await atWork();
    world.reports("a", 1, exited({ code: 0 }));
    expect(world.tasks.find("t")?.state.status).toBe("pending");
  });
});

describe("a task taken from an agent that is being brought back", () => {
  it("is not given to its next life, which is told so", async () => {
    const world = await taskWorld();
    world.holds({ agentId: "a", taskId: "t" });
    world.holds({ agentId: "b", taskId: null });
    await world.service.create({ taskId: "t" });
    await world.service.claim("t", { agentId: "a" });
    world.reports("a", 1, exited({ code: 1 }));
    world.pass(minutes(2));
    expect(world.tasks.find("t")?.state.status).toBe("recovering");
    await world.service.reassign("t", { actor: "ann", to: "b" });
    await world.service.claim("t", { agentId: "b" });
    expect(world.told).toEqual(["a reassigned-by-person"]);
    await world.handsAnswer("restart-agent", { kind: "restarted", incarnation: 2, recovery: null });
    world.holds({ agentId: "a", taskId: "t", incarnation: 2 });
    expect(world.told).toEqual(["a reassigned-by-person", "a reassigned-by-person"]);
    expect(world.tasks.isWorkOf("b", "t")).toBe(true);
  });
});

describe("a task that runs over its timeout", () => {
  const over = async (also: string | null): Promise<AgentRecord> => {
    const world = await taskWorld();
    await world.service.create({ taskId: "t", timeoutMinutes: 10 });
    world.holds({ agentId: "a", taskId: "t" });
    if (also !== null) {
      await world.service.create({ taskId: also });
      await world.service.claim(also, { agentId: "a" });
    }
    world.pass(minutes(11));
    expect(world.tasks.find("t")?.because).toBe("timed-out");
    return world.mustWatch("a").record;
  };

  it("leaves its agent with nothing of its own to do, or with the other it holds", async () => {
    expect((await over(null)).task.overtime).toMatchObject({ taskId: "t" });
    expect((await over("u")).task.overtime).toBeNull();
  });
});
